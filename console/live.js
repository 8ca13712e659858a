// What is new, as it lands: server-sent events from the local program, else a poll each two seconds.
//
// The stream is read by `fetch`, which can carry a token; there is one for the whole page, since a browser has few connections
// to a host. It ends while the page is hidden, and a panel reads its first page anew whenever it begins: so nothing is missed
// that came in between. Who is told `lost` was too slow, and begins again.

import { isLocal, query, send } from "./api.js";

const POLL = 2000;
const FIRST_WAIT = 500;
const LAST_WAIT = 8000;

let panel = null;
let running = null;
let due = 0;
const watchers = { state: new Set(), link: new Set() };

/** The system's state, whenever it changes. */
export const onState = (watcher) => add(watchers.state, watcher);

/** Whether the page hears what is new: `live`, `polling`, `waiting`. */
export const onLink = (watcher) => add(watchers.link, watcher);

function add(watchers, watcher) {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

const tell = (kind, value) => watchers[kind].forEach((watcher) => watcher(value));

/**
 * What a panel wants to be told of: a topic's events or a feed's entries.
 * `begin` reads its first page, `event`, `gone` and `feed` take what lands, `poll` asks, where there is no stream.
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

/** Begins again, once what happens now is over: the panel, the connection or the page's visibility has changed. */
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
      // Nothing to hear; what there is to read is read all the same, once.
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

/** Messages of a stream: lines up to an empty one; what begins with a colon says only that it goes on. */
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
