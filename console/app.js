// The frame of the page. The part of the address behind `#` selects the panel. The menu leads to what each panel showed
// last, and to the topic that is shown now.
//
// The menu has five entries. The panels of an entry are its tabs. A panel is a module with `open(place, parameters, signal)`. When another panel is shown, `signal` aborts, and with it
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
import * as events from "./events.js";
import * as erasure from "./erasure.js";
import * as issues from "./issues.js";
import { palette } from "./palette.js";
import * as people from "./people.js";
import * as records from "./records.js";
import * as requests from "./requests.js";
import { ANY } from "./scope.js";
import * as sessions from "./sessions.js";
import * as storage from "./storage.js";
import * as system from "./system.js";
import * as topics from "./topics.js";

/** The entries of the menu with their panels. An entry with several panels has tabs. */
const ENTRIES = [
  { title: "Events", panels: [{ name: "events", title: "Events", module: events, names: ["topic", "source", "feed"] }] },
  {
    title: "Topics",
    panels: [
      { name: "topics", title: "Settings", module: topics, names: ["topic"] },
      { name: "consumers", title: "Consumers", module: consumers, names: ["topic", "name"] },
      { name: "shards", title: "Shards", module: storage, names: ["topic"], local: true },
    ],
  },
  {
    title: "People",
    panels: [
      { name: "follows", title: "Follows", module: people, names: ["user"] },
      { name: "profile", title: "Profile", module: records.profile, names: ["user"] },
      { name: "sessions", title: "Sessions", module: sessions, names: ["user"] },
      { name: "erasure", title: "Erasure", module: erasure },
    ],
  },
  {
    title: "System",
    panels: [
      { name: "system", title: "Stream and faults", module: system, local: true },
      { name: "requests", title: "Requests and prices", module: requests },
    ],
  },
  {
    title: "Records",
    panels: [
      { name: "issues", title: "Issues", module: issues, names: ["owner", "repo", "issue"] },
      { name: "settings", title: "Settings of applications", module: records.settings, names: ["app"] },
    ],
  },
];

const PANELS = ENTRIES.flatMap(({ panels }) => panels);

/** Where the addresses of earlier menus lead: functions of their parameters, which return a panel and its parameters. */
const EARLIER = {
  timeline: (given) => ["events", given],
  feeds: ({ user = ANY, ...rest }) => ["events", { feed: user, ...rest }],
  sources: ({ source = ANY, ...rest }) => ["events", { source, ...rest }],
  storage: (given) => ["shards", given],
  stream: (given) => ["system", given],
  faults: (given) => ["system", given],
  records: ({ kind, name, erasure: id, ...rest }) =>
    id ? ["erasure", { erasure: id, ...rest }] : kind === "settings" ? ["settings", { app: name, ...rest }] : ["profile", { user: name, ...rest }],
};

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
const tabBar = document.getElementById("tabs");
const meter = requests.meterLink();
let shown = null;

/** The parameters that each panel had last, by the panel's name, and the panel that each entry showed last. */
const last = new Map();
const lately = new Map();

/** The address of a panel. With another API, a new tab needs that API's URL. */
function addressOf({ name, names = [] }) {
  const { topic, user, feed } = last.get(shown.name);
  const kept = last.get(name) ?? {};
  // A panel shows the topic or the user of the panel before.
  const now = { topic, user: user ?? feed };
  const moved = ["topic", "user"].find((it) => now[it] && names.includes(it) && kept[it] !== now[it]);
  const parameters = moved ? { [moved]: now[moved] } : kept;
  return `#${name}${query({ ...parameters, api: isLocal() ? null : apiUrl() })}`;
}

const offered = (panels) => panels.filter((panel) => isLocal() || !panel.local);

/** The panel of an entry that was shown last, or its first one. */
const firstOf = (panels) => offered(panels).find(({ name }) => name === lately.get(panels)) ?? offered(panels)[0];

/** Draws the menu and the title for the current address. */
function drawNav() {
  const { parameters } = parse(location.hash);
  last.set(shown.name, Object.fromEntries(parameters));
  const { names = [], title } = PANELS.find(({ name }) => name === shown.name);
  const what = names.map((name) => parameters.get(name)).filter(Boolean);
  document.title = [what.join(" / "), title, "Lately", !isLocal() && new URL(apiUrl()).host].filter(Boolean).join(" · ");
  const entry = ENTRIES.find(({ panels }) => panels.some(({ name }) => name === shown.name));
  lately.set(entry.panels, shown.name);
  const link = (panel, text, isCurrent) => el("a", { href: addressOf(panel), "aria-current": isCurrent ? "page" : null }, text);
  const links = ENTRIES.map(({ title, panels }) => link(firstOf(panels), title, panels === entry.panels));
  const all = offered(entry.panels);
  const tabs = all.map((panel) => link(panel, panel.title, panel.name === shown.name));
  tabBar.replaceChildren(...(all.length > 1 ? tabs : []));
  tabBar.setAttribute("aria-label", `Parts of ${entry.title}`);
  tabBar.hidden = all.length < 2;
  meter.href = addressOf(PANELS.find(({ module }) => module === requests));
  nav.replaceChildren(...links);
  nav.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
}

/** Shows the panel of the address. */
function show() {
  const { name, parameters } = parse(location.hash);
  if (name in EARLIER) {
    const [now, given] = EARLIER[name](Object.fromEntries(parameters));
    // Replaces the address, so that the browser's Back does not come here again.
    return location.replace(`#${now}${query(given)}`);
  }
  const panel = offered(PANELS).find((it) => it.name === name) ?? PANELS[0];
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
  const find = palette(() => ENTRIES.flatMap(({ title, panels }) => offered(panels).map((it) => [title === it.title ? title : `${title}: ${it.title}`, addressOf(it)])));
  document.getElementById("foot").append(connection.element, find, meter, themeToggle());
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
