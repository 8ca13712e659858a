// New events as they land: server-sent events from the local program, or a poll every two seconds.
//
// `fetch` reads the stream, because it can send a token. The whole page shares one stream, because a browser opens few
// connections to a host. The stream ends while the page is hidden. A panel reads its first page again whenever a stream
// begins, so no event in between is missed. After the message `lost` the page was too slow, and begins a new stream.

import { isLocal, query, send } from "./api.js";

const POLL = 2000;
const FIRST_WAIT = 500;
const LAST_WAIT = 8000;

let panel = null;
let running = null;
let due = 0;
const watchers = { state: new Set(), link: new Set() };

/** Calls `watcher` with the system's state whenever it changes. */
export const onState = (watcher) => add(watchers.state, watcher);

/** Calls `watcher` with the state of the connection: `live`, `polling` or `waiting`. */
export const onLink = (watcher) => add(watchers.link, watcher);

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

/** Begins again after the current event handler: the panel, the connection or the page's visibility has changed. */
export function restart() {
  clearTimeout(due);
  due = setTimeout(begin);
}

function begin() {
  running?.abort();
  running = new AbortController();
  if (document.hidden) return;
  const { signal } = running;
  (isLocal() ? stream(signal) : poll(signal)).catch((error) => {
    if (!signal.aborted) throw error;
  });
}

document.addEventListener("visibilitychange", restart);

async function stream(signal) {
  let wait = FIRST_WAIT;
  const wanted = panel;
  const target = `/local/live${query({ state: 1, topic: wanted?.topic, feed: wanted?.feed })}`;
  for (let begun = false; !signal.aborted; wait = Math.min(wait * 2, LAST_WAIT)) {
    try {
      const response = await send("GET", target, { signal });
      tell("link", "live");
      wanted?.handlers.begin?.();
      begun = true;
      wait = FIRST_WAIT;
      await read(response, (name, data) => deliver(wanted, name, data));
    } catch (error) {
      if (signal.aborted) return;
      // There is no stream. The panel still tries to read its first page, once.
      if (!begun) wanted?.handlers.begin?.();
      begun = true;
    }
    tell("link", "waiting");
    await sleep(wait, signal);
  }
}

function deliver(wanted, name, data) {
  if (name === "state") tell("state", JSON.parse(data));
  else if (name === "lost") throw new Error("too slow");
  else wanted?.handlers[name]?.(data);
}

/** Reads the messages of a stream. An empty line ends a message; a line with a leading colon is a heartbeat. */
async function read(response, message) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
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
      if (name) message(name, data.join("\n"));
    }
  }
}

async function poll(signal) {
  tell("link", "polling");
  panel?.handlers.begin?.();
  while (!signal.aborted) {
    await sleep(POLL, signal);
    await panel?.handlers.poll?.();
  }
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
