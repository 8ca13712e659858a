// The guided fault: it throttles the partition of its own posts, continues to post, and shows the bucket double its
// shards.
//
// The load is small and ends: `EVENTS` posts, `RATE` per second. Each post has an `Idempotency-Key`, so a refused post
// can be retried and is written once. At the end all events are read back and counted, so the page proves that none is
// lost. A run goes on while the user looks at other panels, and stops if the page connects to another API.

import { call, isLocal, pages, path, query } from "./api.js";
import { Chart } from "./chart.js";
import { announce, button, card, div, el, figure, p, tile } from "./dom.js";
import { cost, count, plural, seconds } from "./format.js";
import { pressed } from "./task.js";

const TOPIC = "posts";
const TYPE = "load.tick";
const EVENTS = 200;
const RATE = 20;
const THROTTLE_SECONDS = 3;

/** The most attempts for a post. The throttle ends long before the last. */
const ATTEMPTS = 10;
const PAUSE = 1000;

const POINTS = 120;
const SECONDS = 20;

let section = null;

/** The card of the guided fault. The page has one, so that a panel that is opened again shows the run. */
export function heal() {
  section ??= make();
  return section;
}

function make() {
  const start = el("button", { type: "button", class: "primary" }, "Throttle and watch it heal");
  const stop = button("Stop", () => run.stop(), { hidden: true });
  const steps = el("ol", { class: "steps" });
  const shown = div("tiles");
  const made = card(
    "Watch a hot partition recover",
    p(
      "muted",
      `Posts ${EVENTS} events to ${TOPIC}, ${RATE} per second, and throttles their partition for ${THROTTLE_SECONDS} seconds. It goes on while you look at other panels. The bucket keeps its new shards for a minute. Later events, and pages of them, need only its base shards again.`,
    ),
    div("actions", start, stop),
    shown,
    steps,
  );
  made.classList.add("heal");
  let run = null;
  start.addEventListener("click", async () => {
    run = new Run(shown, steps);
    stop.hidden = false;
    await pressed(start, made, () => run.run());
    stop.hidden = true;
  });
  return made;
}

class Run {
  #accepted = 0;
  #again = 0;
  #refused = 0;
  #slowest = 0;
  #shards = [];
  #stopped = new AbortController();

  constructor(shown, steps) {
    Object.assign(this, { steps, signal: this.#stopped.signal, run_id: crypto.randomUUID() });
    this.latency = new Chart({ points: POINTS, least: 50 });
    this.growth = new Chart({ points: SECONDS, least: 4 });
    this.figures = { accepted: figure(), latency: figure(), shards: figure() };
    this.notes = { accepted: p("muted"), latency: p("muted") };
    shown.replaceChildren(
      tile("Accepted", this.figures.accepted, this.notes.accepted),
      tile("Latency of a post", this.figures.latency, this.latency.element, this.notes.latency),
      tile("Shards of the bucket", this.figures.shards, this.growth.element),
    );
    steps.replaceChildren();
  }

  stop() {
    this.#stopped.abort();
    this.#step(`Stopped after ${plural(this.#accepted, "accepted event")}.`);
  }

  async run() {
    const began = new Date();
    const before = await this.#pageCost();
    const label = began.toISOString().slice(0, 10);
    const shards = await this.#shardsOf(label);
    this.#step(`The bucket ${label} has ${plural(shards, "shard")}.`);
    const look = () => this.#look(label).catch((error) => this.signal.aborted || this.#step(error.detail));
    const watching = setInterval(look, PAUSE);
    try {
      await Promise.all(await this.#post(label));
    } finally {
      clearInterval(watching);
    }
    await this.#look(label);
    await this.#readBack(began, shards);
    this.#step(`A page of 50 events of ${TOPIC} took ${before} before, and takes ${await this.#pageCost()} now, while the bucket has its new shards.`);
  }

  #page(parameters) {
    return `${path("topics", TOPIC)}/events${query(parameters)}`;
  }

  async #pageCost() {
    const { cost: paid } = await call("GET", this.#page({ limit: 50 }), { signal: this.signal });
    return cost({ cost: paid });
  }

  #step(text, good = false) {
    this.steps.append(el("li", { class: good ? "good" : null }, text));
    announce(text);
  }

  /** The shards of a bucket. The run uses the same bucket all the time, also after its day has ended. */
  async #shardsOf(label) {
    const { buckets } = (await call("GET", path("local", "storage", "topics", TOPIC), { signal: this.signal })).data;
    return buckets.find((it) => it.label === label)?.shards ?? 1;
  }

  async #look(label) {
    const shards = await this.#shardsOf(label);
    const last = this.#shards.at(-1);
    if (last !== undefined && shards > last)
      this.#step(`Writes were throttled: the bucket has grown from ${last} to ${shards} shards.`);
    this.#shards.push(shards);
    this.growth.add(shards);
    this.figures.shards.textContent = count(shards);
  }

  /** Starts all posts, and throttles their partition after the first second. Returns the promises of the posts. */
  async #post(label) {
    const posts = [];
    for (let number = 0; number < EVENTS; number += 1) {
      if (number === RATE) {
        const partition = `EVENTS#${TOPIC}#${label}#SHARD0`;
        const body = { throttles: [{ partition, chance: 1, seconds: THROTTLE_SECONDS }] };
        await call("PUT", "/local/faults", { body, signal: this.signal });
        this.#step(`${partition} is throttled for ${THROTTLE_SECONDS} seconds.`);
      }
      if (!isLocal()) this.stop();
      this.signal.throwIfAborted();
      posts.push(this.#one(number));
      await new Promise((resolve) => setTimeout(resolve, 1000 / RATE));
    }
    return posts;
  }

  async #one(number) {
    const began = performance.now();
    const body = { type: TYPE, actor: "load", data: { number, run: this.run_id } };
    const headers = { "Idempotency-Key": `${this.run_id}-${number}` };
    for (let attempt = 1; ; attempt += 1) {
      try {
        await call("POST", `${path("topics", TOPIC)}/events`, { body, headers, signal: this.signal });
        break;
      } catch (error) {
        if (this.signal.aborted) return;
        if (error.status !== 503 || attempt === ATTEMPTS) {
          this.#refused += 1;
          return this.#step(`Post ${number} was refused: ${error.detail}`);
        }
        this.#again += 1;
        await new Promise((resolve) => setTimeout(resolve, PAUSE));
      }
    }
    this.#accepted += 1;
    this.#took(performance.now() - began);
  }

  #took(milliseconds) {
    this.#slowest = Math.max(this.#slowest, milliseconds);
    this.latency.add(milliseconds);
    this.figures.latency.textContent = seconds(milliseconds / 1000);
    this.notes.latency.textContent = `slowest ${seconds(this.#slowest / 1000)}`;
    this.figures.accepted.textContent = `${count(this.#accepted)} of ${count(EVENTS)}`;
    this.notes.accepted.textContent = `${count(this.#again)} retried, ${count(this.#refused)} refused`;
  }

  async #readBack(began, before) {
    const found = [];
    const from = new Date(began.getTime() - 5000).toISOString();
    const page = (cursor) => this.#page({ type: TYPE, from, limit: 200, consistent: true, cursor });
    // At most one page per event: others may have posted events of the same type meanwhile.
    for await (const { data } of pages(page, EVENTS, this.signal))
      for (const event of data.events) if (event.data.run === this.run_id) found.push(event.data.number);
    const whole = found.length === EVENTS && new Set(found).size === EVENTS;
    const after = this.#shards.at(-1);
    const healed = `Healed: all ${count(EVENTS)} events were accepted and read back, each once. Shards: ${before} before, ${after} now.`;
    this.#step(whole ? healed : `${count(found.length)} of ${count(EVENTS)} events were read back.`, whole);
  }
}
