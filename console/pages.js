// A list that is read page by page, with the price of the last read, which opens the trace of that request.

import { pages } from "./api.js";
import { button, el, p } from "./dom.js";
import { pressed, showLast } from "./task.js";
import { priced } from "./trace.js";

export class Pages {
  items = [];
  next = null;
  #options;
  /** The number of pages that the user wants to see. */
  #wanted;
  /** The number of reads from the beginning that have ended. */
  #reads = 0;

  /**
   * `target(cursor)` is the request of a page, `of(data)` are the items of its response, and `draw()` shows all `items`, and
   * says in `tally` how many there are, and `head` stands above the list. The button `more` is called `label`, and reads at most `most` pages at once.
   */
  constructor(place, signal, { label = "Load more", most = 1, ...options }) {
    Object.assign(this, { place, signal, most, price: priced(signal) });
    [this.#options, this.#wanted] = [options, most];
    this.more = button(label, () => pressed(this.more, place, () => this.#load(this.next, signal)), { hidden: true });
    this.tally = el("span", {});
    this.head = [p("status", this.tally, this.price.element), this.price.panel];
  }

  /** Reads the list from its beginning, in place of an earlier read, and as far as the user wanted to see it. */
  first() {
    return showLast(this.place, this.signal, (signal) => this.#load(null, signal));
  }

  async #load(cursor, signal) {
    const { target, of, draw } = this.#options;
    let [reads, found, next, count] = [this.#reads, [], null, 0];
    if (cursor) this.#wanted += this.most;
    for await (const answer of pages(target, Infinity, signal, cursor)) {
      found.push(...of(answer.data));
      next = answer.data.next ?? null;
      this.price.show(answer);
      if ((count += 1) >= (cursor ? this.most : this.#wanted)) break;
    }
    if (!cursor) this.#reads += 1;
    // A read from the beginning that ended meanwhile has the older items, too.
    else if (reads !== this.#reads) return;
    Object.assign(this, { items: cursor ? [...this.items, ...found] : found, next });
    this.more.hidden = next === null;
    draw();
  }
}
