// A source: an actor or a subject, with its events in all topics and its followers.

import { note } from "./address.js";
import { call, isLocal, path, query } from "./api.js";
import { Arrivals } from "./arrivals.js";
import { learn } from "./compose.js";
import { button, card, el, empty, field, form, heading, suggested } from "./dom.js";
import { eventDetail, eventRow, fillRow } from "./event.js";
import { Hues } from "./hues.js";
import { cost, count, moment, plural } from "./format.js";
import { List } from "./list.js";
import { watch } from "./live.js";
import { pressed, task } from "./task.js";

const PAGE = 100;
const FOLLOWERS = 50;

const EXAMPLES = ["actor:ada", "actor:bob", "subject:repo:octo:hello"];

export function open(place, parameters, signal) {
  const source = parameters.get("source") ?? (isLocal() ? "actor:ada" : "");
  const input = suggested(isLocal() ? EXAMPLES : [], {
    value: source,
    required: true,
    pattern: "(actor|subject):.+",
    title: "actor: and a name, or subject: and a name",
  });
  place.append(
    heading("Sources", "The events of an actor or a subject, in all topics, newest first; and its followers."),
    form(
      { class: "toolbar", "aria-label": "Choose a source" },
      () => (location.hash = `sources${query({ source: input.value.trim() })}`),
      field("Source", input, { wide: true }),
      el("button", { type: "submit" }, "Show"),
    ),
  );
  if (source) new SourcePanel(place, source, parameters.get("event"), signal).start();
}

class SourcePanel {
  #next = null;
  #newer;
  #opened = false;
  #loading = false;

  constructor(place, source, wanted, signal) {
    const [kind, ...name] = source.split(":");
    const base = `${path(kind === "actor" ? "actors" : "subjects", name.join(":"))}/events`;
    Object.assign(this, { place, source, wanted, signal, base, hues: new Hues() });
    this.status = el("p", { class: "status" }, "Loading…");
    this.side = el("div", { class: "side-detail" });
    this.followers = el("ul", { class: "follows" });
    this.more = button("Load more", () => pressed(this.more, this.followers, () => this.#readFollowers()), { hidden: true });
    this.list = new List({
      label: `Events of ${source}`,
      row: eventRow,
      fill: (row, event) => fillRow(row, event, { hues: this.hues }),
      key: (event) => event.id,
      open: (event) => this.#open(event),
      more: () => this.#next !== null,
      nearEnd: () => this.#next && this.#read(this.#next),
      scrolled: () => this.arrivals.settle(),
    });
    this.pill = button("", () => this.#toNewest(), { class: "pill" });
    this.arrivals = new Arrivals(this.list, {
      isHeld: () => this.#opened || this.#newer === undefined,
      apply: (changes) => this.#apply(changes.map(([, event]) => event)),
      told: (events) => {
        const held = this.#newer === undefined ? [] : events.filter(({ id }) => !this.list.all.has(id));
        this.pill.textContent = held.length === 0 ? "" : `${count(held.length)} new`;
      },
    });
    this.holder = this.arrivals.element;
  }

  start() {
    this.title = el("p", { class: "muted" });
    this.place.append(
      el(
        "div",
        { class: "columns" },
        el("div", { class: "column-main" }, el("div", { class: "status-line" }, this.status, this.pill), this.holder),
        el("div", { class: "column-side" }, this.side, card(`Followers of ${this.source}`, this.title, this.followers, this.more)),
      ),
    );
    const begin = () => {
      task(this.title.parentElement, () => this.#readFollowers(true));
      return this.#read(null);
    };
    const landed = (events, { answer }) => {
      if (answer) this.#newer = answer.data.next;
      for (const event of events) if (!this.list.all.has(event.id)) this.arrivals.add(event.id, event);
    };
    this.signal.addEventListener("abort", watch({ begin, landed, newer: () => this.#newer }, { path: this.base }));
  }

  #apply(changes) {
    // Events older than all that were read come with a later page.
    const least = this.#next ? (this.list.all.last?.id ?? "") : "";
    const events = changes.filter(({ id }) => id > least);
    learn(events);
    this.hues.learn(events);
    this.list.merge(events);
    this.#showTally();
  }

  #toNewest() {
    this.arrivals.release();
    this.list.toTop();
    this.list.element.focus();
  }

  /** Reads the newest page, or the page after a cursor. */
  async #read(cursor) {
    if (this.#loading) return;
    this.#loading = true;
    const read = async () => {
      const answer = await call("GET", `${this.base}${query({ limit: PAGE, cursor })}`, { signal: this.signal });
      const { events, next, newer } = answer.data;
      this.#next = next;
      if (!cursor) this.#newer = newer;
      learn(events);
      this.hues.learn(events);
      if (cursor) this.list.append(events);
      else this.list.set(events);
      this.price = el("span", { class: "price" }, `last read: ${cost(answer)}`);
      this.#showTally();
      const event = events.find(({ id }) => id === this.wanted);
      this.wanted = null;
      if (event) this.#open(event);
    };
    if (!(await task(this.holder, read, () => this.#read(cursor)))) this.status.replaceChildren();
    this.#loading = false;
    this.arrivals.settle();
  }

  #showTally() {
    const { length } = this.list;
    this.holder.querySelector(".empty")?.remove();
    this.list.element.hidden = length === 0;
    if (length === 0)
      this.holder.append(empty("No events here.", "Topics list the events of actors and subjects if their views say so."));
    this.status.replaceChildren(`${plural(length, "event")}${this.#next ? "" : " in all"}`, this.price);
  }

  async #readFollowers(anew = false) {
    const base = path("sources", this.source);
    const cursor = anew ? null : this.cursor;
    const [view, list] = await Promise.all([
      call("GET", base, { signal: this.signal }),
      call("GET", `${base}/followers${query({ limit: FOLLOWERS, cursor })}`, { signal: this.signal }),
    ]);
    this.cursor = list.data.next;
    this.more.hidden = this.cursor === null;
    this.title.textContent = `${plural(view.data.followers, "follower")}. Delivery: ${view.data.mode}.`;
    const lines = list.data.followers.map(({ user, since }) =>
      el("li", {}, el("a", { href: `#feeds${query({ user })}` }, el("bdi", {}, user)), el("span", { class: "muted" }, "since ", moment(since))),
    );
    if (anew) this.followers.replaceChildren(...lines);
    else this.followers.append(...lines);
  }

  #open(event) {
    this.#opened = true;
    note({ event: event.id });
    const close = () => {
      this.#opened = false;
      note({ event: null });
      this.side.replaceChildren();
      this.list.element.focus();
      this.arrivals.settle();
    };
    const link = el("a", { href: `#timeline${query({ topic: event.topic, event: event.id })}` }, "Show in its topic");
    this.side.replaceChildren(eventDetail(event, { actions: [link], onclose: close }));
    this.side.querySelector("h2").focus({ preventScroll: true });
  }
}
