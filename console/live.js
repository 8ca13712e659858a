// New events as they land, in the best way that the API offers: a stream of server-sent events, pages that wait for an event,
// or a poll every two seconds.
//
// `fetch` reads the stream, because it can send a token. A browser opens few connections to a host, so only some of its tabs
// have a stream or a page that waits, and only while they are visible. A panel reads its first page when its stream has
// begun, so no event in between is missed. A stream that is cut continues at the last position that it told; after a longer
// cut the panel reads its first page again.
//
// If the API does not respond, the page tries again after a wait that doubles, and says so (`onOutage`).

import { apiUrl, call, exactly, isLocal, isReachable, Problem, query, send, share } from "./api.js";
import { polling } from "./meter.js";
import { hear } from "./tabs.js";
import { task } from "./task.js";

const POLL = 2000;
const FIRST_WAIT = 500;
const LAST_WAIT = 8000;

/** The seconds that a page waits for an event. */
const PAGE_WAIT = 20;

/** The most events that a poll reads at once. */
const PAGE = 200;

/** The interval at which the local program is asked for its state. */
const STATE = 1000;

/** The most tabs of a browser that are live. A browser opens six connections to a host, and requests need some. */
const LIVE_TABS = 4;

/** A stream that sends nothing for longer, not even its position, has ended. */
const SILENCE = 25_000;

/** After a longer silence the panel reads its first page: a stream would send all that came since, one by one. */
const RESUMED = 60_000;

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
 * path of its pages and their filters (`type`, `from`). `landed(events, { answer, isLate })` gets new events: `answer` is the
 * response if they came with a page, whose `next` is the next cursor, and late events landed behind others. `newer()` returns
 * the cursor for such pages: `null` while there is no event, and `undefined` if there is nothing to ask for. A panel whose polls
 * would miss events has `again()`, which reads its first page instead.
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

/**
 * Opens a panel: does `work` as a task, and does it again until it has succeeded once, whenever the connection is back or
 * the user asks for it.
 */
export async function opening(place, signal, work) {
  let done = false;
  let attempt = null;
  const again = () => {
    if (!done) attempt ??= task(place, work, again).then((succeeded) => ([done, attempt] = [succeeded, null]));
    return attempt;
  };
  await again();
  if (!done && !signal.aborted) signal.addEventListener("abort", watch({ begin: again }));
}

/** Reads for a part of a panel, and again after each outage until the read has succeeded once. */
export async function untilRead(place, signal, read) {
  const ended = (resolve) => {
    const stop = onOutage((outage) => {
      if (outage === null) resolve(stop());
    });
    signal.addEventListener("abort", () => resolve(stop()));
  };
  while (!(await task(place, read)) && !signal.aborted) await new Promise(ended);
}

/** Begins again after the current event handler: the panel, the connection or the page's visibility has changed. */
export function restart() {
  clearTimeout(due);
  due = setTimeout(begin);
}

function begin() {
  running?.abort();
  isOpen = false;
  running = new AbortController();
  if (document.hidden) return leave();
  const { signal } = running;
  for (const work of [run, ...(isLocal() ? [tellState] : [])])
    work(signal).catch((error) => {
      if (!signal.aborted) throw error;
    });
}

/** The ways to follow a timeline that an API may lack, best first. */
const WAYS = [stream, waitForPages, poll];

/** The best way that each API offers. The page learns it from refused requests. */
const best = new WeakMap();

/** Follows the panel's timeline. If the API has not one way, it takes the next one. */
async function run(signal) {
  const wanted = panel;
  // Without a connection the panel still tries to read its first page, once.
  if (!isReachable()) wanted?.handlers.begin?.();
  if (!wanted?.follows) return attend(signal, wanted);
  const connection = share();
  const may = await mayHold();
  signal.throwIfAborted();
  if (!may) return poll(signal, wanted);
  for (let way = best.get(connection) ?? 0; ; way += 1) {
    best.set(connection, way);
    await WAYS[way](signal, wanted);
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

/** True while a stream is open. */
let isOpen = false;

// A refused request of any kind may mean that the stream has no topic or token any more. A new stream finds out.
addEventListener("ended", () => isOpen && restart());
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

const reach = (signal) => send("GET", "/topics?limit=1", { signal }).catch(() => signal.throwIfAborted());

/** Waits until the API responds. */
async function reached(signal) {
  for (let wait = FIRST_WAIT; !isReachable(); wait = longer(wait)) {
    await waiting(wait, signal);
    await reach(signal);
  }
}

/** Watches the connection for a panel that follows nothing, or whose request for events was refused. Never returns. */
async function attend(signal, wanted, how = "idle") {
  await reached(signal);
  connected(how);
  wanted?.handlers.begin?.();
  do await sleep(POLL, signal);
  while (isReachable());
  await reached(signal);
  restart();
  // What begins now replaces this.
  return new Promise(() => {});
}

/** True if the API does not have the route, and not only the timeline. */
const lacks = ({ status, code }) => [404, 405, 501].includes(status) && code !== "topic-not-found";

/** True if the same request will be refused again. */
const isRefusal = ({ status }) => status >= 400 && status < 500 && status !== 429;

/** The problem of a request that failed. Anything else is thrown on. */
function problemOf(error, signal) {
  signal.throwIfAborted();
  if (error instanceof Problem) return error;
  throw error;
}

/** Reads the stream of the panel's timeline. Returns if the API has no streams. */
async function stream(signal, wanted) {
  const { path, type } = wanted.follows;
  const target = `${path.replace(/\/events$/, "")}/live`;
  let [position, heard, wait, wasOpen, hasBegun] = [null, 0, FIRST_WAIT, false, false];
  const begin = () => {
    hasBegun = true;
    wanted.handlers.begin?.();
  };
  await reached(signal);
  for (;;) {
    if (Date.now() - heard > RESUMED) position = null;
    const asked = send("GET", `${target}${query({ type, cursor: position })}`, { signal, isLive: true });
    const response = await asked.catch((error) => problemOf(error, signal));
    if (response instanceof Problem) {
      if (lacks(response)) return;
      // Another API may respond, and only the address of its streams may not.
      if (response.status === 0 && !wasOpen && !isLocal()) {
        await reach(signal);
        if (isReachable()) return;
      }
      if (response.code === "invalid-cursor" && position !== null) position = null;
      else if (isRefusal(response)) return await attend(signal, wanted, "refused");
      else {
        if (!hasBegun) begin();
        await waiting(wait, signal);
        wait = longer(wait);
      }
      continue;
    }
    const wasOut = since !== null;
    connected("live");
    isOpen = true;
    if (position === null || wasOut) begin();
    const opened = Date.now();
    [wasOpen, heard] = [true, opened];
    await read(response, (name, data, id) => {
      heard = Date.now();
      if (name !== "problem") wait = FIRST_WAIT;
      if (id) position = id;
      if (name !== "event" && name !== "late") return;
      const event = exactly(data);
      // A stream begins with the events of the last seconds. They are not late.
      if (name === "event" && Date.parse(event.at) > opened) tell("behind", event.at);
      wanted.handlers.landed([event], { isLate: name === "late" });
    }).catch(reportError);
    isOpen = false;
    signal.throwIfAborted();
    tell("link", "waiting");
    await sleep(wait, signal);
    wait = longer(wait);
  }
}

/** Reads the messages of a stream until its end. An empty line ends a message; a line with a leading colon is a comment. */
async function read(response, message) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const silent = setTimeout(() => reader.cancel(), SILENCE);
    const { value, done } = await reader.read().catch(() => ({ done: true }));
    clearTimeout(silent);
    if (done) return;
    const blocks = (rest + value.replaceAll("\r", "")).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const fields = { event: [], data: [], id: [] };
      for (const line of block.split("\n")) {
        const [, name, text] = line.match(/^(\w+): ?(.*)$/) ?? [];
        fields[name]?.push(text);
      }
      if (fields.event.length > 0) message(fields.event[0], fields.data.join("\n"), fields.id[0]);
    }
  }
}

/** Asks for pages that wait until there is an event. Returns if the API's pages do not wait. */
function waitForPages(signal, wanted) {
  return ask(signal, wanted, "paged", PAGE_WAIT);
}

function poll(signal, wanted) {
  return ask(signal, wanted, "polling");
}

async function ask(signal, wanted, how, wait) {
  const { path, type, from } = wanted.follows;
  const { begin, newer, landed, again } = wanted.handlers;
  for (;;) {
    await reached(signal);
    connected(how);
    await begin?.();
    while (isReachable()) {
      const cursor = newer?.();
      if (!cursor || !wait) await sleep(POLL, signal);
      const anew = wait ? begin : (again ?? begin);
      if (cursor === null || (cursor && anew === again)) await polling(anew);
      signal.throwIfAborted();
      if (!cursor || anew === again) continue;
      const target = `${path}${query({ limit: PAGE, type, from, cursor, wait })}`;
      const asked = polling(() => call("GET", target, { signal }));
      const answer = await asked.catch((error) => problemOf(error, signal));
      if (!(answer instanceof Problem)) landed(answer.data.events, { answer });
      else if (wait && answer.code === "invalid-query") return;
      else if (answer.code === "invalid-cursor") await begin();
      else if (isRefusal(answer)) return await attend(signal, wanted, "refused");
      else if (isReachable()) await sleep(LAST_WAIT, signal);
    }
  }
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

function sleep(milliseconds, signal) {
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
