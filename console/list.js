// A list of any length with a small number of elements.
//
// All rows have the same height, so the position of a row is its index times the height, and only visible rows have an
// element: scrolling 10,000 events costs as much as scrolling fifty. An item keeps its element while it is in sight;
// then the element shows another item, so none of them can have the focus. The list has the focus and names the active
// row (`aria-activedescendant`). Each row has its index and the number of rows.
//
// A filter decides which of the items are shown.
//
// Any number of changes cause one drawing in the next frame. Sizes and the scroll position are read only when they
// change, because reading them after a change of the page forces the browser to lay out the page.

import { el } from "./dom.js";
import { Ordered } from "./ordered.js";

/** The rows beyond each edge, so that scrolling shows no gap before the next frame. */
const BEYOND = 8;

/** The rows before the end at which the list asks for more. */
const NEAR_END = 30;

let lists = 0;

export class List {
  /** All items, and those that pass the filter. */
  #all;
  #shown;
  #matches = () => true;
  /** The key of the active item. */
  #active = null;
  /** The rows in sight, by their items' keys, and the rows without an item. */
  #rows = new Map();
  #spare = [];
  #frame = 0;
  /** The row's height, the list's height and the scroll position, in pixels. */
  #height = 42;
  #view = 0;
  #top = 0;
  #options;
  #holder = el("div", { class: "rows", role: "presentation" });

  /**
   * `row()` makes the element of an empty row, and `fill(element, item)` writes an item into it. `key(item)` orders the
   * list, largest first. `open(item)` is called on Enter or a click, `moved(item)` when a key makes an item active,
   * `nearEnd()` when more items are needed, and `scrolled(atTop)` after scrolling. With `most`, the list drops its last
   * items to have no more than so many.
   */
  constructor(options) {
    lists += 1;
    this.#options = { id: `list-${lists}`, most: Infinity, ...options };
    this.#all = new Ordered(options.key);
    this.#shown = new Ordered(options.key);
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
      this.#holder,
    );
    this.#holder.addEventListener("click", (event) => this.#clicked(event));
    this.#holder.addEventListener("animationend", ({ target }) => target.classList.remove("fresh"));
    new ResizeObserver(() => this.#measure()).observe(this.element);
  }

  get length() {
    return this.#shown.length;
  }

  get items() {
    return this.#shown.items;
  }

  /** All items, also those that the filter hides. */
  get all() {
    return this.#all;
  }

  get atTop() {
    return this.#top < this.#height / 2;
  }

  /** True while the user moves through the list with the keyboard. */
  get isSteered() {
    return this.#active !== null && this.element.matches(":focus-visible");
  }

  /** Shows only the items for which `matches(item)` is true. */
  filter(matches) {
    this.#matches = matches;
    this.#shown.set(this.#all.items.filter(matches));
    if (this.#active !== null && !this.#shown.has(this.#active)) this.#active = null;
    this.#refill();
    this.toTop();
  }

  set(items) {
    this.#all.set(items);
    this.#active = null;
    this.filter(this.#matches);
  }

  append(items) {
    this.#shown.append(this.#all.append(items).filter(this.#matches));
    this.#draw();
  }

  /** Makes the list equal to a newest page as far as that reaches, or wholly if the page has all items. */
  align(items, isAll) {
    const { key } = this.#options;
    const there = new Set(items.map(key));
    const covered = this.#all.items.slice(0, isAll ? this.#all.length : this.#all.place(key(items.at(-1)))).map(key);
    covered.filter((it) => !there.has(it)).forEach((it) => this.remove(it));
    this.#refill();
    this.merge(items);
  }

  /** Inserts new items in order, without moving the visible rows. */
  merge(items) {
    const { key, most } = this.#options;
    const seen = this.items[Math.floor(this.#top / this.#height)];
    const before = this.atTop || !seen ? 0 : this.#shown.place(key(seen));
    const added = this.#all.merge(items);
    if (added.length === 0) return;
    this.#all.cut(most);
    this.#shown.merge(added.filter(this.#matches));
    this.#shown.cut(this.#shown.place(key(this.#all.last)));
    if (before) this.#scrollTo(this.#top + (this.#shown.place(key(seen)) - before) * this.#height);
    this.#draw();
  }

  /** Removes an item. */
  remove(key) {
    this.#all.remove(key);
    const at = this.#shown.remove(key);
    if (at >= 0 && this.#active === key) this.#active = this.items[at] ? this.#options.key(this.items[at]) : null;
    this.#draw();
  }

  /** Makes all rows anew, after a change of their form. */
  rebuild() {
    this.#holder.replaceChildren();
    this.#rows.clear();
    this.#spare = [];
    this.#draw();
  }

  toTop() {
    this.#scrollTo(0);
    this.#draw();
  }

  /** Makes the item with this key active, if the list has it. */
  choose(key) {
    if (this.#shown.has(key)) this.#activate(this.#shown.place(key) - 1);
  }

  /** Makes an item active that is so many rows further down, and returns it. */
  step(rows) {
    const at = this.#index() + rows;
    if (at >= 0 && at < this.length) return this.#activate(at);
  }

  /** The index of the active item, or -1. */
  #index() {
    return this.#active === null ? -1 : this.#shown.place(this.#active) - 1;
  }

  #measure() {
    // The style sets the height of a row, depending on the width of the screen.
    this.#height = Number.parseFloat(getComputedStyle(this.element).getPropertyValue("--row")) || this.#height;
    this.#view = this.element.clientHeight;
    this.#top = this.element.scrollTop;
    this.#drawNow();
  }

  #scrollTo(top) {
    if (top === this.#top) return;
    this.#resize();
    this.#top = top;
    this.element.scrollTop = top;
  }

  #scrolled() {
    this.#top = this.element.scrollTop;
    this.#options.scrolled?.(this.atTop);
    this.#draw();
  }

  #resize() {
    this.#holder.style.height = `${this.items.length * this.#height}px`;
  }

  #draw() {
    this.#frame ||= requestAnimationFrame(() => this.#drawNow());
  }

  #drawNow() {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#resize();
    const { key, more, nearEnd } = this.#options;
    const first = Math.max(0, Math.floor(this.#top / this.#height) - BEYOND);
    const last = Math.min(this.items.length, first + Math.ceil(this.#view / this.#height) + 2 * BEYOND);
    const inSight = new Set(this.items.slice(first, last).map(key));
    for (const [it, row] of this.#rows) if (!inSight.has(it)) this.#free(it, row);
    const size = more?.() ? -1 : this.items.length;
    this.element.removeAttribute("aria-activedescendant");
    // From below, so that each new row is put in front of the next one: screen readers read the rows in this order.
    let next = null;
    for (let index = last - 1; index >= first; index -= 1) next = this.#show(this.items[index], index, size, next);
    for (const row of this.#spare) row.hidden = true;
    if (last > this.items.length - NEAR_END) nearEnd?.();
  }

  #show(item, index, size, next) {
    const key = this.#options.key(item);
    let row = this.#rows.get(key);
    if (!row) {
      row = this.#spare.pop() ?? this.#newRow();
      row.hidden = false;
      this.#holder.insertBefore(row, next);
      this.#rows.set(key, row);
      this.#options.fill(row, item);
    }
    row.style.transform = `translateY(${index * this.#height}px)`;
    row.setAttribute("aria-posinset", index + 1);
    row.setAttribute("aria-setsize", size);
    row.setAttribute("aria-selected", key === this.#active);
    if (key === this.#active) this.element.setAttribute("aria-activedescendant", row.id);
    return row;
  }

  #newRow() {
    const row = this.#options.row();
    row.setAttribute("role", "option");
    row.id = `${this.#options.id}-row-${this.#rows.size}`;
    return row;
  }

  #free(key, row) {
    this.#rows.delete(key);
    row.setAttribute("aria-selected", "false");
    this.#spare.push(row);
  }

  /** Writes all rows anew. An item that is still there keeps its row. */
  #refill() {
    for (const [key, row] of this.#rows) {
      if (this.#shown.has(key)) this.#options.fill(row, this.items[this.#shown.place(key) - 1]);
      else this.#free(key, row);
    }
    this.#draw();
  }

  #activate(index) {
    const item = this.items[Math.max(0, Math.min(index, this.items.length - 1))];
    this.#active = this.#options.key(item);
    const top = this.#index() * this.#height;
    if (top < this.#top) this.#scrollTo(top);
    else if (top + this.#height > this.#top + this.#view) this.#scrollTo(top + this.#height - this.#view);
    this.#draw();
    return item;
  }

  #keyed(event) {
    const page = Math.max(1, Math.floor(this.#view / this.#height) - 1);
    const at = this.#index();
    const moves = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      j: at + 1,
      k: at - 1,
      PageDown: at + page,
      PageUp: at - page,
      Home: 0,
      End: this.items.length - 1,
    };
    if (this.items.length === 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key in moves) {
      const item = this.#activate(moves[event.key]);
      this.#options.moved?.(item);
    } else if (event.key === "Enter" && at >= 0) this.#options.open?.(this.items[at]);
    else return;
    event.preventDefault();
  }

  #clicked({ target }) {
    const clicked = [...this.#rows].find(([, row]) => row.contains(target));
    if (!clicked) return;
    this.choose(clicked[0]);
    this.#options.open?.(this.items[this.#index()]);
  }
}
