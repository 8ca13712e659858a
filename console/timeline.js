// The timeline of a topic: its events, newest first.
//
// Scrolling reads further pages, new events appear on top, and the cost of each read is shown above the list. With an
// end time (`to`) the list does not change, and new events are only counted.
//
// New events are gathered and shown once a frame, so any rate costs the same. While the user pauses the list, reads or
// points at it, or has an event open, the list holds still: a row must not move away from under a click. Then new
// events wait, and their number is shown.

import { note } from "./address.js";
import { call, exactly, isLocal, path, query, topics } from "./api.js";
import { composer, typesOf } from "./compose.js";
import { copiesOf, copyButton, curl, lately } from "./copy.js";
import { announce, button, el, empty, field, form, heading, select, suggested, suggestions } from "./dom.js";
import { eventDetail, eventRow, fillRow } from "./event.js";
import { cost, count, plural, time } from "./format.js";
import { List } from "./list.js";
import { opening, watch } from "./live.js";
import { pressed, task } from "./task.js";

const FIRST_PAGE = 100;
const PAGE = 200;

/** The most events that the list keeps. An end time shows older ones. */
const MOST = 20_000;

export async function open(place, parameters, signal) {
  place.append(heading("Timeline", ...lead()));
  await opening(place, signal, async () => {
    const known = await topics(signal);
    const [type, to, event] = ["type", "to", "event"].map((name) => parameters.get(name) ?? "");
    const topic = parameters.get("topic") ?? (known.includes("posts") ? "posts" : known[0]);
    if (topic === undefined) place.append(empty("There are no topics yet.", "Create one with PUT /topics/{topic}."));
    else new Timeline(place, { topic, known, type, to, event }, signal).start();
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
  return ["The events of a topic, newest first. New events appear as they land. ", ...(isLocal() ? local : [])];
}

class Timeline {
  #next = null;
  #newer = null;
  #loading = false;
  /** True when the first page has been read. */
  #begun = false;
  #cut = false;
  /** New events that are not shown yet, by their ids; `null` stands for a deletion. */
  #waiting = new Map();
  #frame = 0;
  /** Changes that were shown during the read of a newest page. The page may lack them, so they are shown again. */
  #meanwhile = null;
  #fresh = new Set();
  /** The number of events since the end time. */
  #later = 0;
  #paused = false;
  #pointed = false;
  #opened = null;
  /** True if the connection was lost while the list held still: the newest page must be read. */
  #stale = false;

  constructor(place, chosen, signal) {
    Object.assign(this, { place, chosen, signal });
    this.tally = el("span", {}, "Loading…");
    this.older = button("Load older", () => this.#read(), { class: "as-link", hidden: true });
    this.pause = button("Pause", () => this.#pauseOrResume(), { class: "as-link" });
    this.pill = button("", () => this.#toNewest(), { class: "pill" });
    this.price = el("span", { class: "price" });
    this.found = el("div", { class: "said" });
    this.side = el("div", { class: "side-detail" });
    this.list = new List({
      label: `Events of ${chosen.topic}`,
      row: eventRow,
      fill: (row, event) => fillRow(row, event, { fresh: this.#fresh.delete(event.id) }),
      key: (event) => event.id,
      open: (event) => this.#open(event),
      moved: (event) => this.#opened && this.#open(event, { focus: false }),
      more: () => this.#next !== null,
      nearEnd: () => this.#next && this.#read(),
      scrolled: () => this.#settle(),
      most: MOST,
    });
    this.list.element.hidden = true;
    this.holder = el(
      "div",
      {
        class: "list-holder",
        onpointerenter: () => (this.#pointed = true),
        onpointerleave: () => {
          this.#pointed = false;
          this.#settle();
        },
        onfocusout: () => this.#settle(),
      },
      this.list.element,
    );
  }

  start() {
    const { topic, event } = this.chosen;
    this.place.append(
      el("div", { class: "toolbar" }, this.#filters(), this.#finder()),
      this.found,
      el("div", { class: "card" }, composer({ topic, posted: (event) => this.#landed([event]), signal: this.signal })),
      el("div", { class: "status" }, this.tally, this.older, this.pause, this.pill, this.#copies(), this.price),
      el("div", { class: "with-detail" }, this.holder, this.side),
    );
    const handlers = {
      begin: () => this.#begin(),
      event: (data) => this.#landed([exactly(data)]),
      gone: (data) => this.#gone(JSON.parse(data).id),
      poll: () => this.#poll(),
    };
    this.signal.addEventListener("abort", watch(handlers, { topic }));
    if (event) this.#openById(event);
  }

  #filters() {
    const { topic, known, type, to } = this.chosen;
    const names = known.includes(topic) ? known : [topic, ...known];
    const which = select(names, topic, { onchange: () => go({ topic: which.value }) });
    const only = (this.only = suggested(typesOf(topic), { value: type, placeholder: "all" }));
    const until = el("input", { type: "datetime-local", step: "1", value: to.replace("Z", "") });
    const go = (changed) => {
      const wanted = {
        topic,
        type: only.value.trim(),
        to: until.value && `${until.value}${until.value.length === 16 ? ":00" : ""}Z`,
        ...changed,
      };
      if ("topic" in changed) Object.assign(wanted, { type: "", to: "" });
      location.hash = `timeline${query(wanted)}`;
    };
    return form(
      { "aria-label": "Filters" },
      () => go({}),
      field("Topic", which),
      field("Type", only),
      field("Before (UTC)", until),
      el("button", { type: "submit" }, "Show"),
      to && button("Back to now", () => go({ to: "" })),
      type && button("All types", () => go({ type: "" })),
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
    const { topic, type, to } = this.chosen;
    const target = `${path("topics", topic)}/events${query({ type, to, limit: FIRST_PAGE })}`;
    return el(
      "details",
      { class: "copies" },
      el("summary", {}, "Copy"),
      copyButton("Copy as curl", () => curl(target)),
      copyButton("Copy as lately latest", () => lately("latest", topic, { type, to, n: String(FIRST_PAGE) })),
      copyButton("Copy as JSON", () => JSON.stringify(this.list.items, null, 2)),
    );
  }

  /** Reads the newest page of a new connection, or remembers to do so when the list need not hold still. */
  #begin() {
    this.#stale = this.#isHeld && this.list.length > 0;
    if (!this.#stale) this.#first();
  }

  /** Reads the newest page. An older list stays below it, unless more new events came than a page holds. */
  async #first() {
    this.#stale = false;
    const meanwhile = (this.#meanwhile = []);
    const take = ({ events, newer, next }) => {
      this.#begun = true;
      this.#newer = newer;
      if (events.some((event) => this.list.has(event.id))) this.list.align(events);
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
    this.#cut ||= this.list.length >= MOST;
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
    const { topic, type, to } = this.chosen;
    this.#loading = true;
    const done = await task(
      this.holder,
      async () => {
        const target = `${path("topics", topic)}/events${query({ type, to, ...more })}`;
        const answer = await call("GET", target, { signal: this.signal });
        take({ ...answer.data, events: answer.data.events.map((event) => ({ topic, ...event })) });
        this.price.textContent = `last read: ${cost(answer)}`;
        this.#suggestTypes();
        this.#showTally();
      },
      again,
    );
    if (!done && !this.#begun) this.tally.textContent = "";
    this.#loading = false;
  }

  /** Suggests the types of the events that were read, or the usual ones of the topic. */
  #suggestTypes() {
    const types = [...new Set(this.list.items.map((event) => event.type))].sort();
    if (types.length > 0) suggestions(this.only, types);
  }

  #showTally() {
    if (!this.#begun) {
      this.list.element.hidden = this.list.length === 0;
      return;
    }
    const none = this.list.length === 0;
    this.list.element.hidden = none;
    this.holder.querySelector(".empty")?.remove();
    if (none)
      this.holder.append(
        empty(
          "No events here.",
          this.chosen.type || this.chosen.to ? "No event matches the filters above. A type must match as a whole." : "Post the first event above.",
        ),
      );
    const end = this.#isFull ? ": choose an earlier time to see older ones" : this.#next ? "" : " in all";
    this.tally.textContent = `${plural(this.list.length, "event")}${end}`;
    this.older.hidden = this.#isFull || !this.#next;
  }

  /** Reads the events since the last read, oldest first. Used if there is no stream. */
  async #poll() {
    if (this.chosen.to) return;
    // The topic had no events.
    if (!this.#newer) return this.#begun && this.#first();
    const { topic, type } = this.chosen;
    await task(this.holder, async () => {
      const answer = await call(
        "GET",
        `${path("topics", topic)}/events${query({ limit: PAGE, type, cursor: this.#newer })}`,
        { signal: this.signal },
      );
      this.#newer = answer.data.next;
      this.price.textContent = `last read: ${cost(answer)}`;
      this.#landed(answer.data.events);
    });
  }

  #landed(events) {
    const { topic, type, to } = this.chosen;
    const wanted = events.filter((event) => !type || event.type === type);
    if (to) this.#later += wanted.length;
    // A poll may repeat events that are shown already.
    else for (const event of wanted) if (!this.list.has(event.id)) this.#waiting.set(event.id, { topic, ...event });
    this.#soon();
  }

  #gone(id) {
    if (this.#opened?.id === id) this.#tellDeleted();
    this.#waiting.set(id, null);
    this.#soon();
  }

  #soon() {
    for (const id of this.#waiting.keys()) {
      if (this.#waiting.size <= MOST) break;
      this.#waiting.delete(id);
    }
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#settle();
    });
  }

  get #isHeld() {
    return this.#paused || this.#pointed || this.#opened !== null || !this.list.atTop || this.list.isSteered;
  }

  /** Shows what waits, unless the list holds still. */
  #settle() {
    if (this.#isHeld) this.#showHeld();
    else this.#release();
  }

  #release() {
    const changes = [...this.#waiting];
    this.#waiting.clear();
    if (changes.length > 0) this.#apply(changes);
    this.#meanwhile?.push(...changes);
    if (this.#stale) this.#first();
    this.#showHeld();
  }

  #apply(changes) {
    // Events older than all that were read come with a later page.
    const least = this.#next ? (this.list.last?.id ?? "") : "";
    const events = changes.map(([, event]) => event).filter((event) => event && event.id > least);
    this.#fresh = new Set(events.filter(({ id }) => !this.list.has(id)).map(({ id }) => id));
    this.list.merge(events);
    for (const [id, event] of changes) if (event === null) this.list.remove(id);
    this.#showTally();
  }

  #showHeld() {
    const held = this.#later + [...this.#waiting.values()].filter(Boolean).length;
    const text = held === 0 ? "" : `${count(held)} new`;
    if (this.pill.textContent !== text) this.pill.textContent = text;
  }

  #pauseOrResume() {
    this.#paused = !this.#paused;
    this.pause.textContent = this.#paused ? "Resume" : "Pause";
    announce(this.#paused ? "Paused. New events are counted." : "Resumed.");
    this.#settle();
  }

  #toNewest() {
    if (this.chosen.to) location.hash = `timeline${query({ topic: this.chosen.topic, type: this.chosen.type })}`;
    else {
      this.#release();
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
      this.#settle();
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
      this.#deletion(event, target, close),
    ];
    const step = (rows) => {
      const next = this.list.step(rows);
      if (next) this.#open(next);
    };
    this.side.replaceChildren(
      eventDetail(event, { actions, copies: copiesOf(event, target), onclose: close, step }),
    );
    if (focus) this.side.querySelector("h2").focus({ preventScroll: true });
  }

  /** A button that asks before it deletes the event. */
  #deletion(event, target, close) {
    const remove = async () => {
      await call("DELETE", target, { signal: this.signal });
      close();
      this.#gone(event.id);
      this.#release();
    };
    const sure = button("Delete", () => pressed(sure, this.side, remove), { class: "danger" });
    const keep = button("Keep", () => {
      place.replaceChildren(ask);
      ask.focus();
    });
    const question = el("p", {}, `Delete this ${event.type} of ${time(event.at)}? This cannot be undone.`);
    const ask = button(
      "Delete…",
      () => {
        place.replaceChildren(question, sure, keep);
        announce(question.textContent);
        keep.focus();
      },
      { class: "quiet danger" },
    );
    const place = el("div", { class: "actions deletion" }, ask);
    return place;
  }

  #tellDeleted() {
    this.side.querySelector(".deletion")?.replaceChildren(el("p", { class: "bad" }, "This event was deleted."));
    announce("This event was deleted.");
  }
}
