// The meter: what this tab's requests cost and how long they take, since the page was loaded.
//
// Each response has its units and calls in `Lately-Cost`, so the meter sends no request. Its memory is bounded: sums by
// kind, the same sums for each of the last 60 seconds, and the last 200 requests.

import { parseCost } from "./client.js";

/** Dollars of a million units: list prices of us-east-1, on demand, as in docs/operations.md. */
export const PRICES = { read: 0.125, write: 0.625 };

/** The requests of the log. */
export const LOGGED = 200;

/** The seconds over which a rate is measured, and those of a month. */
const WINDOW = 60;
const MONTH = 30 * 86_400;

const KINDS = ["pages", "polls", "writes", "other"];
const COUNTED = ["requests", "read", "write", "calls"];
const PAGE = /\/(events|followers|following|issues|runs)$|^\/feeds\/[^/]+$/;
const CONSUMER_POLL = /\/consumers\/[^/]+\/poll$/;

const zero = () => Object.fromEntries(COUNTED.map((name) => [name, 0]));
const nothing = () => Object.fromEntries(KINDS.map((kind) => [kind, zero()]));

function add(sum, more) {
  for (const name of COUNTED) sum[name] += more[name];
  return sum;
}

let began = 0;
let total = nothing();
/** The sums of each second in which a request ended, oldest first. */
let seconds = [];
let log = [];
const watchers = new Set();

/** Calls `watcher` after each request. */
export const onRequest = (watcher) => watchers.add(watcher);

/** Begins again at zero. */
export function clear() {
  [began, total, seconds, log] = [performance.now(), nothing(), [], []];
  watchers.forEach((watcher) => watcher());
}

/** The last requests, oldest first. */
export const requests = () => log;

let isPoll = false;

/** Runs `work`. The requests that it sends before it waits for anything are polls: nobody asked for them. */
export function polling(work) {
  isPoll = true;
  try {
    return work();
  } finally {
    isPoll = false;
  }
}

function kindOf(method, path) {
  if (path.startsWith("/local/")) return "other";
  if (isPoll || CONSUMER_POLL.test(path)) return "polls";
  if (method !== "GET") return "writes";
  return PAGE.test(path) ? "pages" : "other";
}

/** What the page asks the local program for again and again. It costs nothing, and would fill the log. */
const UNMEASURED = "/local/state";

/** Begins to measure a request. Returns a function to call with its response, and with its error if it failed. */
export function measure(method, target) {
  if (target === UNMEASURED) return () => {};
  const kind = kindOf(method, target.split("?")[0]);
  const at = new Date().toISOString();
  const start = performance.now();
  return (response, error) => {
    const now = performance.now();
    const paid = parseCost(response?.headers.get("Lately-Cost"));
    const entry = {
      at,
      method,
      target,
      kind,
      status: response?.status ?? null,
      code: error?.code,
      isAborted: error?.name === "AbortError",
      milliseconds: now - start,
      paid,
      requestId: error?.request_id ?? response?.headers.get("apigw-requestid"),
    };
    entry.isFailed = Boolean(error) && !entry.isAborted;
    log = [...log, entry].slice(-LOGGED);
    const { read_units: read = 0, write_units: write = 0, calls = 0 } = paid;
    for (const sums of [total, thisSecond(Math.floor(now / 1000))]) add(sums[kind], { requests: 1, read, write, calls });
    watchers.forEach((watcher) => watcher());
  };
}

function thisSecond(second) {
  if (seconds.at(-1)?.second !== second) seconds = [...seconds, { second, sums: nothing() }].slice(-WINDOW);
  return seconds.at(-1).sums;
}

/** All that was counted so far. */
export const sum = () => Object.values(total).reduce(add, zero());

/**
 * A line for each kind, and one for all: its sums, the units of a second on average over the last minute, and the dollars
 * of a month at this rate.
 */
export function lines() {
  const now = performance.now();
  const recent = seconds.filter(({ second }) => second > now / 1000 - WINDOW);
  const span = Math.max(1, Math.min(WINDOW, (now - began) / 1000));
  const line = (kind, sums, lately) => ({
    kind,
    ...sums,
    rate: (lately.read + lately.write) / span,
    month: ((lately.read * PRICES.read + lately.write * PRICES.write) / 1_000_000 / span) * MONTH,
  });
  const latelyOf = (kind) => recent.map(({ sums }) => sums[kind]).reduce(add, zero());
  const latest = KINDS.map(latelyOf);
  return [
    ...KINDS.map((kind, at) => line(kind, total[kind], latest[at])),
    line("all", sum(), latest.reduce(add, zero())),
  ];
}

/** The milliseconds until the API's responses began, ascending, without pages that waited. The log has these requests. */
export const latencies = () =>
  log
    .filter(({ status, target }) => status !== null && !target.startsWith("/local/") && !target.includes("&wait="))
    .map(({ milliseconds }) => milliseconds)
    .sort((one, other) => one - other);

/** The value that a share of all ascending values does not exceed. */
export const percentile = (values, share) => values[Math.max(0, Math.ceil(values.length * share) - 1)];
