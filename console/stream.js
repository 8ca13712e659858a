// The table's stream, and fan-out, which reads it: its lag, its work, and the batches that it gave up on.

import { call, path, query } from "./api.js";
import { Chart } from "./chart.js";
import { announce, button, card, div, el, empty, figure, p, table, tile } from "./dom.js";
import { count, moment, plural, seconds } from "./format.js";
import { onLink, onState } from "./live.js";
import { pressed, task } from "./task.js";

const POINTS = 60;

/** The interval of the charts, which are also drawn while nothing changes. */
const TICK = 1000;

/** The parts of the page, and `begin()`, which reads them. `fail()` leads to the fault that makes fan-out fail. */
export function stream(signal, fail) {
  const shards = el("div", {});
  const lag = new Chart({ points: POINTS });
  const flow = new Chart({ points: POINTS });
  const figures = { lag: figure(), flow: figure(), failures: figure(), report: el("span", {}) };
  const failures = el("div", {});
  const give = el("button", { type: "button", class: "as-link", onclick: fail }, "Make fan-out fail");
  const tiles = div(
    "tiles",
    tile("Lag", figures.lag, lag.element),
    tile("Records per second", figures.flow, flow.element),
    tile("Given up", figures.failures, give),
  );
  const shardsCard = card("Shards of the stream", shards, p("muted", figures.report));

  let latest = null;
  const take = (state) => {
    if (latest === null || latest.failures !== state.failures) listFailures(failures, signal);
    latest = state;
    shards.replaceChildren(...shardTable(state));
    figures.failures.textContent = count(state.failures);
    figures.report.textContent = state.report
      ? `Reports of ${state.report.topic}, every ${seconds(state.report.every_seconds)}.`
      : "";
  };
  let before = null;
  /** Forgets the state, which is not known while there is no connection. The figures are greyed out (see the style). */
  const forget = () => (latest = before = null);
  const draw = () => {
    if (document.hidden) forget();
    if (latest === null) return [lag, flow].forEach((chart) => chart.add(null));
    const behind = Math.max(0, ...latest.stream.map((it) => it.lag_seconds));
    const delivered = latest.stream.reduce((sum, it) => sum + it.delivered, 0);
    const rate = before === null ? null : Math.max(0, delivered - before);
    before = delivered;
    figures.lag.textContent = seconds(behind);
    if (rate !== null) figures.flow.textContent = count(rate);
    lag.add(behind);
    flow.add(rate);
  };
  const timer = setInterval(draw, TICK);
  const stops = [() => clearInterval(timer), onState(take), onLink((link) => link === "waiting" && forget())];
  for (const stop of stops) signal.addEventListener("abort", stop);
  const begin = () => task(shards, async () => take((await call("GET", "/local/state", { signal })).data));
  return { parts: [tiles, card("Failed batches", failures), shardsCard], begin };
}

function shardTable({ stream, records }) {
  const rows = stream.map((it) => [
    String(it.shard),
    seconds(it.lag_seconds),
    count(it.in_flight),
    count(it.delivered),
    count(it.filtered),
    count(it.invocations),
    it.retries > 0 ? el("span", { class: "warn" }, count(it.retries)) : "0",
    count(it.bisects),
    it.in_destination > 0 ? el("span", { class: "bad" }, count(it.in_destination)) : "0",
  ]);
  const heads = ["Shard", "Lag", "In flight", "Delivered", "Filtered", "Invocations", "Retries", "Splits", "Given up"];
  return [
    table("The stream's shards", heads, rows, { class: "numbers" }),
    p("muted", `${plural(records, "record")} in the stream.`),
  ];
}

/** A link to an event, with its type and actor. */
const named = ({ topic, id, type, actor }) =>
  el("a", { href: `#events${query({ topic, event: id })}` }, [topic, type, id].filter(Boolean).join(" · "), actor && [" by ", el("bdi", {}, actor)]);

function listFailures(place, signal) {
  return task(place, async () => {
    const { failures } = (await call("GET", "/local/failures", { signal })).data;
    if (failures.length === 0)
      return place.replaceChildren(
        empty("No failed batches.", "A batch that fails in all retries appears here, with its complete records."),
      );
    const rows = failures.map((failure) => {
      const again = button("Redrive", () =>
        pressed(again, place, async () => {
          const { data } = await call("POST", path("local", "failures", failure.name, "redrive"), { signal });
          announce(`${plural(data.records, "record")} handled.`);
          await listFailures(place, signal);
        }),
      );
      const what = failure.records.map(({ event_name: name, pk, sk, event }) =>
        el("div", {}, `${name} `, event ? named(event) : el("code", {}, `${pk} / ${sk}`)),
      );
      return [moment(failure.at), failure.reason, what, again];
    });
    place.replaceChildren(
      table("Failed batches, newest first", ["At (UTC)", "Reason", "Records", "Action"], rows, { class: "items" }),
    );
  });
}
