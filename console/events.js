// The events of a topic, an actor, a subject or a user's feed: one list, newest first.
//
// Scrolling reads further pages, new events appear on top, and the cost of each read is shown above the list. With an
// end time (`to`) the list does not change. With a filter, only a button reads on: few matches would otherwise read the
// whole timeline.
//
// While the user pauses the list or has an event open, the list holds still, as it does while the user points at it. Then
// new events wait, and their number is shown.

import { note, parse, visit } from "./address.js";
import { apiUrl, call, isLocal, path, query, tokenUser, topics } from "./api.js";
import { Arrivals } from "./arrivals.js";
import { parseCost } from "./client.js";
import { Columns } from "./columns.js";
import { composer, learn, PEOPLE, typesOf } from "./compose.js";
import { copiesOf, copyButton, csv, curl, lately, ndjson, saveButton } from "./copy.js";
import { announce, button, div, el, empty, field, p, suggested, suggestions } from "./dom.js";
import { deletion, eventDetail, eventRow } from "./event.js";
import { FilterFields, matcher } from "./filter.js";
import { followersCard, followsCard } from "./follows.js";
import { cost, count, plural, units } from "./format.js";
import { Histogram } from "./histogram.js";
import { Hues } from "./hues.js";
import { List } from "./list.js";
import { restart, untilRead, watch } from "./live.js";
import { polling } from "./meter.js";
import { rangeForm, rangeOf, spans } from "./range.js";
import { drawer, Scope, scopeForm, scopeOf } from "./scope.js";
import { hear, tell } from "./tabs.js";
import { task } from "./task.js";
import { priced } from "./trace.js";
import { Unread } from "./unread.js";
import { why } from "./why.js";

const FIRST_PAGE = 100;
const PAGE = 200;

/** The most events that the list keeps. An end time shows older ones. */
const MOST = 20_000;

/** The interval at which the open event is looked for again. */
const AGAIN = 3000;

/** The least milliseconds between two drawings of the histogram. */
const SKETCH = 500;

/** A stream begins with the events of the last two seconds. So a page that was requested so recently misses none. */
const COVERED = 1900;

/**
 * The waits before the reads after a follow or an unfollow, in milliseconds: earlier posts come and go within seconds, and no
 * stream reports them.
 */
const AFTER = [300, 700, 1500, 3000, 5000];

/** The topic that the page opens with, if there is one of this name. */
const USUAL = "posts";

/** True while the filter's fields are open. They stay open when the range changes. */
let isRefining = false;

export function open(place, parameters, signal) {
  const isChosen = scopeOf(parameters) !== null;
  const scope = scopeOf(parameters) ?? new Scope("topic", USUAL);
  const list = new Events(place, scope, parameters, signal);
  list.start();
  // The list does not wait for the names of the topics.
  untilRead(place, signal, async () => {
    const known = await topics(signal);
    list.scopes.show(known);
    if (isChosen || known.includes(USUAL)) return;
    // Replaces the address, so that the browser's Back does not come here again.
    if (known.length > 0) location.replace(`#events${query({ topic: known[0] })}`);
    else place.replaceChildren(empty("There are no topics yet.", el("a", { href: "#topics" }, "Create one.")));
  });
}

class Events {
  #next = null;
  #loading = false;
  /** True when the first page has been read. */
  #begun = false;
  #cut = false;
  /** The read of a newest page that is under way, when it was sent, and whether another one must follow. */
  #reading = null;
  #sent = -Infinity;
  /** True until the panel is connected. The page is requested at once, and not only when a stream is open. */
  #isEarly = true;
  #again = false;
  /** Changes that were shown during the read of a newest page. The page may lack them, so they are shown again. */
  #meanwhile = null;
  #fresh = new Set();
  #paused = false;
  #opened = null;
  /** True if the newest page must be read when the list need not hold still. */
  #stale = false;
  /** The newest event when the list came to need a newest page. A page that does not reach it would leave a gap. */
  #joint = null;
  /** The filter of what was read: `null`, or a function of an event. */
  #matches;
  /** The same without the chosen types. */
  #matchesType;
  /** The number of reads, and the sum of their read units. */
  #reads = 0;
  #spent = 0;
  #sketching = 0;
  #looking = 0;
  #due = 0;

  constructor(place, scope, parameters, signal) {
    const given = Object.fromEntries(parameters);
    const chosen = { type: given.type ?? "", ...rangeOf(parameters) };
    Object.assign(this, { place, scope, chosen, parameters, signal, hues: new Hues() });
    this.#setFilter(given);
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
    this.price = priced(signal);
    this.found = div("said");
    this.side = div("side-detail");
    this.list = new List({
      label: scope.label,
      row: eventRow,
      fill: (row, event) =>
        this.columns.fill(row, event, { hues: this.hues, unread: this.unread?.has(event.id), fresh: this.#fresh.delete(event.id) }),
      key: (event) => event.id,
      open: (event) => this.#open(event),
      moved: (event) => this.#opened && this.#open(event, { focus: false }),
      more: () => this.#next !== null,
      // After a failure, only the user reads on.
      nearEnd: () => this.#next && !this.#matches && !this.holder.querySelector(":scope > .problem") && this.#read(),
      scrolled: () => this.arrivals.settle(),
      most: MOST,
    });
    this.list.element.hidden = true;
    if (this.#matches) this.list.filter(this.#matches);
    this.arrivals = new Arrivals(this.list, {
      head: this.columns.head,
      // A stream begins with the events of the last seconds. They come with the first page.
      isHeld: () => this.#paused || this.#opened !== null || !this.#begun,
      apply: (changes) => this.#release(changes),
      told: (events) => this.#showHeld(events),
    });
    this.holder = this.arrivals.element;
    if (scope.kind === "feed" && !chosen.type && !chosen.from && !chosen.to)
      this.unread = new Unread(scope.name, signal, {
        place: this.holder,
        newest: () => this.#newest,
        changed: () => this.#first(),
      });
  }

  start() {
    const { scope, signal } = this;
    const { type, to } = this.chosen;
    this.only = suggested([], { value: type, placeholder: "all types" });
    this.scopes = scopeForm(
      scope,
      (parameters) => this.#go({ ...parameters, type: this.only.value.trim() }),
      field("Type", this.only, { hidden: true }),
    );
    const [posting, people] = ["", ""].map(() => div("drawers"));
    this.posting = drawer("Post…", posting, () => this.#composer());
    const folk = this.#people(people);
    this.place.append(
      el("h1", { class: "unseen" }, "Events"),
      div(
        "toolbar",
        this.scopes.element,
        spans(signal),
        to && button("Back to now", () => this.#go({ to: "", last: null })),
        type && button("All types", () => this.#go({ type: "" })),
        div("actions", folk?.toggle, this.posting.toggle),
      ),
      posting,
      people,
      this.found,
      div(
        "status",
        this.tally,
        this.older,
        this.pause,
        this.unread?.elements,
        this.pill,
        this.#copies(),
        this.#refining(),
        this.price.element,
      ),
      this.price.panel,
      this.histogram.element,
      div("with-detail", this.holder, this.side),
    );
    if (!scope.name) {
      this.tally.textContent = "";
      return this.holder.append(empty("No name is chosen.", "Enter the name of an actor, a subject, or the user that your token acts for."));
    }
    const handlers = {
      begin: () => this.#begin(),
      landed: (event, isLate) => this.#landed(event, isLate),
      paid: (cost) => this.#showPrice({ cost }),
      // Polls of a feed miss entries that fan-out delivers late.
      ...(scope.kind === "feed" && { again: () => this.#poll() }),
    };
    // A list with an end time does not change, so nothing is live.
    signal.addEventListener("abort", watch(handlers, to ? null : { path: scope.path, type }));
    hear("gone", (address) => address.startsWith(apiUrl()) && this.#gone(address.split("/").at(-1)), signal);
    if (this.unread) hear("feed", (address) => address === this.unread.address && this.#first(), signal);
    this.#first();
    const event = this.parameters.get("event");
    if (event) this.#openById(event);
  }

  /** The drawer of the follows of a feed's user, or of a source's followers. */
  #people(place) {
    const { scope, signal } = this;
    if (!scope.name) return null;
    if (scope.kind === "feed") return drawer("Follows…", place, () => followsCard(scope.name, signal, () => this.#readSoon()));
    return scope.source && drawer("Followers…", place, () => followersCard(scope.source, signal));
  }

  #composer() {
    const { kind, name } = this.scope;
    const actor = { actor: name, feed: isLocal() ? PEOPLE.find((it) => it !== name) : tokenUser() }[kind];
    this.composer = composer({
      topic: kind === "topic" ? name : USUAL,
      ...(actor && { actor }),
      subject: kind === "subject" ? name : "",
      // An event of another list comes with fan-out.
      posted: (event) => kind === "topic" && event.topic === name && this.#landed(event),
      signal: this.signal,
    });
    return div("card", this.composer.element);
  }

  /** Reads the events of a changed address. */
  #go(changed) {
    const given = Object.fromEntries(parse(location.hash).parameters);
    visit(`events${query({ ...given, ...this.scope.parameters, event: null, ...changed })}`);
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
      el("summary", {}, "Range, filter, columns"),
      div("fields", this.range, this.filter.element, this.columns.field),
    );
  }

  #copies() {
    const { type, from, to } = this.chosen;
    const { kind, name, path: target } = this.scope;
    return el(
      "details",
      { class: "copies" },
      el("summary", {}, "Copy, save"),
      copyButton("Copy as curl", () => curl(`${target}${query({ type, from, to, limit: FIRST_PAGE })}`)),
      kind === "topic" && copyButton("Copy as lately latest", () => lately("latest", name, { type, from, to, n: String(FIRST_PAGE) })),
      copyButton("Copy as JSON", () => JSON.stringify(this.list.items, null, 2)),
      saveButton("Save as NDJSON", `${name}.ndjson`, () => ndjson(this.list.items)),
      saveButton("Save as CSV", `${name}.csv`, () => csv(this.list.items)),
    );
  }

  /** Reads the newest page of a new connection, unless the first one covers the time since. */
  async #begin() {
    const isCovered = this.#isEarly && performance.now() - this.#sent < COVERED;
    this.#isEarly = false;
    if (isCovered && (this.#reading ?? this.#begun)) return this.#reading;
    await this.#renew();
  }

  /** Reads the newest page. While the list holds still, remembers to do so, and returns nothing. */
  #renew() {
    this.#joint ??= this.#newest;
    this.#stale = this.#begun && this.arrivals.isHeld;
    return this.#stale ? null : this.#first();
  }

  /** Reads the newest page of a feed that is polled. While the list holds still, the page's new entries wait. */
  #poll() {
    const wait = ({ events }) => events.forEach((event) => this.#landed(event));
    return this.#renew() ?? this.#page({ limit: FIRST_PAGE }, wait, () => this.#poll());
  }

  /** Reads the newest page, one read at a time. Any number of calls during a read cause one more read. */
  #first() {
    this.#again = true;
    this.#joint ??= this.#newest;
    this.#reading ??= this.#readFirst().finally(() => (this.#reading = null));
    return this.#reading;
  }

  async #readFirst() {
    while (this.#again && !this.signal.aborted) {
      this.#again = this.#stale = false;
      this.#meanwhile = [];
      this.#sent = performance.now();
      await this.#page({ limit: FIRST_PAGE }, (page) => this.#takeFirst(page), () => this.#retry());
      this.#meanwhile = null;
      this.arrivals.settle();
    }
  }

  /** Reads the newest page after a problem, and follows again: a stream that was refused is not opened by itself. */
  #retry() {
    this.#isEarly = true;
    restart();
    this.#first();
  }

  /** Shows a newest page. An older list stays below it, unless more new events came than the page holds. */
  #takeFirst(page) {
    const { events, next } = page;
    const came = this.#begun ? events.filter(({ id }) => !this.list.all.has(id)) : [];
    this.#begun = true;
    this.unread?.read(page);
    this.#fresh = new Set(came.map(({ id }) => id));
    const [isAll, isJoined] = [next === null, events.at(-1)?.id <= this.#joint];
    if (isAll || !isJoined) [this.#next, this.#cut] = [next, false];
    if (isAll || isJoined) this.list.align(events, isAll);
    else this.list.set(events);
    this.#joint = this.#again || this.#stale ? this.#newest : null;
    this.#apply(this.#meanwhile);
    if (this.unread && came.length > 0) announce(`${plural(came.length, "new entry", "new entries")} in the feed of ${this.scope.name}.`);
    if (this.#opened) this.list.choose(this.#opened.id);
    const isOver = this.scope.kind === "feed" && this.#opened && events.length > 0 && this.#opened.id >= events.at(-1).id;
    if (isOver && !this.list.all.has(this.#opened.id)) this.#tellGone();
  }

  /** The id of the list's newest event. */
  get #newest() {
    return this.list.all.items[0]?.id ?? "";
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
    const { type, from, to } = this.chosen;
    this.#loading = true;
    const done = await task(
      this.holder,
      async () => {
        const answer = await call("GET", `${this.scope.path}${query({ type, from, to, ...more })}`, { signal: this.signal });
        const events = answer.data.events.map((event) => this.#whole(event));
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

  /** An event with its topic. The pages of a topic do not repeat the topic's name. */
  #whole(event) {
    return this.scope.kind === "topic" ? { topic: this.scope.name, ...event } : event;
  }

  /** Suggests the types, actors, subjects and fields of the events that were read. */
  #suggest() {
    const events = this.list.all.items;
    learn(events);
    const types = this.scope.kind === "topic" ? typesOf(this.scope.name) : [...new Set(events.map(({ type }) => type))].sort();
    suggestions(this.only, types);
    this.filter.suggest(events);
    this.columns.offer(events);
  }

  #showPrice(answer) {
    this.#reads += 1;
    this.#spent += parseCost(answer.cost).read_units ?? Number.NaN;
    const sum = this.#reads > 1 && this.#sum ? ` · ${plural(this.#reads, "read")}: ${this.#sum}` : "";
    this.price.show(answer, `last read: ${cost(answer)}${sum}`);
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
    if (type || from || to) return empty("No events here.", "No event matches the filters above. A type must match as a whole.");
    if (this.scope.kind === "feed") return empty("This feed is empty.", "Follow somebody to add their latest posts.");
    return empty(
      "No events here.",
      this.scope.source ? "Topics list the events of actors and subjects if their views say so." : "Post the first event.",
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

  /** Takes a new event. Fan-out may deliver entries behind a late one, so a feed is read again after it. */
  #landed(event, isLate) {
    const { type, from, to } = this.chosen;
    if (this.scope.kind === "feed" && isLate && this.#renew()) return;
    const at = Date.parse(event.at);
    const isIn = (!from || at >= Date.parse(from)) && (!to || at < Date.parse(to)) && (!type || event.type === type);
    // The page may have posted the event itself, or read it.
    if (isIn && !this.list.all.has(event.id)) this.arrivals.add(event.id, this.#whole(event));
  }

  #gone(id) {
    if (this.#opened?.id === id) this.#tellDeleted();
    this.arrivals.add(id, null);
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
    const added = events.filter(({ id }) => !this.list.all.has(id));
    this.hues.learn(events);
    for (const { id } of added) this.#fresh.add(id);
    if (added.length > 0) this.unread?.add(added);
    this.list.merge(events);
    for (const [id, event] of changes) if (event === null) this.list.remove(id);
    this.#showTally();
  }

  #showHeld(events) {
    const waiting = this.#matches ? events.filter(this.#matches) : events;
    const held = this.#begun ? waiting.filter(({ id }) => !this.list.all.has(id)).length : 0;
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
    this.arrivals.release();
    this.list.toTop();
    this.list.element.focus();
  }

  /** Reads the first page now, and again after each of the waits. */
  #readSoon(waits = AFTER) {
    clearTimeout(this.#due);
    if (this.signal.aborted) return;
    this.#first();
    const [wait, ...rest] = waits;
    if (wait) this.#due = setTimeout(() => this.#readSoon(rest), wait);
  }

  /** Opens the event of the address. Only a topic's event is read; another list shows it if it has it. */
  async #openById(id) {
    await task(this.found, async () => {
      await this.#reading;
      const listed = this.list.all.items.find((event) => event.id === id);
      if (!listed && this.scope.kind !== "topic") return;
      const event = listed ?? (await call("GET", path("topics", this.scope.name, "events", id), { signal: this.signal })).data;
      this.list.choose(id);
      this.#open(this.#whole(event));
    });
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
    const { topic, id } = event;
    const target = path("topics", topic, "events", id);
    const again = () => {
      this.posting.show(true);
      this.composer.fill(event);
    };
    const actions = [
      (this.scope.kind !== "topic" || this.scope.name !== topic) &&
        el("a", { href: `#events${query({ topic, event: id })}` }, "Show in its topic"),
      isLocal() && el("a", { href: `#shards${query({ topic, event: id })}` }, "Show stored items"),
      button("Why?", () => explain(), { class: "as-link", title: "Where it is stored, and why a feed has it or not" }),
      button("Post again…", again, { class: "as-link" }),
      deletion(event, this.side, () => this.#delete(id, target, close)),
    ];
    const explain = () => {
      this.side.querySelector(".why")?.remove();
      this.side.firstChild.querySelector(".data").before(why(event, this.signal));
    };
    const step = (rows) => {
      const next = this.list.step(rows);
      if (next) this.#open(next);
    };
    this.side.replaceChildren(eventDetail(event, { actions, copies: copiesOf(event, target), onclose: close, step }));
    if (focus) this.side.querySelector("h2").focus({ preventScroll: true });
    if (isLocal()) this.#lookAgain(id, target);
  }

  /** Finds out whether others deleted the open event, which no stream reports. Only the local program is asked again. */
  async #lookAgain(id, target) {
    clearTimeout(this.#looking);
    this.#looking = setTimeout(async () => {
      if (this.signal.aborted || this.#opened?.id !== id) return;
      const found = document.hidden || (await polling(() => call("GET", target, { signal: this.signal })).catch((error) => error));
      if (["event-not-found", "topic-not-found"].includes(found.code)) this.#gone(id);
      else this.#lookAgain(id, target);
    }, AGAIN);
  }

  async #delete(id, target, close) {
    await call("DELETE", target, { signal: this.signal });
    tell("gone", apiUrl() + target);
    close();
    this.#gone(id);
    this.arrivals.release();
  }

  #tellDeleted() {
    this.side.querySelector(".deletion")?.replaceChildren(p("bad", "This event was deleted."));
    announce("This event was deleted.");
  }

  /** Says that the open event is no longer in the feed, if it would be on the first page. */
  #tellGone() {
    this.side.querySelector("h2").textContent = "Event, no longer in this feed";
    announce("The event is no longer in this feed.");
  }
}
