// A user's feed: the events of followed actors and subjects, and the user's own posts. The panel can follow a source
// and post as another user, so that the post arrives in the feed.

import { note } from "./address.js";
import { apiUrl, call, isLocal, path, query, tokenUser } from "./api.js";
import { Arrivals } from "./arrivals.js";
import { composer, learn, PEOPLE } from "./compose.js";
import { announce, button, card, el, empty, field, form, heading, suggested } from "./dom.js";
import { eventDetail, eventRow, fillRow, sourceLink } from "./event.js";
import { Hues } from "./hues.js";
import { cost, count, plural } from "./format.js";
import { List } from "./list.js";
import { watch } from "./live.js";
import { hear, tell } from "./tabs.js";
import { pressed, showLast, task } from "./task.js";

/** The entries of a page: more than the list shows at first, so that opening a feed reads one page. */
const PAGE = 100;
const FOLLOWS = 200;

/**
 * The waits before the reads after a follow or an unfollow, in milliseconds: earlier posts come and go within seconds, and no
 * stream tells them.
 */
const AFTER = [300, 700, 1500, 3000, 5000];

const SOURCES = [
  "actor:ada",
  "actor:bob",
  "actor:carol",
  "subject:repo:octo:hello",
  "subject:repo:octo:engine",
  "subject:repo:lately:console",
];

export function open(place, parameters, signal) {
  const user = parameters.get("user") ?? tokenUser() ?? (isLocal() ? "bob" : null);
  place.append(
    heading(
      "Feeds",
      "The events of followed actors and subjects, newest first. Fan-out delivers each post within a second. Follow somebody, post as them, and see the post arrive.",
    ),
    people(user),
  );
  if (user) new Feed(place, user, parameters.get("event"), signal).start();
  else place.append(el("div", { class: "card" }, empty("No user is selected.", "Enter the user that your token acts for.")));
}

/** The form that chooses a user. Only the local program has the demo's users. */
function people(user) {
  const other = el("input", { autocomplete: "off", spellcheck: "false", required: true, placeholder: "another user" });
  const known = isLocal() ? PEOPLE : [tokenUser()].filter(Boolean);
  return form(
    { class: "toolbar", "aria-label": "Choose a feed" },
    () => (location.hash = `feeds${query({ user: other.value.trim() })}`),
    known.length > 0 &&
      el(
        "nav",
        { class: "segments", "aria-label": "Users" },
        known.map((name) =>
          el("a", { href: `#feeds${query({ user: name })}`, "aria-current": name === user ? "true" : null }, name),
        ),
      ),
    field("User", other, { hidden: true }),
    el("button", { type: "submit" }, "Show"),
  );
}

class Feed {
  #next = null;
  /** The cursor of a page of new entries; `undefined` before the first page. */
  #newer;
  #unread = new Set();
  #known = null;
  #fresh = new Set();
  #reading = false;
  #stale = false;
  #loading = false;
  #opened = null;
  /** The unread entries that the badge counts, and whether there may be more. */
  #count = 0;
  #hasMore = false;
  #due = 0;

  /** `wanted` is the id of the event to open, if the first page has it. */
  constructor(place, user, wanted, signal) {
    Object.assign(this, { place, user, wanted, signal, hues: new Hues() });
    this.status = el("p", { class: "status" }, "Loading…");
    this.badge = el("span", { class: "badge" });
    this.side = el("div", { class: "side-detail" });
    this.follows = el("ul", { class: "follows" });
    this.moreFollows = button("Load more", () => this.#readFollows(this.nextFollows), { hidden: true });
    this.seen = button("Mark all as seen", () => this.#markSeen(), { disabled: true });
    this.countAll = button("Count all", () => this.#countUnread(), { class: "as-link", hidden: true });
    this.list = new List({
      label: `Feed of ${user}`,
      row: eventRow,
      fill: (row, event) =>
        fillRow(row, event, { hues: this.hues, unread: this.#unread.has(event.id), fresh: this.#fresh.delete(event.id) }),
      key: (event) => event.id,
      open: (event) => this.#open(event),
      more: () => this.#next !== null,
      nearEnd: () => this.#next && this.#more(),
      scrolled: () => this.arrivals.settle(),
    });
    this.pill = button("", () => this.#toNewest(), { class: "pill" });
    this.arrivals = new Arrivals(this.list, {
      isHeld: () => this.#opened !== null || this.#known === null,
      apply: (changes) => this.#apply(changes),
      told: (events) => {
        const held = this.#known === null ? [] : events.filter(({ id }) => !this.list.all.has(id));
        this.pill.textContent = held.length === 0 ? "" : `${count(held.length)} new`;
      },
    });
    this.holder = this.arrivals.element;
  }

  start() {
    this.place.append(
      el(
        "div",
        { class: "columns" },
        el(
          "div",
          { class: "column-main" },
          el("div", { class: "status-line" }, this.badge, this.countAll, this.seen, this.pill, this.status),
          this.holder,
        ),
        el("div", { class: "column-side" }, this.side, this.#following(), this.#post()),
      ),
    );
    const handlers = {
      begin: () => {
        this.#readFollows();
        return this.#first();
      },
      landed: (events, how) => this.#landed(events, how),
      newer: () => this.#newer,
      again: () => this.#first(),
    };
    this.signal.addEventListener("abort", watch(handlers, { path: path("feeds", this.user) }));
    const elsewhere = () => {
      this.#readFollows();
      this.#readSoon();
    };
    hear("feed", (changed) => changed === this.#address && elsewhere(), this.signal);
  }

  /** Names the feed among all APIs. */
  get #address() {
    return `${apiUrl()} ${this.user}`;
  }

  /** Reads the first page, one read at a time. Any number of entries that land during a read cause one more read. */
  async #first() {
    this.#stale = true;
    if (this.#reading) return;
    this.#reading = true;
    while (this.#stale) {
      this.#stale = false;
      if (!(await this.#readFirst())) this.status.replaceChildren();
    }
    this.arrivals.settle();
    this.#reading = false;
  }

  #readFirst() {
    return task(this.holder, async () => {
      const answer = await call("GET", `${path("feeds", this.user)}${query({ limit: PAGE })}`, { signal: this.signal });
      const { events, next, newer, unread, unread_more: unreadMore } = answer.data;
      this.#newer = newer;
      this.hues.learn(events);
      const came = this.#known ? events.filter((event) => !this.#known.has(event.id)) : [];
      this.#fresh = new Set(came.map((event) => event.id));
      this.#known = new Set(events.map((event) => event.id));
      this.#unread = new Set(
        events
          .filter((event) => event.actor !== this.user)
          .slice(0, unread)
          .map((event) => event.id),
      );
      if (this.list.length === 0 || came.length === events.length) {
        this.#next = next;
        this.list.set(events);
      } else {
        this.list.align(events);
      }
      this.#showUnread(unread, unreadMore);
      learn(events);
      this.#showPrice(answer);
      if (came.length > 0) this.#announce(came.length);
      if (this.#opened && !events.some(({ id }) => id === this.#opened)) this.#tellGone(events);
      this.#showEmpty();
      const event = events.find(({ id }) => id === this.wanted);
      this.wanted = null;
      if (event) this.#open(event);
    });
  }

  async #more() {
    if (this.#loading) return;
    this.#loading = true;
    const cursor = this.#next;
    await task(
      this.holder,
      async () => {
        const answer = await call("GET", `${path("feeds", this.user)}${query({ limit: PAGE, cursor })}`, {
          signal: this.signal,
        });
        // The list may have been replaced meanwhile.
        if (this.#next !== cursor) return;
        this.#next = answer.data.next;
        this.hues.learn(answer.data.events);
        this.list.append(answer.data.events);
        learn(answer.data.events);
        this.#showPrice(answer);
      },
      () => this.#more(),
    );
    this.#loading = false;
  }

  #showUnread(unread, more) {
    [this.#count, this.#hasMore] = [unread, more];
    this.badge.textContent = unread === 0 ? "All seen" : `${count(unread)}${more ? " or more" : ""} unread`;
    this.badge.classList.toggle("none", unread === 0);
    this.countAll.hidden = !more;
    this.seen.disabled = unread === 0;
  }

  /** Counts the unread entries exactly. A page counts only its own, because that costs nothing. */
  #countUnread() {
    return pressed(this.countAll, this.holder, async () => {
      const answer = await call("GET", path("feeds", this.user, "unread"), { signal: this.signal });
      this.#showUnread(answer.data.unread, answer.data.more);
      this.#showPrice(answer);
      announce(this.badge.textContent);
      if (this.countAll.hidden) this.seen.focus();
    });
  }

  #showPrice(answer) {
    this.status.replaceChildren(el("span", { class: "price" }, `last read: ${cost(answer)}`));
  }

  /** Takes new entries. A page of them, and an entry that landed late, say only that the feed must be read. */
  #landed(events, { answer, isLate }) {
    if (answer) this.#newer = answer.data.next;
    // Fan-out may deliver entries that such a page passed over, so the feed is read again after each.
    if (answer || isLate) this.#first();
    else for (const event of events) if (!this.list.all.has(event.id)) this.arrivals.add(event.id, event);
  }

  #apply(changes) {
    const events = changes.map(([, event]) => event).filter(({ id }) => !this.list.all.has(id));
    if (events.length === 0) return;
    const unread = events.filter(({ actor }) => actor !== this.user);
    for (const { id } of unread) this.#unread.add(id);
    for (const { id } of events) {
      this.#known?.add(id);
      this.#fresh.add(id);
    }
    this.hues.learn(events);
    this.list.merge(events);
    this.#showUnread(this.#count + unread.length, this.#hasMore);
    learn(events);
    this.#announce(events.length);
    this.#showEmpty();
  }

  #announce(entries) {
    announce(`${plural(entries, "new entry", "new entries")} in the feed of ${this.user}.`);
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

  /** Says that the open event is no longer in the feed, if it would be on this page. */
  #tellGone(events) {
    if (events.length === 0 || this.#opened < events.at(-1).id) return;
    this.side.querySelector("h2").textContent = "Event, no longer in this feed";
    announce("The event is no longer in this feed.");
  }

  #showEmpty() {
    const none = this.list.length === 0;
    this.list.element.hidden = none;
    this.holder.querySelector(".empty")?.remove();
    if (none) this.holder.append(empty("This feed is empty.", "Follow somebody to add their latest posts."));
  }

  #markSeen() {
    pressed(this.seen, this.holder, async () => {
      await call("PUT", path("feeds", this.user, "seen"), { body: { id: this.list.first.id }, signal: this.signal });
      tell("feed", this.#address);
      await this.#first();
    });
  }

  #following() {
    const source = suggested(isLocal() ? SOURCES : [], {
      placeholder: "actor:ada",
      required: true,
      pattern: "(actor|subject):.+",
      title: "actor: and a name, or subject: and a name",
    });
    const backfill = el("input", { type: "number", name: "backfill", value: "50", min: "0", max: "200", required: true });
    const submit = el("button", { type: "submit", class: "primary" }, "Follow");
    const said = el("div", {});
    const follow = () =>
      pressed(submit, said, async () => {
        await call("PUT", path("users", this.user, "following", source.value.trim()), {
          body: { backfill: Number(backfill.value) },
          signal: this.signal,
        });
        announce(`${this.user} follows ${source.value.trim()}.`);
        source.value = "";
        tell("feed", this.#address);
        this.#readSoon();
        await this.#readFollows();
      });
    return card(
      `${this.user} follows`,
      this.follows,
      this.moreFollows,
      form({ class: "inline" }, follow, field("Source", source), field("Backfill", backfill, { hint: "Earlier posts to add" }), submit),
      said,
    );
  }

  /** Reads the follows after a cursor. */
  #readFollows(cursor = null) {
    return showLast(this.follows.parentElement, this.signal, async (signal) => {
      const target = `${path("users", this.user, "following")}${query({ limit: FOLLOWS, cursor })}`;
      const { data } = await call("GET", target, { signal });
      this.nextFollows = data.next;
      this.moreFollows.hidden = data.next === null;
      const lines = data.following.map(({ source }) => {
        const leave = button(
          "Unfollow",
          () => pressed(leave, this.follows.parentElement, () => this.#unfollow(source)),
          { class: "quiet", "aria-label": `Unfollow ${source}` },
        );
        return el("li", {}, sourceLink(source), leave);
      });
      if (cursor) return this.follows.append(...lines);
      this.follows.replaceChildren(...lines);
      if (lines.length === 0) this.follows.append(el("li", { class: "muted" }, "Nobody yet."));
    });
  }

  async #unfollow(source) {
    await call("DELETE", path("users", this.user, "following", source), { signal: this.signal });
    announce(`${this.user} no longer follows ${source}.`);
    tell("feed", this.#address);
    this.#readSoon();
    await this.#readFollows();
  }

  #post() {
    if (!isLocal()) return card("Post", composer({ topic: "posts", actors: [], signal: this.signal }).element);
    const others = PEOPLE.filter((name) => name !== this.user);
    return card(
      "Post as somebody else",
      composer({ topic: "posts", actor: others[0], actors: others, signal: this.signal }).element,
    );
  }

  #open(event) {
    this.#opened = event.id;
    note({ event: event.id });
    const close = () => {
      this.#opened = null;
      note({ event: null });
      this.side.replaceChildren();
      this.list.element.focus();
      this.arrivals.settle();
    };
    const links = [
      isLocal() &&
        el("a", { href: `#storage${query({ topic: event.topic, event: event.id })}` }, "Show stored copies"),
    ];
    this.side.replaceChildren(eventDetail(event, { actions: links, onclose: close }));
    this.side.querySelector("h2").focus({ preventScroll: true });
  }
}
