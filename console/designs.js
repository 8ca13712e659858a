// Compares five published designs with Lately's. Each has the same events in its own table. The page shows the stored
// and lost events, the cost of reading the latest, and the keys.

import { call, query } from "./api.js";
import { card, el, field, form, select, table } from "./dom.js";
import { count, plural, units } from "./format.js";
import { key } from "./key.js";
import { pressed } from "./task.js";

/** The number of partitions to list for a design: the fullest ones. */
const PARTITIONS = 6;

export function designs(topic, signal) {
  const limit = select(["10", "50", "100", "200"], "50");
  const run = el("button", { type: "submit", class: "primary" }, "Compare");
  const found = el("div", {});
  const look = () =>
    pressed(run, found, async () => {
      const { data } = await call("GET", `/local/designs${query({ topic, limit: limit.value })}`, { signal });
      found.replaceChildren(...summary(data), ...data.designs.map(one));
    });
  return card(
    "Compare six designs with copies of the events",
    el(
      "p",
      { class: "muted" },
      `Writes copies of the newest events of ${topic} into empty tables, one for each of five published designs and one for Lately's, without faults, and reads the latest back in each design's own way. So Lately's copy has its smallest number of shards. A read of ${topic} itself costs more while its buckets have more shards: trace it above.`,
    ),
    form({ class: "inline" }, look, field("Events to read", limit), run),
    found,
  );
}

function summary({ events, limit, designs: all }) {
  const rows = all.map(({ name, title, stored, lost, write_units: written, read, partitions }) => [
    name === "lately" ? el("strong", {}, title) : title,
    lost === 0 ? count(stored) : el("span", { class: "bad" }, `${count(stored)}, ${count(lost)} lost`),
    units(written),
    units(read.read_units),
    count(read.calls),
    count(read.rounds),
    count(partitions.length),
    `${Math.round((Math.max(0, ...partitions.map((it) => it.items)) / Math.max(1, stored)) * 100)} %`,
  ]);
  const heads = [
    "Design",
    "Stored",
    "Write units",
    `Read units, latest ${limit}`,
    "Calls",
    "Rounds",
    "Partitions",
    "In fullest partition",
  ];
  return [
    el("p", { class: "muted" }, `${plural(events, "event")}.`),
    table("Designs compared", heads, rows, { class: "numbers" }),
  ];
}

function one({ title, keys, partitions, sample }) {
  const fullest = [...partitions].sort((a, b) => b.items - a.items);
  const rest = fullest.length - PARTITIONS;
  return el(
    "details",
    { class: "design" },
    el("summary", {}, title, el("span", { class: "muted" }, ` pk ${keys.pk} · sk ${keys.sk}`)),
    table(
      `Partitions of ${title}`,
      ["Partition", "Events"],
      fullest.slice(0, PARTITIONS).map(({ pk, items }) => [key(pk), count(items)]),
      { class: "items" },
    ),
    rest > 0 && el("p", { class: "muted" }, `and ${plural(rest, "more partition")}`),
    table(
      `Keys of ${title}`,
      ["pk", "sk", "at", "type", "actor"],
      sample.map(({ pk, sk, at, type, actor }) => [key(pk), key(sk), at, type, el("bdi", {}, actor)]),
      { class: "items" },
    ),
  );
}
