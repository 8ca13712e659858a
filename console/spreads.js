// A bucket's shards over its time: its base shards, which it has at all times, and its spreads, which are spans of time with
// more shards. With S shards, a slice has 512 ms / S, and slice number i belongs to shard i mod S.

import { card, div, el, p, svg, table } from "./dom.js";
import { count, moment, plural, seconds } from "./format.js";
import { span } from "./partition.js";

/** The milliseconds in which each shard has one slice. */
const CYCLE = 512;

const WIDTH = 1000;
const HEIGHT = 40;

/**
 * The card of the buckets' shards over time. `show` draws the buckets, and leaves open what the user has opened; it
 * draws nothing while the card has the focus.
 */
export function spreadsCard() {
  const shown = el("div", {});
  const opened = new Set();
  const about =
    "A bucket has its base shards at all times. Throttled writes add a spread: twice the shards, for a minute, or longer while the topic stays busy. An event belongs to the shard whose slice of time holds the event, so a read asks only the shards that can hold its events. In the drawing, a step of the height doubles the shards.";
  const element = card("Shards over time", p("muted", about), shown);
  const show = (buckets) => {
    if (element.contains(document.activeElement)) return;
    const spread = buckets.filter((it) => it.spreads.length > 0);
    const top = Math.max(...spread.map((it) => it.shards));
    const none = p("muted", "No bucket has a spread: each has its base shards at all times.");
    shown.replaceChildren(...(spread.length > 0 ? spread.map((it) => overTime(it, top, opened)) : [none]));
  };
  return { element, show };
}

function overTime(bucket, top, opened) {
  const { label, base, spreads, shards } = bucket;
  const isOpen = opened.has(label);
  const toggle = ({ currentTarget: { open } }) => (open ? opened.add(label) : opened.delete(label));
  const text = `${plural(base, "shard")} at all times; up to ${count(shards)} in ${plural(spreads.length, "spread")}`;
  return el(
    "section",
    {},
    div("actions", el("h3", {}, label), p("muted", text)),
    drawing(bucket, span(label), top),
    el("details", { open: isOpen, ontoggle: toggle }, el("summary", {}, `Spreads of ${label}`), details(bucket, top)),
  );
}

function details(bucket, top) {
  const { label, spreads } = bucket;
  const widest = spreads.reduce((one, other) => (other.shards > one.shards ? other : one));
  const times = (name) => spreads.map((it) => it[name]).sort();
  const rows = spreads.map(({ from, to, shards }) => [
    moment(from),
    moment(to),
    seconds((Date.parse(to) - Date.parse(from)) / 1000),
    count(shards),
    `${CYCLE / shards} ms`,
  ]);
  return [
    drawing(bucket, [times("from")[0], times("to").at(-1)], top),
    table(`Spreads of ${label}`, ["From", "To", "Lasts", "Shards", "Slice"], rows, { class: "numbers" }),
    slices(label, widest.shards),
  ];
}

/** Draws a bucket's shards between two times. A step of the height doubles the shards. */
function drawing({ label, base, spreads }, [from, to], top) {
  const [begin, end] = [from, to].map(Date.parse);
  const place = (at) => ((Math.min(Math.max(Date.parse(at), begin), end) - begin) / (end - begin)) * WIDTH;
  const bars = [{ from, to, shards: base }, ...spreads].map((it) => {
    const height = ((1 + Math.log2(it.shards)) / (1 + Math.log2(top))) * (HEIGHT - 2);
    return svg("rect", { x: place(it.from), width: place(it.to) - place(it.from), y: HEIGHT - height, height });
  });
  const canvas = { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img" };
  return [
    svg("svg", { ...canvas, "aria-label": `Shards of ${label} over time` }, bars),
    p("hint ends", moment(from), moment(to)),
  ];
}

/** The milliseconds of a cycle that each shard owns. */
function slices(label, shards) {
  const slice = CYCLE / shards;
  const owned = Array.from({ length: shards }, (_, shard) =>
    el("li", {}, el("strong", {}, String(shard)), ` ${shard * slice}–${(shard + 1) * slice - 1} ms`),
  );
  const name = `Slices of ${plural(shards, "shard")} of ${label}`;
  return [
    p("muted", `The widest spread, ${plural(shards, "shard")}: each shard owns ${slice} ms of every ${CYCLE} ms.`),
    el("div", { class: "scrolls", tabindex: "0", role: "region", "aria-label": name }, el("ol", { class: "slices" }, owned)),
  ];
}
