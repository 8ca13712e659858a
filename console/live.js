// New events as they land: server-sent events from the local program, or a poll every two seconds.
//
// `fetch` reads the stream, because it can send a token. The whole page shares one stream, because a browser opens few
// connections to a host. The stream ends while the page is hidden. A panel reads its first page again whenever a stream
// begins, so no event in between is missed. After the message `lost` the page was too slow, and begins a new stream.
//
// If the API does not respond, the page tries again after a wait that doubles, and says so (`onOutage`).

import { isLocal, isReachable, query, send } from "./api.js";
import { polling } from "./meter.js";
import { task } from "./task.js";

const POLL = 2000;
const FIRST_WAIT = 500;
const LAST_WAIT = 8000;

/** The most tabs of a browser that have a stream. A browser opens six connections to a host, and requests need some. */
const STREAMS = 4;

/** A stream that sends nothing for longer, not even a heartbeat, has ended. */
const SILENCE = 25_000;

let panel = null;
let running = null;
let due = 0;
let since = null;
const watchers = { state: new Set(), link: new Set(), outage: new Set() };

/** Calls `watcher` with the system's state whenever it changes. */
export const onState = (watcher) => add(watchers.state, watcher);

/** Calls `watcher` with the state of the connection: `live`, `polling` or `waiting`. */
export const onLink = (watcher) => add(watchers.link, watcher);

/**
 * Calls `watcher` before each wait for an API that does not respond, with `{ since, next, tryNow }`: when the connection was
 * lost, when the next attempt is, and a function that makes it now. After the outage it calls `watcher` with `null`.
 */
export const onOutage = (watcher) => add(watchers.outage, watcher);

function add(watchers, watcher) {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

const tell = (kind, value) => watchers[kind].forEach((watcher) => watcher(value));

/**
 * Subscribes a panel to a topic's events or a feed's entries. `begin` reads the panel's first page; `event`, `gone` and
 * `feed` get the messages; `poll` asks for new events if there is no stream.
 */
export function watch(handlers, { topic, feed } = {}) {
  const mine = { handlers, topic, feed };
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

/** Begins again after the current event handler: the panel, the connection or the page's visibility has changed. */
export function restart() {
  clearTimeout(due);
  due = setTimeout(begin);
}

function begin() {
  running?.abort();
  running = new AbortController();
  if (document.hidden) return leave();
  const { signal } = running;
  run(signal).catch((error) => {
    if (!signal.aborted) throw error;
  });
}

const run = async (signal) => (isLocal() && (await mayStream()) ? stream(signal) : poll(signal));

let release = null;
let asked = Promise.resolve();

/** Takes one of the streams that the browser's tabs share, and keeps it while the page is visible. */
function mayStream() {
  // A page at another host than this machine, without TLS, has no locks.
  if (!navigator.locks) return true;
  asked = asked.then(async () => {
    for (let number = 0; !release && number < STREAMS; number += 1) await take(number);
    return release !== null;
  });
  return asked;
}

function take(number) {
  return new Promise((resolve) => {
    navigator.locks.request(`lately.stream.${number}`, { ifAvailable: true }, (lock) => {
      const held = lock && new Promise((done) => (release = done));
      resolve();
      return held;
    });
  });
}

/** Leaves the stream to another tab. */
function leave() {
  release?.();
  release = null;
}

document.addEventListener("visibilitychange", restart);

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

async function stream(signal) {
  let wait = FIRST_WAIT;
  const wanted = panel;
  let target = `/local/live${query({ state: 1, topic: wanted?.topic, feed: wanted?.feed })}`;
  for (let begun = false; ; begun = true) {
    const response = await send("GET", target, { signal }).catch((error) => {
      signal.throwIfAborted();
      // No topic or user can have this name. The state comes without it.
      if (error.status === 400) target = "/local/live?state=1";
    });
    if (response) connected("live");
    // Without a stream the panel still tries to read its first page, once.
    if (response || !begun) wanted?.handlers.begin?.();
    if (response) {
      await read(response, (name, data) => deliver(wanted, name, data)).catch(reportError);
      signal.throwIfAborted();
      tell("link", "waiting");
      wait = FIRST_WAIT;
      await sleep(wait, signal);
    } else {
      await waiting(wait, signal);
      wait = longer(wait);
    }
  }
}

/** Hands a message to the panel. Returns false if messages were lost. */
function deliver(wanted, name, data) {
  if (name === "state") tell("state", JSON.parse(data));
  else wanted?.handlers[name]?.(data);
  return name !== "lost";
}

/**
 * Reads the messages of a stream until its end, or until `message` returns false. An empty line ends a message; a line with
 * a leading colon is a heartbeat.
 */
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
      const lines = block.split("\n");
      const data = lines.filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trimStart());
      const name = lines
        .find((line) => line.startsWith("event:"))
        ?.slice(6)
        .trim();
      if (name && !message(name, data.join("\n"))) return reader.cancel();
    }
  }
}

async function poll(signal) {
  for (;;) {
    for (let wait = FIRST_WAIT; !isReachable(); wait = longer(wait)) {
      await waiting(wait, signal);
      await send("GET", "/topics?limit=1", { signal }).catch(() => signal.throwIfAborted());
    }
    connected("polling");
    panel?.handlers.begin?.();
    do {
      if (isLocal()) await pollState(signal);
      await sleep(POLL, signal);
      await polling(() => panel?.handlers.poll?.());
    } while (isReachable());
  }
}

/** Asks for the state, which a stream sends by itself. */
async function pollState(signal) {
  const response = await send("GET", "/local/state", { signal }).catch(() => signal.throwIfAborted());
  if (response) tell("state", await response.json());
}

function sleep(milliseconds, signal) {
  return new Promise((resolve, reject) => {
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
