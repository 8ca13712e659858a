// The frame of the page. The part of the address behind `#` selects the panel.
//
// A panel is a module with `open(place, parameters, signal)`. When another panel is shown, `signal` aborts, and with it
// all work of the panel. Panels that need the local program's own routes are not offered for a deployed API.

import { isLocal } from "./api.js";
import { banner } from "./banner.js";
import { connectionButton } from "./connection.js";
import { el } from "./dom.js";
import { onLink, onState, restart } from "./live.js";
import { themeToggle } from "./theme.js";
import * as consumers from "./consumers.js";
import * as faults from "./faults.js";
import * as feeds from "./feeds.js";
import * as issues from "./issues.js";
import * as storage from "./storage.js";
import * as stream from "./stream.js";
import * as timeline from "./timeline.js";

const PANELS = [
  { name: "timeline", title: "Timeline", module: timeline },
  { name: "feeds", title: "Feeds", module: feeds },
  { name: "issues", title: "Issues", module: issues },
  { name: "consumers", title: "Consumers", module: consumers },
  { name: "storage", title: "Storage", module: storage, local: true },
  { name: "stream", title: "Stream", module: stream, local: true },
  { name: "faults", title: "Faults", module: faults, local: true },
];

const LINKS = { live: "Live", polling: "Polling", waiting: "Reconnecting" };

const nav = document.getElementById("nav");
const place = document.getElementById("panel");
let shown = null;

function drawNav() {
  const links = PANELS.filter((panel) => isLocal() || !panel.local).map(({ name, title }) =>
    el("a", { href: `#${name}`, "aria-current": shown?.name === name ? "page" : null }, title),
  );
  nav.replaceChildren(...links);
  nav.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
}

/** Shows the panel of the address. */
function show() {
  const [name, parameters] = location.hash.slice(1).split("?");
  const panel = PANELS.find((it) => it.name === name && (isLocal() || !it.local)) ?? PANELS[0];
  const first = shown === null;
  shown?.controller.abort();
  shown = { name: panel.name, controller: new AbortController() };
  document.title = `${panel.title} · Lately`;
  drawNav();
  place.replaceChildren();
  place.className = `panel ${panel.name}`;
  panel.module.open(place, new URLSearchParams(parameters), shown.controller.signal);
  scrollTo(0, 0);
  if (!first) document.getElementById("main").focus({ preventScroll: true });
}

function start() {
  const connection = connectionButton(() => {
    show();
    restart();
    showFaults(null);
  });
  const showFaults = banner(document.getElementById("banner"));
  document.getElementById("foot").append(connection.element, themeToggle());
  onState((state) => showFaults(state.faults));
  onLink((link) => {
    connection.link.className = `link ${link}`;
    connection.link.textContent = LINKS[link];
  });
  addEventListener("hashchange", show);
  // The skip link must not change the address, whose part behind # selects the panel.
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    document.getElementById("main").focus();
  });
  show();
  restart();
}

start();
