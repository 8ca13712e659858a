// The events of a partition: a shard of a bucket.
//
// The API has no route for a partition. But an event's id contains its shard, so the page reads the bucket's events and
// keeps the shard's. It stops after a few pages.

import { pages, path, query } from "./api.js";
import { card, div, el, empty, loading, table } from "./dom.js";
import { eventCells } from "./event.js";
import { plural } from "./format.js";
import { key } from "./key.js";
import { showLast } from "./task.js";

const PAGE = 200;

/** The most pages of the bucket to read, and the most events to show. */
const PAGES = 5;
const SHOWN = 50;

/** The card of the partition that the user chooses. It is hidden until then. */
export function partitionCard(topic, signal) {
  const shown = el("div", {});
  const element = card("The events of a partition", shown);
  element.hidden = true;
  const show = (label, shard) => {
    const first = element.hidden;
    element.hidden = false;
    shown.replaceChildren(el("p", {}, key(partition(topic, label, shard))), loading());
    if (first) element.scrollIntoView({ block: "nearest" });
    return showLast(shown, signal, (signal) => look(topic, label, shard, shown, signal));
  };
  return { element, show };
}

const partition = (topic, label, shard) => `EVENTS#${topic}#${label}#SHARD${shard}`;

async function look(topic, label, shard, place, signal) {
  const [from, to] = span(label);
  const found = [];
  const target = (cursor) => `${path("topics", topic)}/events${query({ from, to, limit: PAGE, cursor })}`;
  let [read, next] = [0, null];
  for await (const { data } of pages(target, PAGES, signal)) {
    read += data.events.length;
    found.push(...data.events.filter(({ id }) => shardOf(id) === shard));
    next = data.next;
    if (found.length >= SHOWN) break;
  }
  const name = partition(topic, label, shard);
  const stored = (id) => el("a", { href: `#shards${query({ topic, event: id })}`, "aria-label": `Stored items of ${id}` }, "Stored items");
  const rows = found.slice(0, SHOWN).map((event) => [...eventCells(event), stored(event.id)]);
  const more = next || found.length > SHOWN ? `, of the bucket's newest ${plural(read, "event")}` : "";
  place.replaceChildren(
    el("p", {}, key(name), el("span", { class: "muted" }, ` · ${plural(rows.length, "event")}${more}`)),
    rows.length === 0
      ? empty(next ? "None of the events that were read is in this partition." : "This partition has no events.")
      : table(`Events of ${name}`, ["At (UTC)", "Type", "Actor", "Data", "Items"], rows),
    div(
      "actions",
      el("a", { href: `#events${query({ topic, to })}` }, "Show the bucket in the timeline"),
      el("a", { href: `#system${query({ throttle: name })}` }, "Throttle this partition"),
    ),
  );
}

/** The shard in an event's id: the eight bits after the variant. */
const shardOf = (id) => (Number.parseInt(id.slice(19, 23), 16) >> 6) & 0xff;

/** The first moment of a bucket, and the first after it. A label's length tells the bucket's width. */
export function span(label) {
  const begin = new Date(`${label.padEnd(10, "-01").slice(0, 10)}T${label.slice(11).padEnd(2, "0").padEnd(5, ":00")}:00Z`);
  const end = new Date(begin);
  if (label.length === 7) end.setUTCMonth(end.getUTCMonth() + 1);
  else end.setTime(end.getTime() + { 10: 86_400_000, 13: 3_600_000, 16: 900_000 }[label.length]);
  return [begin.toISOString(), end.toISOString()];
}
