// The timeline of a topic: its events, newest first.
//
// Scrolling reads further pages, new events appear on top, and the cost of each read is shown above the list. With an
// end time (`to`) the list does not change, and new events are only counted.

import { call, exactly, isLocal, path, query, topics } from "./api.js";
import { composer, typesOf } from "./compose.js";
import { button, el, empty, field, form, heading, select, suggested } from "./dom.js";
import { eventDetail, eventRow, fillRow } from "./event.js";
import { cost, plural } from "./format.js";
import { List } from "./list.js";
import { watch } from "./live.js";
import { task } from "./task.js";

const FIRST_PAGE = 100;
const PAGE = 200;

/** The most events that the list keeps. An end time shows older ones. */
const MOST = 20_000;

export async function open(place, parameters, signal) {
  place.append(heading("Timeline", ...lead()));
  await task(place, async () => {
    const known = await topics(signal);
    const topic = parameters.get("topic") ?? (known.includes("posts") ? "posts" : known[0]);
    if (topic === undefined) place.append(empty("There are no topics yet.", "Create one with PUT /topics/{topic}."));
    else
      new Timeline(
        place,
        { topic, known, type: parameters.get("type") ?? "", to: parameters.get("to") ?? "" },
        signal,
      ).start();
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
  #above = 0;
  /** Changes that landed during the read of a newest page. The page may lack them, so they are applied again. */
  #meanwhile = null;
  #fresh = new Set();

  constructor(place, chosen, signal) {
    Object.assign(this, { place, chosen, signal });
    this.tally = el("span", {}, "Loading…");
    this.older = button("Older", () => this.#read(), { class: "as-link", hidden: true });
    this.price = el("span", { class: "price" });
    this.pill = button("", () => this.#toNewest(), { class: "pill", hidden: true });
    this.side = el("div", { class: "side-detail" });
    this.list = new List({
      label: `Events of ${chosen.topic}`,
      row: eventRow,
      fill: (row, event) => fillRow(row, event, { fresh: this.#fresh.has(event.id) }),
      key: (event) => event.id,
      open: (event) => this.#open(event),
      more: () => this.#next !== null,
      nearEnd: () => this.#next && this.#read(),
      scrolled: (atTop) => atTop && this.#count(-this.#above),
    });
    this.holder = el("div", { class: "list-holder" }, this.pill, this.list.element);
  }

  start() {
    const { topic } = this.chosen;
    this.place.append(
      this.#toolbar(),
      el("div", { class: "card" }, composer({ topic, posted: (event) => this.#landed([event]), signal: this.signal })),
      el("p", { class: "status" }, this.tally, this.older, this.price),
      el("div", { class: "with-detail" }, this.holder, this.side),
    );
    const handlers = {
      begin: () => this.#first(),
      event: (data) => this.#landed([exactly(data)]),
      gone: (data) => this.#gone(JSON.parse(data).id),
      poll: () => this.#poll(),
    };
    this.signal.addEventListener("abort", watch(handlers, { topic }));
  }

  #toolbar() {
    const { topic, known, type, to } = this.chosen;
    const names = known.includes(topic) ? known : [topic, ...known];
    const which = select(names, topic, { onchange: () => go({ topic: which.value }) });
    const only = suggested(typesOf(topic), { value: type, placeholder: "all" });
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
      { class: "toolbar", "aria-label": "Filters" },
      () => go({}),
      field("Topic", which),
      field("Type", only),
      field("Before (UTC)", until),
      el("button", { type: "submit" }, "Show"),
      to && button("Back to now", () => go({ to: "" })),
      type && button("All types", () => go({ type: "" })),
    );
  }

  /** Reads the newest page. An older list stays below it, unless more new events came than a page holds. */
  #first() {
    const meanwhile = [];
    this.#meanwhile = meanwhile;
    return this.#page({ limit: FIRST_PAGE }, ({ events, newer, next }) => {
      this.#meanwhile = null;
      this.#newer = newer;
      if (events.some((event) => this.list.has(event.id))) this.list.align(events);
      else {
        this.#next = next;
        this.list.set(events);
        this.#count(-this.#above);
      }
      meanwhile.forEach((again) => again());
    });
  }

  #read() {
    if (this.#loading || this.list.length >= MOST) return;
    const cursor = this.#next;
    this.#page({ limit: PAGE, cursor }, ({ events, next }) => {
      // The list may have been replaced meanwhile.
      if (this.#next !== cursor) return;
      this.#next = next;
      this.list.append(events);
    });
  }

  async #page(more, take) {
    const { topic, type, to } = this.chosen;
    this.#loading = true;
    await task(this.holder, async () => {
      const target = `${path("topics", topic)}/events${query({ type, to, ...more })}`;
      const answer = await call("GET", target, { signal: this.signal });
      take({ ...answer.data, events: answer.data.events.map((event) => ({ topic, ...event })) });
      this.price.textContent = `last read: ${cost(answer)}`;
      this.#showTally();
    });
    this.#loading = false;
  }

  #showTally() {
    const none = this.list.length === 0;
    this.list.element.hidden = none;
    this.holder.querySelector(".empty")?.remove();
    if (none)
      this.holder.append(
        empty(
          "No events here.",
          this.chosen.type || this.chosen.to ? "No event matches the filters above." : "Post the first event above.",
        ),
      );
    const full = this.list.length >= MOST;
    const end = full ? ": choose an earlier time to see older ones" : this.#next ? "" : " in all";
    this.tally.textContent = `${plural(this.list.length, "event")}${end}`;
    this.older.hidden = full || !this.#next;
  }

  /** Reads the events since the last read, oldest first. Used if there is no stream. */
  async #poll() {
    if (!this.#newer || this.chosen.to) return;
    const { topic, type } = this.chosen;
    await task(this.holder, async () => {
      const answer = await call(
        "GET",
        `${path("topics", topic)}/events${query({ limit: PAGE, type, cursor: this.#newer })}`,
        { signal: this.signal },
      );
      this.#newer = answer.data.next;
      this.#landed(answer.data.events);
    });
  }

  #landed(events) {
    const { topic, type, to } = this.chosen;
    const wanted = events.filter((event) => !type || event.type === type).map((event) => ({ topic, ...event }));
    if (to) return this.#count(wanted.length);
    const away = !this.list.atTop;
    // Events older than all that were read come with a later page.
    const inReach = wanted.filter((event) => !this.#next || event.id > (this.list.last?.id ?? ""));
    // A poll may repeat events that are shown already.
    inReach.filter((event) => !this.list.has(event.id)).forEach((event) => this.#fresh.add(event.id));
    const added = this.list.merge(inReach);
    this.#meanwhile?.push(() => this.list.merge(inReach));
    if (away) this.#count(added);
    this.#showTally();
  }

  #gone(id) {
    this.list.remove(id);
    this.#meanwhile?.push(() => this.list.remove(id));
    this.#showTally();
  }

  #count(more) {
    this.#above += more;
    this.pill.hidden = this.#above === 0;
    this.pill.textContent = `${this.#above} new`;
    if (this.#above === 0) this.#fresh.clear();
  }

  #toNewest() {
    if (this.chosen.to) location.hash = `timeline${query({ topic: this.chosen.topic, type: this.chosen.type })}`;
    else {
      this.list.toTop();
      this.list.element.focus();
    }
  }

  #open(event) {
    const close = () => {
      this.side.replaceChildren();
      this.list.element.focus();
    };
    const links = [
      isLocal() && el("a", { href: `#storage${query({ topic: event.topic, event: event.id })}` }, "Show stored items"),
      isLocal() &&
        el(
          "a",
          { href: `#storage${query({ trace: `${path("topics", event.topic)}/events?limit=50` })}` },
          "Trace the read",
        ),
      button("Delete", () => task(this.side, () => this.#delete(event, close)), { class: "quiet" }),
    ];
    this.side.replaceChildren(eventDetail(event, { actions: links, onclose: close }));
    this.side.querySelector("h2").focus({ preventScroll: true });
  }

  async #delete(event, close) {
    await call("DELETE", path("topics", event.topic, "events", event.id), { signal: this.signal });
    this.#gone(event.id);
    close();
  }
}
