// New events as they land, in the best way that the API offers: a stream of server-sent events, pages that wait for an event,
// or a poll every two seconds. The TypeScript client follows (`client.js`), and this module sends its requests.
//
// A browser opens few connections to a host, so only some of its tabs have a stream or a page that waits, and only while they
// are visible. A panel reads its first page when the client has begun to follow, so no event in between is missed. A stream
// that is cut continues at its last position; after an outage or a sleep the panel reads its first page again.
//
// If the API does not respond, the page tries again after a wait that doubles, and says so (`onOutage`).

import { apiUrl, call, exactly, isLocal, isReachable, send, share } from "./api.js";
import { follow, LatelyProblem, Transport } from "./client.js";
import { polling } from "./meter.js";
import { hear } from "./tabs.js";
import { task } from "./task.js";

const POLL = 2000;
const FIRST_WAIT = 500;
const LAST_WAIT = 8000;

/** The interval at which the local program is asked for its state. */
const STATE = 1000;

/** The most tabs of a browser that are live. A browser opens six connections to a host, and requests need some. */
const LIVE_TABS = 4;

/** After a longer sleep the panel reads its first page: a stream would send all that came since, one by one. */
const SLEEP = 60_000;

let panel = null;
let running = null;
let due = 0;
let since = null;
const watchers = { state: new Set(), link: new Set(), outage: new Set(), behind: new Set() };

/** Calls `watcher` with the local program's state whenever it changes. */
export const onState = (watcher) => add(watchers.state, watcher);

/**
 * Calls `watcher` with the state of the connection: `live`, `paged` (live, with pages that wait), `polling`, `idle` (the panel
 * follows nothing), `refused` or `waiting`.
 */
export const onLink = (watcher) => add(watchers.link, watcher);

/**
 * Calls `watcher` before each wait for an API that does not respond, with `{ since, next, tryNow }`: when the connection was
 * lost, when the next attempt is, and a function that makes it now. After the outage it calls `watcher` with `null`.
 */
export const onOutage = (watcher) => add(watchers.outage, watcher);

/** Calls `watcher` with the time of each event that a stream delivers in order. */
export const onEvent = (watcher) => add(watchers.behind, watcher);

function add(watchers, watcher) {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

const tell = (kind, value) => watchers[kind].forEach((watcher) => watcher(value));

/**
 * Subscribes a panel. `begin()` reads its first page, also after an outage. A panel that follows a timeline or a feed names the
 * path of its pages, and a type. `landed(event, isLate)` gets each new event; late events landed behind others. `paid(cost)`
 * gets the price of each page that was polled. A panel whose polls would miss events has `again()`, which reads its first page
 * instead.
 */
export function watch(handlers, follows = null) {
  const mine = { handlers, follows };
  panel = mine;
  restart();
  return () => {
    if (panel === mine) panel = null;
    restart();
  };
}

/** Reads for a part of a panel, and again after each outage until the read has succeeded once. */
export async function untilRead(place, signal, read) {
  let done = false;
  const attempt = async () => {
    await read();
    done = true;
  };
  const ended = (resolve) => {
    const stop = onOutage((outage) => outage === null && resolve(stop()));
    signal.addEventListener("abort", () => resolve(stop()));
  };
  while (!done && !signal.aborted && !(await task(place, attempt))) await new Promise(ended);
}

/**
 * Ends what runs, and begins again after the current event handler: the panel, the connection or the page's visibility has
 * changed. Nothing that began with one connection goes on with another.
 */
export function restart() {
  running?.abort();
  clearTimeout(due);
  due = setTimeout(begin);
}

function begin() {
  opened = null;
  running = new AbortController();
  if (document.hidden) return leave();
  const { signal } = running;
  for (const work of [run, ...(isLocal() ? [tellState] : [])])
    work(signal).catch((error) => {
      if (!signal.aborted) throw error;
    });
}

/** What each API can do, as the client finds out from refused requests. */
const abilities = new WeakMap();

/** Follows the panel's timeline in the best way that this tab may use. */
async function run(signal) {
  const wanted = panel;
  // Without a connection the panel still tries to read its first page, once.
  if (!isReachable()) wanted?.handlers.begin?.();
  if (!wanted?.follows) return attend(signal, wanted);
  const { handlers, follows } = wanted;
  const can = abilities.get(share()) ?? { cost: {}, streams: true, waits: true };
  abilities.set(share(), can);
  const ways = (await mayHold()) ? can : { ...can, streams: false, waits: false };
  signal.throwIfAborted();
  if (!ways.waits && handlers.again) return readAgain(signal, handlers);
  const fetch = requests(signal, handlers, ways);
  const client = new Transport({ url: apiUrl(), attempts: Infinity, pollSeconds: POLL / 1000, parse: exactly, fetch }, ways);
  const routes = {
    live: `${follows.path.replace(/\/events$/, "")}/live`,
    page: (query) => ({ method: "GET", path: follows.path, query }),
  };
  try {
    for await (const { event, late } of follow(client, routes, { type: follows.type || undefined, signal })) {
      // A stream begins with the events of the last seconds. They are not late.
      if (opened && !late && Date.parse(event.at) > opened) tell("behind", event.at);
      handlers.landed(event, late || !ways.streams);
    }
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof LatelyProblem)) throw error;
    if (error.code === "invalid-cursor") return restart();
    return attend(signal, wanted, "refused");
  }
}

/** A `fetch` for the client. It waits while the API does not respond, and shows what a response says about the connection. */
function requests(signal, handlers, ways) {
  const base = new URL(apiUrl()).pathname.replace(/\/$/, "");
  let [hasBegun, wasOpen] = [false, false];
  return async (target, { signal: ends }) => {
    if (!isReachable()) {
      await reached(signal);
      return begun(signal);
    }
    const { pathname, search, searchParams } = target;
    const isLive = pathname.endsWith("/live");
    const get = () => send("GET", pathname.slice(base.length) + search, { signal: ends, isLive });
    opened = null;
    const { response, problem } = await (isLive ? get() : polling(get)).catch(async (error) => {
      signal.throwIfAborted();
      // An address of streams that does not respond is like none, if the API itself responds.
      if (!isLive || isLocal() || wasOpen || !(await reach(signal))) throw error;
      return { response: new Response("", { status: 404 }) };
    });
    if (response.ok) connected(isLive ? "live" : searchParams.has("wait") ? "paged" : "polling");
    else if (problem?.isTemporary) tell("link", "waiting");
    // From a position on, the panel has its first page.
    if (response.ok ? !searchParams.has("cursor") : problem?.isTemporary && !hasBegun) {
      hasBegun = true;
      handlers.begin?.();
    }
    if (isLive && response.ok) [opened, wasOpen] = [Date.now(), true];
    if (!isLive) handlers.paid?.(response.headers.get("Lately-Cost"));
    return response;
  };
}

/** Reads a panel's first page again and again, instead of the events that came. */
async function readAgain(signal, { begin, again }) {
  for (let read = begin; ; read = () => polling(again)) {
    await reached(signal);
    connected("polling");
    await read();
    await sleep(POLL, signal);
  }
}

let release = null;
let asked = Promise.resolve();

/** Takes one of the places that the browser's tabs share, and keeps it while the page is visible. */
function mayHold() {
  // A page at another host than this machine, without TLS, has no locks.
  if (!navigator.locks) return true;
  asked = asked.then(async () => {
    for (let number = 0; !release && number < LIVE_TABS; number += 1) await take(number);
    return release !== null;
  });
  return asked;
}

function take(number) {
  return new Promise((resolve) => {
    navigator.locks.request(`lately.live.${number}`, { ifAvailable: true }, (lock) => {
      const held = lock && new Promise((done) => (release = done));
      resolve();
      return held;
    });
  });
}

/** Leaves the place to another tab. */
function leave() {
  release?.();
  release = null;
}

document.addEventListener("visibilitychange", restart);

// A page that slept begins again.
let awake = Date.now();
setInterval(() => {
  if (Date.now() - awake > SLEEP) restart();
  awake = Date.now();
}, STATE);

/** The time at which the open stream was opened; `null` without one. */
let opened = null;

// A refused request may mean that the stream has no token or no topic any more. A new stream finds out.
addEventListener("refused", ({ detail: { code, path } }) => {
  const topic = code === "topic-not-found" && path.split(/[/?]/, 3).join("/");
  if (opened && (code === "invalid-token" || (topic && panel?.follows?.path.startsWith(`${topic}/`)))) restart();
});
hear("topic deleted", (address) => panel?.follows && `${apiUrl()}${panel.follows.path}` === `${address}/events` && restart());

function connected(how) {
  tell("link", how);
  if (since) tell("outage", null);
  since = null;
}

/** Waits for the next attempt. If the API does not respond at all, the user may make the attempt now. */
async function waiting(wait, signal) {
  tell("link", "waiting");
  if (isReachable()) return sleep(wait, signal);
  since ??= new Date();
  const pause = new AbortController();
  tell("outage", { since, next: new Date(Date.now() + wait), tryNow: () => pause.abort() });
  await sleep(wait, AbortSignal.any([signal, pause.signal])).catch(() => signal.throwIfAborted());
}

const longer = (wait) => Math.min(wait * 2, LAST_WAIT);

/** Asks the API whether it responds. */
async function reach(signal) {
  await send("GET", "/topics?limit=1", { signal }).catch(() => signal.throwIfAborted());
  return isReachable();
}

/** Waits until the API responds. */
async function reached(signal) {
  for (let wait = FIRST_WAIT; !isReachable(); wait = longer(wait)) {
    await waiting(wait, signal);
    await reach(signal);
  }
}

/** Begins again, which aborts the work of `signal`. Never returns. */
function begun(signal) {
  restart();
  return sleep(SLEEP, signal);
}

/** Watches the connection for a panel that follows nothing, or whose request for events was refused. Never returns. */
async function attend(signal, wanted, how = "idle") {
  await reached(signal);
  connected(how);
  wanted?.handlers.begin?.();
  do await sleep(POLL, signal);
  while (isReachable());
  await reached(signal);
  return begun(signal);
}

/** Asks the local program for its state, and tells what has changed. */
async function tellState(signal) {
  for (let [told, wait] = ["", STATE]; ; await sleep(wait, signal)) {
    const answer = await call("GET", "/local/state", { signal }).catch(() => signal.throwIfAborted());
    wait = answer ? STATE : longer(wait);
    const { now, ...state } = answer?.data ?? {};
    const text = JSON.stringify(state);
    if (answer && text !== told) tell("state", answer.data);
    told = text;
  }
}

export function sleep(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    signal.addEventListener("abort", stop, { once: true });
  });
}
