// A list that is read page by page, with the price of the last read, which opens the trace of that request.

import { pages } from "./api.js";
import { button, el, p } from "./dom.js";
import { pressed, showLast } from "./task.js";
import { priced } from "./trace.js";

export class Pages {
  items = [];
  next = null;
  #options;

  /**
   * `target(cursor)` is the request of a page, `of(data)` are the items of its response, and `draw()` shows all `items`, and
   * says in `tally` how many there are, and `head` stands above the list. The button `more` is called `label`, and reads at most `most` pages at once.
   */
  constructor(place, signal, { label = "Load more", most = 1, ...options }) {
    Object.assign(this, { place, signal, most, price: priced(signal) });
    this.#options = options;
    this.more = button(label, () => pressed(this.more, place, () => this.#load(this.next, signal)), { hidden: true });
    this.tally = el("span", {});
    this.head = [p("status", this.tally, this.price.element), this.price.panel];
  }

  /** Reads the first page, in place of an earlier read. */
  first() {
    return showLast(this.place, this.signal, (signal) => this.#load(null, signal));
  }

  async #load(cursor, signal) {
    const { target, of, draw } = this.#options;
    const found = cursor ? [...this.items] : [];
    for await (const answer of pages(target, this.most, signal, cursor)) {
      found.push(...of(answer.data));
      this.next = answer.data.next ?? null;
      this.price.show(answer);
    }
    this.items = found;
    this.more.hidden = this.next === null;
    draw();
  }
}
