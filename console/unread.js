// The unread entries of a feed: their number, and the buttons that count all of them and mark them as seen.

import { apiUrl, call, path } from "./api.js";
import { announce, button, el } from "./dom.js";
import { count } from "./format.js";
import { tell } from "./tabs.js";
import { pressed } from "./task.js";

export class Unread {
  #ids = new Set();
  #number = 0;
  #hasMore = false;

  /** `place` shows problems, `newest()` is the id up to which all is seen, and `changed(answer)` is called after a change. */
  constructor(user, signal, { place, newest, changed }) {
    Object.assign(this, { user, signal, place, newest, changed });
    this.badge = el("span", { class: "badge" });
    this.all = button("Count all", () => this.#countAll(), { class: "as-link", hidden: true });
    this.seen = button("Mark all as seen", () => this.#mark(), { class: "as-link", disabled: true });
    this.elements = [this.badge, this.all, this.seen];
  }

  /** Names the feed among all APIs. */
  get address() {
    return `${apiUrl()} ${this.user}`;
  }

  has(id) {
    return this.#ids.has(id);
  }

  /** Takes the numbers of a first page. */
  read({ events, unread, unread_more: more }) {
    const others = events.filter(({ actor }) => actor !== this.user);
    this.#ids = new Set(others.slice(0, unread).map(({ id }) => id));
    this.#show(unread, more);
  }

  /** Counts new entries. The user's own are never unread. */
  add(events) {
    const others = events.filter(({ actor }) => actor !== this.user);
    others.forEach(({ id }) => this.#ids.add(id));
    this.#show(this.#number + others.length, this.#hasMore);
  }

  #show(number, more) {
    [this.#number, this.#hasMore] = [number, more];
    const none = number === 0 && !more;
    this.badge.textContent = none ? "All seen" : `${count(number)}${more ? "+" : ""} unread`;
    this.badge.classList.toggle("none", none);
    this.all.hidden = !more;
    this.seen.disabled = none;
  }

  /** Counts up to 500 and more unread entries. A page counts only its own, because that costs nothing. */
  #countAll() {
    return pressed(this.all, this.place, async () => {
      const answer = await call("GET", path("feeds", this.user, "unread"), { signal: this.signal });
      this.#show(answer.data.unread, answer.data.more);
      announce(this.badge.textContent);
      if (this.all.hidden) this.seen.focus();
    });
  }

  #mark() {
    return pressed(this.seen, this.place, async () => {
      await call("PUT", path("feeds", this.user, "seen"), { body: { id: this.newest() }, signal: this.signal });
      tell("feed", this.address);
      await this.changed();
    });
  }
}
