// The timeline of a topic: its events, newest first.
//
// Scrolling reads further pages, new events appear on top, and the cost of each read is shown above the list. With an
// end time (`to`) the list does not change, and new events are only counted. With a filter, only a button reads on: few
// matches would otherwise read the whole topic.
//
// While the user pauses the list or has an event open, the list holds still, as it does while the user points at it. Then
// new events wait, and their number is shown.

import { note, parse } from "./address.js";
import { apiUrl, call, isLocal, path, query, topics } from "./api.js";
import { Arrivals } from "./arrivals.js";
import { Columns } from "./columns.js";
import { composer, learn, typesOf } from "./compose.js";
import { copiesOf, copyButton, csv, curl, lately, ndjson, saveButton } from "./copy.js";
import { announce, button, el, empty, field, form, heading, select, suggested, suggestions } from "./dom.js";
import { deletion, eventDetail, eventRow } from "./event.js";
import { FilterFields, matcher } from "./filter.js";
import { cost, count, parseCost, plural, units } from "./format.js";
import { Histogram } from "./histogram.js";
import { Hues } from "./hues.js";
import { List } from "./list.js";
import { opening, watch } from "./live.js";
import { polling } from "./meter.js";
import { rangeForm, rangeOf, spans } from "./range.js";
import { hear, tell } from "./tabs.js";
import { pressed, task } from "./task.js";
import { views } from "./views.js";

const FIRST_PAGE = 100;
const PAGE = 200;

/** The most events that the list keeps. An end time shows older ones. */
const MOST = 20_000;

/** The interval at which the open event is looked for again. */
const AGAIN = 3000;

/** The least milliseconds between two drawings of the histogram. */
const SKETCH = 500;

/** True while the filter's fields are open. They stay open when the range changes. */
let isRefining = false;

export async function open(place, parameters, signal) {
  place.append(heading("Timeline", ...lead()));
  await opening(place, signal, async () => {
    const known = await topics(signal);
    const [type, event] = ["type", "event"].map((name) => parameters.get(name) ?? "");
    const topic = parameters.get("topic") ?? (known.includes("posts") ? "posts" : known[0]);
    if (topic === undefined) place.append(empty("There are no topics yet.", el("a", { href: "#topics" }, "Create one.")));
    else new Timeline(place, { topic, known, type, event, ...rangeOf(parameters) }, parameters, signal).start();
  });
}

function lead() {
  const local = [
    "Post something → ",
    el("a", { href: "#feeds" }, "follow someone"),
    " → ",
    el("a", { href: "#faults" }, "break a partition"),
    " and watch it heal.",
  ];
  return ["The events of a topic, newest first. New events appear as they arrive. ", ...(isLocal() ? local : [])];
}

class Timeline {
  #next = null;
  #newer = null;
  #loading = false;
  /** True when the first page has been read. */
  #begun = false;
  #cut = false;
  /** Changes that were shown during the read of a newest page. The page may lack them, so they are shown again. */
  #meanwhile = null;
  #fresh = new Set();
  /** The ids of the events since the end time. */
  #later = new Set();
  #paused = false;
  #opened = null;
  /** True if the connection was lost while the list held still: the newest page must be read. */
  #stale = false;
  /** The filter of what was read: `null`, or a function of an event. */
  #matches;
  /** The same without the chosen types. */
  #matchesType;
  /** The number of reads, and the sum of their read units. */
  #reads = 0;
  #spent = 0;
  #sketching = 0;
  #looking = 0;

  constructor(place, chosen, parameters, signal) {
    Object.assign(this, { place, chosen, parameters, signal });
    const given = Object.fromEntries(parameters);
    this.#setFilter(given);
    this.hues = new Hues();
    this.filter = new FilterFields(given, (values) => this.#filter(values));
    this.columns = new Columns(given.columns, (columns) => {
      note({ columns });
      this.list.rebuild();
    });
    const choose = (from, to) => this.#go({ from, to, last: null });
    this.range = rangeForm(parameters, choose, () => {
      this.list.rebuild();
      this.#sketch();
    });
    const toggle = (types) => this.#filter({ types });
    this.histogram = new Histogram({ types: given.types, choose, toggle, hues: this.hues });
    this.tally = el("span", {}, "Loading…");
    this.older = button("Load older", () => this.#read(), { class: "as-link", hidden: true });
    this.pause = button("Pause", () => this.#pauseOrResume(), { class: "as-link" });
    this.pill = button("", () => this.#toNewest(), { class: "pill" });
    this.price = el("span", { class: "price" });
    this.found = el("div", { class: "said" });
    this.composer = composer({ topic: chosen.topic, posted: (event) => this.#landed([event]), signal });
    this.side = el("div", { class: "side-detail" });
    this.list = new List({
      label: `Events of ${chosen.topic}`,
      row: eventRow,
      fill: (row, event) => this.columns.fill(row, event, { hues: this.hues, fresh: this.#fresh.delete(event.id) }),
      key: (event) => event.id,
      open: (event) => this.#open(event),
      moved: (event) => this.#opened && this.#open(event, { focus: false }),
      more: () => this.#next !== null,
      nearEnd: () => this.#next && !this.#matches && this.#read(),
      scrolled: () => this.arrivals.settle(),
      most: MOST,
    });
    this.list.element.hidden = true;
    if (this.#matches) this.list.filter(this.#matches);
    this.arrivals = new Arrivals(this.list, {
      head: this.columns.head,
      // A stream begins with the events of the last seconds. They come with the first page.
      isHeld: () => this.#paused || this.#opened !== null || (this.#loading && !this.#begun),
      apply: (changes) => this.#release(changes),
      told: (events) => this.#showHeld(events),
    });
    this.holder = this.arrivals.element;
  }

  start() {
    const { topic, event } = this.chosen;
    this.place.append(
      el("div", { class: "toolbar" }, this.#filters(), this.#finder()),
      this.found,
      el("div", { class: "card" }, this.composer.element),
      el("div", { class: "status" }, this.tally, this.older, this.pause, this.pill, this.#copies(), this.#refining(), this.price),
      this.histogram.element,
      el("div", { class: "with-detail" }, this.holder, this.side),
    );
    const { type, from } = this.chosen;
    const handlers = {
      begin: () => this.#begin(),
      landed: (events, how) => this.#landed(events, how),
      // Before the first page there is nothing to continue; a list with an end time only counts.
      newer: () => (this.#begun && !this.chosen.to ? this.#newer : undefined),
    };
    const follows = { path: `${path("topics", topic)}/events`, type, from };
    // A list with an end time does not change, so nothing is live.
    this.signal.addEventListener("abort", watch(handlers, this.chosen.to ? null : follows));
    hear("gone", (address) => address.startsWith(this.#address("")) && this.#gone(address.split("/").at(-1)), this.signal);
    if (event) this.#openById(event);
  }

  #filters() {
    const { topic, known, type, to } = this.chosen;
    const names = known.includes(topic) ? known : [topic, ...known];
    const which = select(names, topic, { onchange: () => (location.hash = `timeline${query({ topic: which.value })}`) });
    const only = (this.only = suggested(typesOf(topic), { value: type, placeholder: "all" }));
    return form(
      { "aria-label": "Filters" },
      () => this.#go({ type: only.value.trim() }),
      field("Topic", which),
      field("Type", only),
      el("button", { type: "submit" }, "Show"),
      spans(this.signal),
      to && button("Back to now", () => this.#go({ to: "" })),
      type && button("All types", () => this.#go({ type: "" })),
    );
  }

  /** Reads the events of a changed address. */
  #go(changed) {
    const given = Object.fromEntries(parse(location.hash).parameters);
    location.hash = `timeline${query({ ...given, topic: this.chosen.topic, event: null, ...changed })}`;
  }

  #setFilter(given) {
    this.#matches = matcher(given);
    this.#matchesType = matcher({ ...given, types: "" });
  }

  /** Shows those of the events that were read that pass another filter. */
  #filter(values) {
    note(values);
    this.#setFilter(Object.fromEntries(parse(location.hash).parameters));
    this.list.filter(this.#matches ?? (() => true));
    this.#showTally();
    if (this.#matches) announce(this.tally.textContent);
    this.arrivals.settle();
  }

  /** The controls that are not always needed. */
  #refining() {
    const isUsed = ["actor", "subject", "where", "columns"].some((name) => this.parameters.has(name));
    return el(
      "details",
      { class: "refining", open: isUsed || isRefining, ontoggle: ({ target }) => (isRefining = target.open) },
      el("summary", {}, "Range, filter, columns, views"),
      el("div", { class: "refining-parts" }, this.range, this.filter.element, this.columns.field, views(this.signal)),
    );
  }

  #finder() {
    const id = el("input", { required: true, autocomplete: "off", spellcheck: "false" });
    const go = el("button", { type: "submit" }, "Open");
    return form(
      { "aria-label": "One event" },
      () => pressed(go, this.found, () => this.#show(id.value.trim())),
      field("Event id", id),
      go,
    );
  }

  #copies() {
    const { topic, type, from, to } = this.chosen;
    const target = `${path("topics", topic)}/events${query({ type, from, to, limit: FIRST_PAGE })}`;
    return el(
      "details",
      { class: "copies" },
      el("summary", {}, "Copy, save"),
      copyButton("Copy as curl", () => curl(target)),
      copyButton("Copy as lately latest", () => lately("latest", topic, { type, from, to, n: String(FIRST_PAGE) })),
      copyButton("Copy as JSON", () => JSON.stringify(this.list.items, null, 2)),
      saveButton("Save as NDJSON", `${topic}.ndjson`, () => ndjson(this.list.items)),
      saveButton("Save as CSV", `${topic}.csv`, () => csv(this.list.items)),
    );
  }

  /** Reads the newest page of a new connection, or remembers to do so when the list need not hold still. */
  async #begin() {
    this.#stale = this.arrivals.isHeld && this.list.all.length > 0;
    if (!this.#stale) await this.#first();
  }

  /** Reads the newest page. An older list stays below it, unless more new events came than a page holds. */
  async #first() {
    this.#stale = false;
    const meanwhile = (this.#meanwhile = []);
    const take = ({ events, newer, next }) => {
      this.#begun = true;
      this.#newer = newer;
      if (events.some((event) => this.list.all.has(event.id))) this.list.align(events);
      else {
        this.#next = next;
        this.#cut = false;
        this.list.set(events);
      }
      this.#apply(meanwhile);
      if (this.#opened) this.list.choose(this.#opened.id);
    };
    await this.#page({ limit: FIRST_PAGE }, take, () => this.#first());
    if (this.#meanwhile === meanwhile) this.#meanwhile = null;
  }

  /** True if the list keeps no more events, or had to drop some. */
  get #isFull() {
    this.#cut ||= this.list.all.length >= MOST;
    return this.#cut;
  }

  #read() {
    if (this.#loading || this.#isFull) return;
    const cursor = this.#next;
    const take = ({ events, next }) => {
      // The list may have been replaced meanwhile.
      if (this.#next !== cursor) return;
      this.#next = next;
      this.list.append(events);
    };
    this.#page({ limit: PAGE, cursor }, take, () => this.#read());
  }

  async #page(more, take, again) {
    const { topic, type, from, to } = this.chosen;
    this.#loading = true;
    const done = await task(
      this.holder,
      async () => {
        const target = `${path("topics", topic)}/events${query({ type, from, to, ...more })}`;
        const answer = await call("GET", target, { signal: this.signal });
        const events = answer.data.events.map((event) => ({ topic, ...event }));
        this.hues.learn(events);
        take({ ...answer.data, events });
        this.#showPrice(answer);
        this.#suggest();
        this.#showTally();
      },
      again,
    );
    if (!done && !this.#begun) this.tally.textContent = "";
    this.#loading = false;
    this.arrivals.settle();
  }

  /** Suggests the types, actors, subjects and fields of the events that were read. */
  #suggest() {
    const events = this.list.all.items;
    learn(events);
    suggestions(this.only, typesOf(this.chosen.topic));
    this.filter.suggest(events);
    this.columns.offer(events);
  }

  #showPrice(answer) {
    this.#reads += 1;
    this.#spent += parseCost(answer.cost)?.read_units ?? Number.NaN;
    const sum = this.#reads > 1 && this.#sum ? ` · ${plural(this.#reads, "read")}: ${this.#sum}` : "";
    this.price.textContent = `last read: ${cost(answer)}${sum}`;
  }

  /** The price of all reads in words, if the API shows its cost. */
  get #sum() {
    return Number.isNaN(this.#spent) ? "" : `${units(this.#spent)} read units so far`;
  }

  #showTally() {
    const { length, all } = this.list;
    this.list.element.hidden = length === 0;
    this.#sketch();
    if (!this.#begun) return;
    this.holder.querySelector(".empty")?.remove();
    if (length === 0) this.holder.append(this.#nothing());
    const end = this.#isFull ? ": choose an earlier time to see older ones" : this.#next ? "" : " in all";
    this.tally.textContent = this.#matches
      ? `${count(length)} of ${count(all.length)} read match`
      : `${plural(length, "event")}${end}`;
    this.older.hidden = this.#isFull || !this.#next;
    this.older.textContent = this.#matches && this.#sum ? `Load older (${this.#sum})` : "Load older";
  }

  #nothing() {
    const { type, from, to } = this.chosen;
    if (this.list.all.length > 0)
      return empty("No event matches.", this.#next ? "Change the filter, or load older events." : "Change the filter.");
    const isNarrow = type || from || to;
    return empty(
      "No events here.",
      isNarrow ? "No event matches the filters above. A type must match as a whole." : "Post the first event above.",
    );
  }

  /** Draws the histogram soon. It is first drawn before the rows, so that it does not move them. */
  #sketch() {
    if (!this.histogram.isDrawn) return this.#draw();
    this.#sketching ||= setTimeout(() => {
      this.#sketching = 0;
      this.#draw();
    }, SKETCH);
  }

  #draw() {
    const { from, to } = this.chosen;
    const { items: shown, all } = this.list;
    const typed = this.#matchesType ? all.items.filter(this.#matchesType) : all.items;
    this.histogram.draw({ all: all.items, typed, shown, from, to, isMore: this.#next !== null || this.#cut });
  }

  /** Takes new events. `answer` is the response if they came with a page. */
  #landed(events, { answer } = {}) {
    const { topic, type, from, to } = this.chosen;
    if (answer) {
      this.#newer = answer.data.next;
      this.#showPrice(answer);
    }
    const isIn = ({ at }) => !from || Date.parse(at) >= Date.parse(from);
    for (const event of events.filter((event) => (!type || event.type === type) && isIn(event))) {
      if (to) this.#later.add(event.id);
      // Both streams and pages may repeat events that are shown already.
      else if (!this.list.all.has(event.id)) this.arrivals.add(event.id, { topic, ...event });
    }
    if (to) this.arrivals.soon();
  }

  #gone(id) {
    if (this.#opened?.id === id) this.#tellDeleted();
    this.arrivals.add(id, null);
  }

  /** Names an event of the topic among all APIs. */
  #address(id) {
    return apiUrl() + path("topics", this.chosen.topic, "events", id);
  }

  #release(changes) {
    if (changes.length > 0) this.#apply(changes);
    this.#meanwhile?.push(...changes);
    if (this.#stale) this.#first();
  }

  #apply(changes) {
    // Events older than all that were read come with a later page.
    const least = this.#next ? (this.list.all.last?.id ?? "") : "";
    const events = changes.map(([, event]) => event).filter((event) => event && event.id > least);
    this.hues.learn(events);
    this.#fresh = new Set(events.filter(({ id }) => !this.list.all.has(id)).map(({ id }) => id));
    this.list.merge(events);
    for (const [id, event] of changes) if (event === null) this.list.remove(id);
    this.#showTally();
  }

  #showHeld(events) {
    const waiting = this.#matches ? events.filter(this.#matches) : events;
    const held = this.#begun ? this.#later.size + waiting.filter(({ id }) => !this.list.all.has(id)).length : 0;
    const text = held === 0 ? "" : `${count(held)} new`;
    if (this.pill.textContent !== text) this.pill.textContent = text;
  }

  #pauseOrResume() {
    this.#paused = !this.#paused;
    this.pause.textContent = this.#paused ? "Resume" : "Pause";
    announce(this.#paused ? "Paused. New events are counted." : "Resumed.");
    this.arrivals.settle();
  }

  #toNewest() {
    if (this.chosen.to) this.#go({ to: "" });
    else {
      this.arrivals.release();
      this.list.toTop();
      this.list.element.focus();
    }
  }

  #openById(id) {
    return task(this.found, () => this.#show(id));
  }

  async #show(id) {
    const { topic } = this.chosen;
    const answer = await call("GET", path("topics", topic, "events", id), { signal: this.signal });
    this.list.choose(id);
    this.#open({ topic, ...answer.data });
  }

  #open(event, { focus = true } = {}) {
    this.#opened = event;
    note({ event: event.id });
    const close = () => {
      this.#opened = null;
      note({ event: null });
      this.side.replaceChildren();
      this.list.element.focus();
      this.arrivals.settle();
    };
    const target = path("topics", event.topic, "events", event.id);
    const actions = [
      isLocal() && el("a", { href: `#storage${query({ topic: event.topic, event: event.id })}` }, "Show stored items"),
      isLocal() &&
        el(
          "a",
          { href: `#storage${query({ topic: event.topic, trace: `${path("topics", event.topic)}/events?limit=50` })}` },
          "Trace a read of its topic",
        ),
      button("Post again…", () => this.composer.fill(event), { class: "as-link" }),
      deletion(event, this.side, () => this.#delete(event.id, target, close)),
    ];
    const step = (rows) => {
      const next = this.list.step(rows);
      if (next) this.#open(next);
    };
    this.side.replaceChildren(
      eventDetail(event, { actions, copies: copiesOf(event, target), onclose: close, step }),
    );
    if (focus) this.side.querySelector("h2").focus({ preventScroll: true });
    if (isLocal()) this.#lookAgain(event.id, target);
  }

  /** Finds out whether others deleted the open event, which no stream tells. Only the local program is asked again. */
  async #lookAgain(id, target) {
    clearTimeout(this.#looking);
    this.#looking = setTimeout(async () => {
      if (this.signal.aborted || this.#opened?.id !== id) return;
      const found = document.hidden || (await polling(() => call("GET", target, { signal: this.signal })).catch((error) => error));
      if (found.code === "event-not-found") this.#gone(id);
      else this.#lookAgain(id, target);
    }, AGAIN);
  }

  async #delete(id, target, close) {
    await call("DELETE", target, { signal: this.signal });
    tell("gone", this.#address(id));
    close();
    this.#gone(id);
    this.arrivals.release();
  }

  #tellDeleted() {
    this.side.querySelector(".deletion")?.replaceChildren(el("p", { class: "bad" }, "This event was deleted."));
    announce("This event was deleted.");
  }
}
