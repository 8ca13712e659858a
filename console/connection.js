// The connection: to the program that served the page, or to an API whose URL and token the user enters.

import { apiUrl, connect, connectLocally, isLocal } from "./api.js";
import { button, el, field, form } from "./dom.js";
import { pressed } from "./task.js";

/** The line that shows the connection, and its dialog. `changed` is called after the connection has changed. */
export function connectionButton(changed) {
  const open = button("Connect…", () => dialog.showModal(), { class: "quiet" });
  const link = el("span", { class: "link waiting" });
  const where = el("span", { class: "where" });
  const dialog = connectionDialog(() => {
    show();
    changed();
  });
  const show = () => {
    where.textContent = isLocal() ? "local" : new URL(apiUrl()).host;
    where.title = apiUrl();
  };
  show();
  return { element: el("div", { class: "connection" }, el("p", {}, link, where), open, dialog), link };
}

function connectionDialog(changed) {
  const url = el("input", {
    type: "url",
    placeholder: "https://….execute-api.eu-west-1.amazonaws.com",
    required: true,
    autocomplete: "off",
  });
  const token = el("input", { type: "password", required: true, autocomplete: "off" });
  const said = el("div", { role: "alert" });
  const go = el("button", { type: "submit", class: "primary" }, "Connect");
  const submit = async (filled) => {
    if (!filled.reportValidity()) return;
    if (!(await pressed(go, said, () => connect(url.value.trim(), token.value.trim())))) return;
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
        "Enter the URL of a deployed Lately and a session's token. Both are kept only until you close this tab. The stack's CorsOrigin must be this page's origin. The panels Storage, Stream and Faults work only with the local program.",
      ),
      field("URL", url),
      field("Token", token),
      said,
      el(
        "div",
        { class: "actions" },
        go,
        button("Use the local program", backHome),
        button("Cancel", () => dialog.close(), { class: "quiet" }),
      ),
    ),
  );
  return dialog;
}
