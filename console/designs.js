// Five designs that others have published for the same job, and ours, each with the same events in a table of its own: what
// was stored, what was lost, what the latest cost, and how the keys look.

import { call, query } from "./api.js";
import { card, el, field, form, select, table } from "./dom.js";
import { count, plural, units } from "./format.js";
import { key } from "./key.js";
import { pressed } from "./task.js";

/** Partitions of a design that are listed: the fullest. */
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
    "Six designs, the same events",
    el(
      "p",
      { class: "muted" },
      `The newest events of ${topic}, written with five published designs and with ours, and read back each its own way.`,
    ),
    form({ class: "inline" }, look, field("The latest", limit), run),
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
    "In the fullest",
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
