// Shards: a topic's buckets and shards as a heat map and over time, the events of a partition, the stored items of an
// event, and the trace of a read.

import { note } from "./address.js";
import { call, path, topics } from "./api.js";
import {
  button, card, div, el, empty, field, focusHeading, form, heading, loading, p, plainInput, select, table,
} from "./dom.js";
import { bytes, count, plural } from "./format.js";
import { item } from "./key.js";
import { partitionCard } from "./partition.js";
import { untilRead, watch } from "./live.js";
import { spreadsCard } from "./spreads.js";
import { pressed, showLast, task } from "./task.js";
import { trace } from "./trace.js";

/** The number of shades of the heat map; the style has a class for each. */
const LEVELS = 5;

/** With more shards than this, cells are narrow. */
const DENSE = 16;

export function open(place, parameters, signal) {
  const chosen = parameters.get("topic") ?? "posts";
  const map = el("div", {}, loading());
  const which = select([chosen], chosen, { onchange: () => (location.hash = `shards?topic=${which.value}`) });
  const again = button("Refresh", () => pressed(again, map, draw));
  const times = spreadsCard();
  const partition = partitionCard(chosen, signal);
  const choose = (label, shard) => {
    note({ bucket: label, shard, event: null, trace: null });
    partition.show(label, shard);
  };
  const draw = () => heatMap(map, chosen, choose, times, signal);
  const sections = [
    card("Buckets and shards", div("toolbar", field("Topic", which), again), map),
    partition.element,
    times.element,
    items(chosen, parameters.get("event"), signal),
    trace(parameters.get("trace") ?? `${path("topics", chosen)}/events?limit=50`, signal),
  ];
  // The section that the address asks for comes first, because the others grow when their answers arrive.
  const wanted = sections.find((it) => it.classList.contains(parameters.has("event") ? "behind" : "trace"));
  const isWanted = parameters.has("event") || parameters.has("trace");
  if (isWanted) sections.unshift(...sections.splice(sections.indexOf(wanted), 1));
  place.append(
    heading(
      "Shards",
      "A topic is split into buckets by time, and a bucket into shards. Each shard is a partition of the table. A quiet bucket has one shard. Throttled writes double the shards for a minute, automatically.",
    ),
    ...sections,
  );
  untilRead(which.parentElement, signal, async () => {
    const known = await topics(signal);
    which.append(...known.filter((name) => name !== chosen).map((value) => el("option", { value }, value)));
  });
  if (parameters.has("bucket")) partition.show(parameters.get("bucket"), Number(parameters.get("shard")));
  follow(map, chosen, draw, signal);
  // After the frame, which moves the focus to the panel.
  if (isWanted) setTimeout(() => focusHeading(wanted));
}

/** Redraws the map after new events: at most once a second, and not while the focus is on the map. */
function follow(map, topic, draw, signal) {
  let due = null;
  const redraw = () => {
    due = null;
    if (!signal.aborted && !map.contains(document.activeElement)) task(map, draw);
  };
  const soon = () => (due ??= setTimeout(redraw, 1000));
  signal.addEventListener("abort", watch({ begin: redraw, landed: soon }, { path: `${path("topics", topic)}/events` }));
}

async function heatMap(place, topic, choose, times, signal) {
  const { bucket, buckets, more } = (await call("GET", path("local", "storage", "topics", topic), { signal })).data;
  times.show(buckets);
  if (buckets.length === 0) return place.replaceChildren(empty("No buckets yet.", "The first event creates one."));
  const most = Math.max(1, ...buckets.flatMap((it) => it.counts));
  const wide = Math.max(...buckets.map((it) => it.shards));
  const total = buckets.reduce((sum, it) => sum + it.counts.reduce((all, each) => all + each, 0), 0);
  const head = el(
    "tr",
    {},
    el("th", { scope: "col" }, bucket),
    Array.from({ length: wide }, (_, shard) => el("th", { scope: "col" }, String(shard))),
    el("th", { scope: "col" }, "Events"),
  );
  const rows = buckets.map((it) => heatRow(topic, it, most, wide, choose));
  const map = el(
    "table",
    { class: wide > DENSE ? "heat dense" : "heat", role: "grid" },
    el("caption", { class: "unseen" }, `Events of ${topic} by bucket and shard`),
    el("thead", {}, head),
    el("tbody", {}, rows),
  );
  map.addEventListener("keydown", (event) => roam(map, event));
  map.querySelector("td button").tabIndex = 0;
  place.replaceChildren(
    p(
      "muted",
      `${plural(total, "event")} in the newest ${plural(buckets.length, "bucket")}${more ? "; older buckets exist" : ""}. A cell is a partition: choose one to see its events.`,
    ),
    el("div", { class: "scrolls", role: "region", "aria-label": "Heat map" }, map),
    legend(most),
  );
}

function heatRow(topic, { label, shards, counts, capped }, most, wide, choose) {
  const cells = Array.from({ length: wide }, (_, shard) => {
    if (shard >= shards) return el("td", { class: "none" }, el("span", { class: "unseen" }, "no such shard"));
    const partition = `EVENTS#${topic}#${label}#SHARD${shard}`;
    const size = counts[shard];
    const what = `${plural(size, "event")} in ${partition}`;
    const cell = button(count(size), () => choose(label, shard), { tabindex: "-1", "aria-label": what, title: what });
    return el("td", { class: `level-${level(size, most)}` }, cell);
  });
  const sum = counts.reduce((all, each) => all + each, 0);
  return el(
    "tr",
    {},
    el("th", { scope: "row" }, label),
    cells,
    el("td", { class: "sum" }, `${count(sum)}${capped ? "+" : ""}`),
  );
}

const level = (size, most) => (size === 0 ? 0 : Math.max(1, Math.ceil((size / most) * LEVELS)));

function legend(most) {
  const steps = Array.from({ length: LEVELS + 1 }, (_, step) => el("span", { class: `level-${step}` }));
  return el("p", { class: "legend", "aria-hidden": "true" }, "0", steps, count(most));
}

/** The map is one tab stop. The arrow keys move between its cells. */
function roam(map, event) {
  const rows = [...map.tBodies[0].rows].map((row) => [...row.querySelectorAll("button")]);
  const at = rows.findIndex((row) => row.includes(document.activeElement));
  if (at < 0) return;
  const across = rows[at].indexOf(document.activeElement);
  const moves = {
    ArrowUp: [at - 1, across],
    ArrowDown: [at + 1, across],
    ArrowLeft: [at, across - 1],
    ArrowRight: [at, across + 1],
    Home: [at, 0],
    End: [at, rows[at].length - 1],
  };
  if (!(event.key in moves)) return;
  event.preventDefault();
  const [row, cell] = moves[event.key];
  const next = rows[row]?.[Math.min(cell, (rows[row]?.length ?? 0) - 1)];
  if (!next) return;
  document.activeElement.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

/** The stored items of an event: the event, its copies, and its entries in indexes. */
function items(topic, id, signal) {
  const input = plainInput({ value: id ?? "", placeholder: "an event's id", required: true });
  const find = el("button", { type: "submit", class: "primary" }, "Find");
  const newest = button("Newest event", () =>
    pressed(newest, found, async () => {
      const { events } = (await call("GET", `${path("topics", topic)}/events?limit=1`, { signal })).data;
      if (events.length === 0) return found.replaceChildren(empty("The topic has no events."));
      input.value = events[0].id;
      await read();
    }),
  );
  const found = el("div", {});
  const look = async (signal) => {
    const wanted = input.value.trim();
    found.replaceChildren(loading());
    const answer = await call("GET", path("local", "storage", "events", topic, wanted), { signal });
    note({ event: wanted, trace: null });
    const all = answer.data.items;
    const size = all.reduce((sum, it) => sum + it.bytes, 0);
    found.replaceChildren(
      p(
        "muted",
        `${plural(all.length, "item")}, ${bytes(size)}. Sort keys are inverted ids: the newest comes first, in every partition.`,
      ),
      table(`Items of ${wanted}`, ["Place", "pk", "sk", "Attributes", "Size"], all.map(item), {
        class: "items",
      }),
    );
  };
  const read = () => showLast(found, signal, look);
  const section = card(
    "The stored items of an event",
    form({ class: "inline" }, () => pressed(find, found, read), field(`Event of ${topic}`, input), find, newest),
    found,
  );
  section.classList.add("behind");
  if (id) read();
  return section;
}
