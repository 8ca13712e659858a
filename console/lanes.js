// The lanes of a traced read: which shards of each bucket it asked, and how many the bucket has at the page's time.

import { call, path } from "./api.js";
import { el, svg, table } from "./dom.js";
import { count, units } from "./format.js";
import { mostShards } from "./spreads.js";

const PARTITION = /^(?:EVENTS|TYPE)#([^#]+)#([^#]+)#(?:.+#)?SHARD(\d+)$/;

/** A table of the lanes by bucket, or null if the read asks no shards. */
export async function lanes(target, { calls, body }, signal) {
  const asked = new Map();
  let topic = null;
  for (const { operation, partition, read_units: paid } of calls) {
    const found = operation === "Query" && PARTITION.exec(partition ?? "");
    if (!found) continue;
    topic = found[1];
    const bucket = asked.get(found[2]) ?? { times: new Map(), paid: 0 };
    const shard = Number(found[3]);
    bucket.times.set(shard, (bucket.times.get(shard) ?? 0) + 1);
    bucket.paid += paid;
    asked.set(found[2], bucket);
  }
  if (topic === null) return null;
  const { buckets } = (await call("GET", path("local", "storage", "topics", topic), { signal })).data;
  const span = pageSpan(target, body);
  const rows = [...asked].map(([label, { times, paid }]) => {
    const shards = [...times.keys()].sort((one, other) => one - other);
    const bucket = buckets.find((it) => it.label === label);
    // The first round asks the shards of the present, and the page may end before it.
    const atPage = bucket && mostShards(bucket, ...span);
    const of = bucket && shards.at(-1) >= atPage ? bucket.shards : atPage;
    const sum = [...times.values()].reduce((all, each) => all + each, 0);
    return [
      label,
      of ? `${count(shards.length)} of ${count(of)}` : count(shards.length),
      el("div", {}, of && strip(shards, of), ranges(shards)),
      count(sum),
      count(Math.max(...times.values())),
      units(paid),
    ];
  });
  return table("Lanes by bucket", ["Bucket", "Shards asked", "Lanes", "Queries", "Most of a lane", "Read units"], rows, { class: "lanes" });
}

/** The time that a page looks at: to the ends of its range, unless the page begins at a cursor or more events follow. */
function pageSpan(target, body) {
  const parameters = new URL(target, location.origin).searchParams;
  const times = (body?.events ?? []).map(({ at }) => Date.parse(at));
  const isAscending = parameters.get("order") === "asc" || times[0] < times.at(-1);
  const ends = [parameters.has("cursor") ? times[0] : undefined, body?.has_more ? times.at(-1) : undefined];
  const [oldest, newest] = isAscending ? ends : ends.reverse();
  return [oldest ?? (Date.parse(parameters.get("from")) || 0), newest ?? (Date.parse(parameters.get("to")) || Date.now())];
}

/** All shards of a bucket side by side, those that were asked filled. */
const strip = (shards, of) =>
  svg(
    "svg",
    { viewBox: `0 0 ${of} 1`, preserveAspectRatio: "none", "aria-hidden": "true" },
    shards.map((x) => svg("rect", { x, width: 1, height: 1 })),
  );

/** `0–3, 7` for the numbers 0, 1, 2, 3 and 7. */
function ranges(numbers) {
  const runs = [];
  for (const number of numbers) {
    if (runs.at(-1)?.[1] === number - 1) runs.at(-1)[1] = number;
    else runs.push([number, number]);
  }
  return runs.map(([first, last]) => (first === last ? first : `${first}–${last}`)).join(", ");
}
