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
    Object.assign(this, { place, signal, price: priced(signal) });
    this.#options = options;
    this.#wanted = most;
    this.more = button(label, () => pressed(this.more, place, () => this.#older(most)), { hidden: true });
    this.tally = el("span", {});
    this.head = [p("status", this.tally, this.price.element), this.price.panel];
  }

  /** Reads the list from its beginning, in place of an earlier read, and as far as the user wanted to see it. */
  first() {
    return showLast(this.place, this.signal, async (signal) => {
      const read = await this.#read(null, signal, () => this.#wanted);
      this.#reads += 1;
      this.#show(read);
    });
  }

  async #older(most) {
    this.#wanted += most;
    const reads = this.#reads;
    const { items, next } = await this.#read(this.next, this.signal, () => most);
    // A read from the beginning that ended meanwhile has these items, too.
    if (reads === this.#reads) this.#show({ items: [...this.items, ...items], next });
  }

  /** Reads pages from `cursor` on, at most `wanted()`. */
  async #read(cursor, signal, wanted) {
    const { target, of } = this.#options;
    const items = [];
    let [next, count] = [null, 0];
    for await (const answer of pages(target, Infinity, signal, cursor)) {
      items.push(...of(answer.data));
      next = answer.data.next ?? null;
      this.price.show(answer);
      count += 1;
      if (count >= wanted()) break;
    }
    return { items, next };
  }

  #show({ items, next }) {
    Object.assign(this, { items, next });
    this.more.hidden = next === null;
    this.#options.draw();
  }
}
