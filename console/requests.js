// Requests: what this tab costs, how long its requests take, and a log of the last ones. The panel sends no request.

import { note } from "./address.js";
import { copyButton } from "./copy.js";
import { button, card, div, el, empty, field, figure, heading, p, select, table, tableRow, tile } from "./dom.js";
import { count, moment, plural, units } from "./format.js";
import { clear, latencies, lines, LOGGED, onRequest, percentile, PRICES, requests, sum } from "./meter.js";
import { bar } from "./trace.js";

/** The interval of drawing, in milliseconds. A rate also changes while nothing is sent. */
const TICK = 1000;

/** The upper ends of the histogram's bars, in milliseconds. */
const ENDS = [5, 10, 20, 50, 100, 200, 500, 1000, 2000, Infinity];

/** The read units of an hour of a live stream of an idle timeline: `bench live` in docs/local.md. */
const STREAM = { topic: 1714.5, feed: 2857.5 };

/** The characters of a request id that its button shows. */
const ID = 8;

const NAMES = { pages: "Pages", polls: "Polls", writes: "Writes", other: "Other", all: "All" };

const rates = new Intl.NumberFormat("en", { maximumSignificantDigits: 2 });
const dollars = new Intl.NumberFormat("en", { style: "currency", currency: "USD" });

const money = (value) => (value > 0 && value < 0.01 ? "under $0.01" : dollars.format(value));

/** A link to the panel, with the units so far. */
export function meterLink() {
  const link = el("a", { class: "meter price" });
  const draw = () => {
    const { read, write, calls } = sum();
    link.textContent = `${units(read)} read · ${units(write)} write units`;
    link.title = `This tab so far: ${plural(calls, "call")} of DynamoDB, without live streams. Opens the log of requests.`;
  };
  onRequest(draw);
  draw();
  return link;
}

export function open(place, parameters, signal) {
  const figures = { units: figure(), rate: figure(), month: figure(), latency: figure() };
  const slow = p("muted");
  const [calls, hour] = ["", ""].map(() => p("muted"));
  const kinds = el("div", {});
  const histogram = el("div", {});
  const log = new Log(parameters.get("show"));
  const draw = () => {
    drawCost(figures, calls, hour, kinds);
    drawLatency(figures.latency, slow, histogram);
    log.draw();
  };
  const again = button("Start at zero", () => {
    clear();
    draw();
  });
  place.append(
    heading(
      "Requests and prices",
      `What this tab costs, from the header Lately-Cost of each response. Money is DynamoDB's list price on demand in us-east-1: $${PRICES.read} for a million read units and $${PRICES.write} for a million write units. Gateway, functions, storage and logs are not in it. Live streams are not in it either: the service reads a timeline once for all of its streams, ${count(STREAM.topic)} read units an hour for an idle topic and ${count(STREAM.feed)} for an idle feed.`,
    ),
    div(
      "tiles",
      tile("Units so far", figures.units, calls),
      tile("Units a second", figures.rate, p("muted", "in the last minute")),
      tile("30 days at this rate", figures.month, hour),
      tile("Median latency", figures.latency, slow),
    ),
    div("columns", card("Cost by kind", kinds, div("actions", again)), card("Latency", histogram)),
    card(`The last ${LOGGED} requests`, ...log.parts),
  );
  draw();
  const timer = setInterval(draw, TICK);
  signal.addEventListener("abort", () => clearInterval(timer));
}

function drawCost(figures, calls, hour, place) {
  const all = lines();
  const { read, write, rate, month, calls: sent } = all.at(-1);
  figures.units.textContent = units(read + write);
  figures.rate.textContent = rates.format(rate);
  figures.month.textContent = money(month);
  hour.textContent = `$${rates.format(month / 720)} an hour, without live streams`;
  calls.textContent = `${units(read)} read, ${units(write)} write; ${plural(sent, "call")}`;
  const rows = all.map((line) => [
    NAMES[line.kind],
    count(line.requests),
    units(line.read),
    units(line.write),
    count(line.calls),
    rates.format(line.rate),
    money(line.month),
  ]);
  const heads = ["Kind", "Requests", "Read units", "Write units", "Calls", "Units a second", "30 days"];
  redraw(place, table("Cost by kind of request", heads, rows, { class: "numbers" }));
}

function drawLatency(figure, slow, place) {
  const all = latencies();
  figure.textContent = all.length === 0 ? "–" : `${Math.round(percentile(all, 0.5))} ms`;
  slow.textContent = all.length === 0 ? "" : `95 % within ${Math.round(percentile(all, 0.95))} ms, of ${count(all.length)}`;
  const bars = ENDS.map((end, at) => all.filter((it) => it < end && it >= (ENDS[at - 1] ?? 0)).length);
  const last = bars.findLastIndex((it) => it > 0);
  const rows = bars
    .slice(0, last + 1)
    .map((it, at) => [Number.isFinite(ENDS[at]) ? `under ${count(ENDS[at])} ms` : "longer", bar(it, Math.max(...bars))]);
  redraw(place, last < 0 ? empty("No responses yet.") : table("Requests by latency", ["Response began", "Requests"], rows));
}

/** Replaces what changes every second, unless the user has the focus there. */
function redraw(place, content) {
  if (!place.contains(document.activeElement)) place.replaceChildren(content);
}

/** The log. Each request has its row once, so a row stays where the user reads it, and keeps the focus. */
class Log {
  #rows = new Map();

  constructor(show) {
    this.only = select([["", "all"], ["failures", "failures"]], show ?? "", { onchange: () => this.#filter() });
    this.status = p("status");
    this.none = empty("No request has failed.");
    this.table = table("Log of requests", ["At (UTC)", "Method", "Path", "Status", "ms", "Units", "Request id"], [], { class: "log" });
    this.body = this.table.querySelector("tbody");
    this.parts = [div("actions", field("Show", this.only), this.status), this.table, this.none];
  }

  #filter() {
    note({ show: this.only.value });
    this.#rows.clear();
    this.body.replaceChildren();
    this.draw();
  }

  draw() {
    const all = requests();
    const failures = all.filter(({ isFailed }) => isFailed);
    const wanted = new Set(this.only.value ? failures : all);
    for (const [entry, row] of this.#rows)
      if (!wanted.has(entry)) {
        row.remove();
        this.#rows.delete(entry);
      }
    for (const entry of wanted)
      if (!this.#rows.has(entry)) {
        this.#rows.set(entry, logRow(entry));
        this.body.prepend(this.#rows.get(entry));
      }
    this.status.textContent = `${plural(all.length, "request")}, ${count(failures.length)} failed`;
    this.none.hidden = wanted.size > 0 || !this.only.value;
    this.table.hidden = wanted.size === 0;
  }
}

function logRow({ at, method, target, status, code, isFailed, isAborted, milliseconds, paid, requestId }) {
  const said = isAborted ? "ended by the page" : [status, code].filter(Boolean).join(" ");
  const spent = [paid.read_units && `${units(paid.read_units)} read`, paid.write_units && `${units(paid.write_units)} write`];
  const copy = requestId && copyButton(`Copy ${requestId.slice(0, ID)}…`, () => requestId);
  copy?.setAttribute("title", `Copies the request id ${requestId}`);
  return tableRow([
    moment(at),
    method,
    el("code", { class: "cut", title: target }, target),
    el("span", { class: isFailed ? "bad" : isAborted ? "muted" : null }, said),
    count(Math.round(milliseconds)),
    spent.filter(Boolean).join(" · "),
    copy,
  ]);
}
