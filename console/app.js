// The frame of the page. The part of the address behind `#` selects the panel. The menu leads to what each panel showed
// last, and to the topic that is shown now.
//
// A panel is a module with `open(place, parameters, signal)`. When another panel is shown, `signal` aborts, and with it
// all work of the panel. Panels that need the local program's own routes are not offered for a deployed API.

import { note, parse } from "./address.js";
import { apiUrl, isLocal, query } from "./api.js";
import { faultsBanner, outageBanner } from "./banner.js";
import { connectionButton } from "./connection.js";
import { el } from "./dom.js";
import { seconds } from "./format.js";
import { onEvent, onLink, onOutage, onState, restart } from "./live.js";
import { clear } from "./meter.js";
import { themeToggle } from "./theme.js";
import * as consumers from "./consumers.js";
import * as faults from "./faults.js";
import * as feeds from "./feeds.js";
import * as issues from "./issues.js";
import * as records from "./records.js";
import * as requests from "./requests.js";
import * as sessions from "./sessions.js";
import * as sources from "./sources.js";
import * as storage from "./storage.js";
import * as stream from "./stream.js";
import * as timeline from "./timeline.js";
import * as topics from "./topics.js";

const PANELS = [
  { name: "timeline", title: "Timeline", module: timeline, names: ["topic"] },
  { name: "feeds", title: "Feeds", module: feeds, names: ["user"] },
  { name: "sources", title: "Sources", module: sources, names: ["source"] },
  { name: "issues", title: "Issues", module: issues, names: ["owner", "repo", "issue"] },
  { name: "records", title: "Records", module: records, names: ["name", "kind"] },
  { name: "topics", title: "Topics", module: topics, names: ["topic"] },
  { name: "consumers", title: "Consumers", module: consumers, names: ["topic", "name"] },
  { name: "sessions", title: "Sessions", module: sessions, names: ["user"] },
  { name: "storage", title: "Storage", module: storage, names: ["topic"], local: true },
  { name: "stream", title: "Stream", module: stream, local: true },
  { name: "faults", title: "Faults", module: faults, local: true },
  { name: "requests", title: "Requests", module: requests },
];

const LINKS = {
  live: "Live",
  paged: "Live, by pages",
  polling: "Polling",
  idle: "Connected",
  refused: "Not live",
  waiting: "Reconnecting",
};

/** The delay of a live event, in milliseconds, from which on the page shows it, and the time for which it does. */
const BEHIND = 1000;
const QUIET = 3000;

/** Why a panel is not live in the best way. */
const REASONS = {
  paged: "This API has no live streams here, so it requests pages that wait for an event.",
  polling:
    "This tab asks every two seconds: four other tabs are live, and a browser opens few connections, or the API has neither streams nor pages that wait.",
  refused: "The API refused the request for new events.",
};

const nav = document.getElementById("nav");
const place = document.getElementById("panel");
const meter = requests.meterLink();
let shown = null;

/** The parameters that each panel had last, by the panel's name. */
const last = new Map();

/** The address of a panel in the menu. With another API, a new tab needs that API's URL. */
function addressOf({ name, names = [] }) {
  const { topic } = last.get(shown.name);
  const kept = last.get(name) ?? {};
  const parameters = topic && names.includes("topic") && kept.topic !== topic ? { topic } : kept;
  return `#${name}${query({ ...parameters, api: isLocal() ? null : apiUrl() })}`;
}

/** Draws the menu and the title for the current address. */
function drawNav() {
  const { parameters } = parse(location.hash);
  last.set(shown.name, Object.fromEntries(parameters));
  const { names = [], title } = PANELS.find(({ name }) => name === shown.name);
  const what = names.map((name) => parameters.get(name)).filter(Boolean);
  document.title = [what.join(" / "), title, "Lately", !isLocal() && new URL(apiUrl()).host].filter(Boolean).join(" · ");
  const links = PANELS.filter((panel) => isLocal() || !panel.local).map((panel) =>
    el("a", { href: addressOf(panel), "aria-current": shown.name === panel.name ? "page" : null }, panel.title),
  );
  meter.href = addressOf(PANELS.find(({ module }) => module === requests));
  nav.replaceChildren(...links);
  nav.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
}

/** Shows the panel of the address. */
function show() {
  const { name, parameters } = parse(location.hash);
  const panel = PANELS.find((it) => it.name === name && (isLocal() || !it.local)) ?? PANELS[0];
  const first = shown === null;
  shown?.controller.abort();
  shown = { name: panel.name, controller: new AbortController() };
  if (isLocal()) drawNav();
  else note({ api: apiUrl() });
  place.replaceChildren();
  place.className = `panel ${panel.name}`;
  // Before the panel opens: the panel may scroll to what the address names.
  scrollTo(0, 0);
  panel.module.open(place, parameters, shown.controller.signal);
  if (!first) document.getElementById("main").focus({ preventScroll: true });
}

async function start() {
  const connection = connectionButton(() => {
    last.clear();
    clear();
    show();
    restart();
    showFaults(null);
  });
  const showFaults = faultsBanner(document.getElementById("banner"));
  document.getElementById("foot").append(connection.element, meter, themeToggle());
  onState((state) => showFaults(state.faults));
  onOutage(outageBanner(document.getElementById("outage")));
  let [state, newest] = ["waiting", {}];
  const showLink = () => {
    const [behind, age] = [newest.behind, Date.now() - newest.heard];
    const isBehind = state === "live" && behind >= BEHIND && age < QUIET;
    const text = isBehind ? `${LINKS.live}, ${seconds(behind / 1000)} behind` : LINKS[state];
    if (connection.link.textContent !== text) connection.link.textContent = text;
  };
  onLink((link) => {
    [state, newest] = [link, {}];
    connection.link.className = `link ${link}`;
    connection.link.title = REASONS[link] ?? "";
    showLink();
  });
  onEvent((at) => (newest = { behind: Date.now() - Date.parse(at), heard: Date.now() }));
  setInterval(showLink, 500);
  addEventListener("hashchange", show);
  addEventListener("noted", drawNav);
  // The skip links must not change the address, whose part behind # selects the panel.
  const skip = (event) => {
    event.preventDefault();
    (document.querySelector(event.target.dataset.to) ?? document.getElementById("main")).focus();
  };
  document.querySelectorAll(".skip").forEach((link) => link.addEventListener("click", skip));
  await connection.join(parse(location.hash).parameters.get("api"));
  show();
  restart();
}

start();
