// A list of any length with a small number of elements.
//
// All rows have the same height, so the position of a row is its index times the height, and only visible rows have an
// element: scrolling 10,000 events costs as much as scrolling fifty. Elements are reused for other rows, so none of
// them can have the focus. The list has the focus and names the active row (`aria-activedescendant`). Each row has its
// index and the number of rows.

import { el } from "./dom.js";

/** The rows beyond each edge, so that scrolling shows no gap before the next frame. */
const BEYOND = 8;

/** The rows before the end at which the list asks for more. */
const NEAR_END = 30;

let lists = 0;

export class List {
  #items = [];
  #keys = new Set();
  #pool = [];
  #active = -1;
  #version = 0;
  #frame = 0;
  #options;
  #rows = el("div", { class: "rows", role: "presentation" });

  /**
   * `row()` makes the element of an empty row, and `fill(element, item)` writes an item into it. `key(item)` orders the
   * list, largest first. `open(item)` is called on Enter or a click, `nearEnd()` when more items are needed, and
   * `scrolled(atTop)` after scrolling.
   */
  constructor(options) {
    lists += 1;
    this.#options = { id: `list-${lists}`, ...options };
    this.element = el(
      "div",
      {
        class: "list",
        role: "listbox",
        tabindex: "0",
        "aria-label": options.label,
        onscroll: () => this.#scrolled(),
        onkeydown: (event) => this.#keyed(event),
      },
      this.#rows,
    );
    this.#rows.addEventListener("click", (event) => this.#clicked(event));
    new ResizeObserver(() => this.#draw(true)).observe(this.element);
  }

  get length() {
    return this.#items.length;
  }

  get first() {
    return this.#items[0];
  }

  get last() {
    return this.#items.at(-1);
  }

  get atTop() {
    return this.element.scrollTop < this.#height() / 2;
  }

  set(items) {
    this.#items = [...items];
    this.#keys = new Set(items.map(this.#options.key));
    this.#active = -1;
    this.element.scrollTop = 0;
    this.#draw(true);
  }

  append(items) {
    const fresh = items.filter((item) => this.#learn(item));
    this.#items.push(...fresh);
    this.#draw(true);
  }

  /** Makes the list equal to a newest page as far as that reaches. Returns the number of new items. */
  align(items) {
    const { key } = this.#options;
    const there = new Set(items.map(key));
    const covered = this.#items.filter((item) => items.length > 0 && key(item) >= key(items.at(-1)));
    covered.filter((item) => !there.has(key(item))).forEach((item) => this.remove(key(item)));
    return this.merge(items);
  }

  has(key) {
    return this.#keys.has(key);
  }

  /** Inserts new items in order, without moving the visible rows. Returns the number of new items. */
  merge(items) {
    const height = this.#height();
    const wasAtTop = this.atTop;
    let above = 0;
    let added = 0;
    for (const item of items) {
      if (!this.#learn(item)) continue;
      const at = this.#place(this.#options.key(item));
      this.#items.splice(at, 0, item);
      added += 1;
      if (this.#active >= at) this.#active += 1;
      if (at * height <= this.element.scrollTop) above += 1;
    }
    this.#resize();
    if (!wasAtTop) this.element.scrollTop += above * height;
    this.#draw(true);
    return added;
  }

  /** Removes an item. Returns true if the list had it. */
  remove(key) {
    if (!this.#keys.delete(key)) return false;
    const at = this.#items.findIndex((item) => this.#options.key(item) === key);
    this.#items.splice(at, 1);
    if (this.#active >= at) this.#active -= 1;
    this.#draw(true);
    return true;
  }

  toTop() {
    this.element.scrollTop = 0;
    this.#draw(true);
  }

  #learn(item) {
    const key = this.#options.key(item);
    return !this.#keys.has(key) && Boolean(this.#keys.add(key));
  }

  /** The first index with a smaller key; keys are in descending order. */
  #place(key) {
    let low = 0;
    let high = this.#items.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#options.key(this.#items[middle]) > key) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The height of a row. The style sets it, depending on the width of the screen. */
  #height() {
    return Number.parseFloat(getComputedStyle(this.element).getPropertyValue("--row")) || 44;
  }

  #resize() {
    this.#rows.style.height = `${this.#items.length * this.#height()}px`;
  }

  #scrolled() {
    this.#options.scrolled?.(this.atTop);
    if (this.#frame) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw(false);
    });
  }

  #draw(anew) {
    if (anew) {
      this.#version += 1;
      this.#resize();
    }
    const height = this.#height();
    const first = Math.max(0, Math.floor(this.element.scrollTop / height) - BEYOND);
    const inSight = Math.ceil(this.element.clientHeight / height) + 2 * BEYOND;
    const last = Math.min(this.#items.length, first + inSight);
    this.#fit(inSight);
    const used = new Set();
    for (let index = first; index < last; index += 1) {
      const row = this.#pool[index % this.#pool.length];
      used.add(row);
      if (row.index === index && row.version === this.#version) continue;
      Object.assign(row, { index, version: this.#version });
      this.#write(row, height);
    }
    for (const row of this.#pool) row.element.hidden = !used.has(row);
    if (last > this.#items.length - NEAR_END) this.#options.nearEnd?.();
  }

  #fit(size) {
    while (this.#pool.length < size) {
      const element = this.#options.row();
      element.setAttribute("role", "option");
      const row = { element, index: -1, version: -1 };
      element.id = `${this.#options.id}-row-${this.#pool.length}`;
      this.#pool.push(row);
      this.#rows.append(element);
    }
  }

  #write(row, height) {
    const { element, index } = row;
    element.style.transform = `translateY(${index * height}px)`;
    element.setAttribute("aria-posinset", index + 1);
    element.setAttribute("aria-setsize", this.#options.more?.() ? -1 : this.#items.length);
    element.setAttribute("aria-selected", index === this.#active);
    if (index === this.#active) this.element.setAttribute("aria-activedescendant", element.id);
    this.#options.fill(element, this.#items[index]);
  }

  #activate(index) {
    this.#active = Math.max(0, Math.min(index, this.#items.length - 1));
    const height = this.#height();
    const top = this.#active * height;
    const { scrollTop, clientHeight } = this.element;
    if (top < scrollTop) this.element.scrollTop = top;
    else if (top + height > scrollTop + clientHeight) this.element.scrollTop = top + height - clientHeight;
    this.#draw(true);
  }

  #keyed(event) {
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.#height()) - 1);
    const moves = {
      ArrowDown: this.#active + 1,
      ArrowUp: this.#active - 1,
      PageDown: this.#active + page,
      PageUp: this.#active - page,
      Home: 0,
      End: this.#items.length - 1,
    };
    if (this.#items.length === 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key in moves) this.#activate(moves[event.key]);
    else if (event.key === "Enter" && this.#active >= 0) this.#options.open?.(this.#items[this.#active]);
    else return;
    event.preventDefault();
  }

  #clicked(event) {
    const row = this.#pool.find(({ element }) => element.contains(event.target));
    if (!row) return;
    this.#activate(row.index);
    this.#options.open?.(this.#items[row.index]);
  }
}
