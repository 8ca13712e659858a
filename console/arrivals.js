// New events on their way into a list. They are gathered and shown once a frame, so any rate costs the same. The list holds
// still while the user reads or points at it, or for another reason of its panel: a row must not move away from under a
// click. Then new events wait.

import { el } from "./dom.js";

/** The most events that wait. The newest ones stay. */
const MOST = 20_000;

export class Arrivals {
  /** What is not shown yet, by the events' ids; `null` stands for a deletion. */
  #waiting = new Map();
  #frame = 0;
  #pointed = false;
  #options;

  /**
   * `isHeld()` tells the panel's reasons to hold the list still, `apply(changes)` shows changes, each `[id, event]`, and
   * `told(events)` is called with the events that wait. `head` stands above the list.
   */
  constructor(list, options) {
    this.list = list;
    this.#options = options;
    /** The list in its holder, which also has the list's problems and says when there is nothing. */
    this.element = el(
      "div",
      {
        class: "list-holder",
        onpointerenter: () => (this.#pointed = true),
        onpointerleave: () => {
          this.#pointed = false;
          this.settle();
        },
        onfocusout: () => this.settle(),
      },
      options.head,
      list.element,
    );
  }

  get isHeld() {
    return this.#pointed || !this.list.atTop || this.list.isSteered || this.#options.isHeld();
  }

  /** Adds an event, or with `null` the deletion of one. */
  add(id, event) {
    this.#waiting.set(id, event);
    if (this.#waiting.size > MOST) this.#waiting.delete(this.#waiting.keys().next().value);
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.settle();
    });
  }

  /** Shows what waits, unless the list holds still. */
  settle() {
    if (this.isHeld) this.#tell();
    else this.release();
  }

  /** Shows what waits. */
  release() {
    const changes = [...this.#waiting];
    this.#waiting.clear();
    this.#options.apply(changes);
    this.#tell();
  }

  #tell() {
    this.#options.told([...this.#waiting.values()].filter((event) => event !== null));
  }
}
