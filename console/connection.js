// The connection: to the program that served the page, or to an API whose URL and token the user enters.

import { note } from "./address.js";
import { adopt, apiUrl, connect, connectLocally, isLocal, share, tokenUser } from "./api.js";
import { LatelyProblem } from "./client.js";
import { button, div, el, field, form, plainInput } from "./dom.js";
import { hear, tell } from "./tabs.js";
import { pressed, succeeds } from "./task.js";

/** The wait for another tab that has the connection, in milliseconds. */
const OTHER_TAB = 500;

/** The hosts that the page's policy allows without TLS. */
const LOOPBACK = ["127.0.0.1", "localhost"];

/**
 * The line that shows the connection, and its dialog. `changed` is called after the connection has changed. `join(url)`
 * connects to the API of a link.
 */
export function connectionButton(changed) {
  const open = button("Connect…", () => {
    url.value ||= apiUrl();
    dialog.showModal();
  }, { class: "quiet" });
  const link = el("span", { class: "link waiting" });
  const where = el("span", { class: "where" });
  const switched = () => {
    note({ api: isLocal() ? null : apiUrl() });
    show();
    changed();
  };
  const { dialog, url } = connectionDialog(switched);
  addEventListener("token", switched);
  const show = () => {
    const user = tokenUser();
    where.textContent = `${isLocal() ? "local" : new URL(apiUrl()).host}${user ? ` as ${user}` : ""}`;
    where.title = apiUrl();
  };
  show();
  const join = async (wanted) => {
    if (!wanted || wanted === apiUrl()) return;
    const given = await fromAnotherTab(wanted);
    if (given) adopt(given);
    else {
      url.value = wanted;
      dialog.showModal();
    }
    show();
  };
  hear("connection wanted", (wanted) => !isLocal() && wanted === apiUrl() && tell("connection", share()));
  return { element: div("connection", el("p", {}, link, where), open, dialog), link, join };
}

/** The connection of another tab to an API, so that a link in a new tab works. `null` if no tab has it. */
function fromAnotherTab(wanted) {
  return new Promise((resolve) => {
    const heard = new AbortController();
    const end = (connection) => {
      heard.abort();
      resolve(connection);
    };
    hear("connection", (given) => given.url === wanted && end(given), heard.signal);
    tell("connection wanted", wanted);
    setTimeout(end, OTHER_TAB, null);
  });
}

/** Connects. Says why if the page cannot send a request there at all; a browser tells a page only that it failed. */
async function connectTo(url, token, live, signal) {
  const refuse = (detail) => {
    throw new LatelyProblem({ status: 0, code: "no-connection", title: "Cannot connect", detail });
  };
  for (const each of [url, live].filter(Boolean)) {
    const { protocol, hostname } = new URL(each);
    if (!["https:", "http:"].includes(protocol)) refuse("The URL must begin with https:// or http://.");
    if (protocol === "http:" && !LOOPBACK.includes(hostname))
      refuse("The page uses http:// only for 127.0.0.1 and localhost. Enter a URL with https://.");
  }
  if (!/^[\x20-\x7e]+$/.test(token)) refuse("A token has only ASCII characters.");
  try {
    await connect(url, token, live, signal);
  } catch (error) {
    if (error.code !== "unreachable") throw error;
    if (!(await succeeds(fetch(url, { mode: "no-cors", credentials: "omit" })))) throw error;
    refuse(
      `${url} responds, but does not allow requests from ${location.origin}. Set the stack's CorsOrigin to this origin. Start a local program with --allow-origin ${location.origin}, or open ${url} in the browser.`,
    );
  }
}

function connectionDialog(changed) {
  const url = plainInput({ type: "url", placeholder: "https://….execute-api.eu-west-1.amazonaws.com", required: true });
  const token = plainInput({ type: "password", required: true });
  const live = plainInput({ type: "url", placeholder: "https://….lambda-url.eu-west-1.on.aws" });
  const said = el("div", {});
  const go = el("button", { type: "submit", class: "primary" }, "Connect");
  let asked = new AbortController();
  const submit = async () => {
    const values = [url, token, live].map((input) => input.value.trim());
    asked = new AbortController();
    if (!(await pressed(go, said, () => connectTo(...values, asked.signal)))) return;
    dialog.close();
    changed();
  };
  const backHome = () => {
    connectLocally();
    dialog.close();
    changed();
  };
  const dialog = el(
    "dialog",
    { "aria-labelledby": "connection-title" },
    form(
      {},
      submit,
      el("h2", { id: "connection-title" }, "Connect to an API"),
      el(
        "p",
        {},
        "Enter the URL of a deployed Lately and a session's token. The page stores both only until you close this tab. Feeds open with the feed of the token's user. The stack's CorsOrigin must be this page's origin. Shards, the stream and faults are shown only of the local program.",
      ),
      field("URL", url),
      field("Token", token),
      field("URL of live streams, if there is one", live, {
        hint: "A deployed stack's output LiveUrl. Without it, the page asks the URL above for streams, or else for pages that wait.",
      }),
      said,
      div(
        "actions",
        go,
        button("Use the local program", backHome),
        button("Cancel", () => dialog.close(), { class: "quiet" }),
      ),
    ),
  );
  // A later response does not replace the connection that the user has chosen meanwhile.
  dialog.addEventListener("close", () => asked.abort());
  return { dialog, url };
}
