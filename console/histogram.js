// A histogram of the events that were read, by time and type. The API has no counts, so what was not read yet is grey.
//
// A click or a drag chooses a range of time. With the keyboard the histogram is a slider: the arrow keys move, Shift
// extends the range, and Enter chooses it. A button for each type shows and hides the events of the type. The elements
// stay the same at any number of events.

import { button, div, el, svg } from "./dom.js";
import { count, plural, seconds } from "./format.js";
import { CLASSES } from "./hues.js";
import { clock, iso, offset } from "./zone.js";

const MINUTE = 60_000;
const DAY = 1440 * MINUTE;

/** The widths that a bar may have. */
const WIDTHS = [
  ...[1000, 5000, 15_000, 30_000],
  ...[1, 5, 15, 30, 60, 180, 360, 720].map((minutes) => minutes * MINUTE),
  ...[1, 7, 30, 365].map((days) => days * DAY),
];

/** The most bars, and those that Page Up and Page Down move. */
const MOST = 60;
const PAGE = 10;

const HEIGHT = 28;

/** The height of the smallest bar. */
const LEAST = 2;

/** The most types that have a button: the chosen ones and the most frequent ones. */
const TYPES = 12;

/** The first bar's beginning, the bars' width and their number, for a range of time; bars begin at full units of time. */
function axis(start, end) {
  const span = end - start;
  const width = WIDTHS.find((it) => span / it < MOST - 1) ?? Math.ceil(span / MOST / DAY) * DAY;
  const shift = offset(start);
  const first = Math.floor((start - shift) / width) * width + shift;
  return { first, width, bars: Math.floor((end - first) / width) + 1 };
}

export class Histogram {
  #axis = null;
  #state = null;
  /** The numbers of events by type, one for each bar. */
  #counts = new Map();
  /** The bars where the range begins and ends, in any order; -1 for no range. */
  #from = -1;
  #to = -1;
  #dragging = false;
  #paths = new Map(CLASSES.map((name) => [name, svg("path", { class: name })]));
  #unread = svg("rect", { class: "not-read", height: HEIGHT });
  #mark = svg("rect", { class: "range", height: HEIGHT });
  #svg = svg("svg", { preserveAspectRatio: "none", "aria-hidden": "true" }, this.#unread, [...this.#paths.values()], this.#mark);
  #track;
  #caption = el("p", { class: "hint", hidden: true });
  #text = "";
  #legend = el("div", { class: "actions", role: "group", "aria-label": "Kinds of events" });
  #buttons = new Map();
  #types;
  #options;

  /**
   * `types` are the types that are shown, as a list with commas; empty for all. `choose(from, to)` is called with a range,
   * and `toggle(types)` with other types. `hues` are the
   * colours of types.
   */
  constructor({ types, ...options }) {
    this.#options = options;
    this.#types = new Set(types ? types.split(",") : []);
    this.#track = el(
      "div",
      {
        class: "track",
        role: "slider",
        tabindex: "0",
        hidden: true,
        "aria-label": "Range of time. Shift and an arrow key extend it, Enter chooses it.",
        "aria-valuemin": "0",
        onpointerdown: (event) => this.#press(event),
        onpointermove: (event) => this.#point(this.#under(event), this.#dragging),
        onpointerup: () => this.#dragging && this.#choose(),
        onpointercancel: () => this.#rest(),
        onpointerleave: () => this.#dragging || this.#rest(),
        onfocus: () => this.#from < 0 && this.#point(this.#last, false),
        onblur: () => this.#rest(),
        onkeydown: (event) => this.#keyed(event),
      },
      this.#svg,
    );
    this.element = el(
      "section",
      { class: "histogram", "aria-label": "Events over time" },
      this.#track,
      div("actions", this.#caption, this.#legend),
    );
  }

  get isDrawn() {
    return this.#axis !== null;
  }

  get #last() {
    return this.#axis.bars - 1;
  }

  /**
   * Draws the events `shown` of `all` that were read, newest first. The legend counts those of `typed`. `from` and `to` are the range that was asked for, and
   * `isMore` says that older events were not read. The bars hold still while the user chooses a range.
   */
  draw(state) {
    this.#state = state;
    this.#drawLegend(state.typed);
    if (this.#from >= 0) return;
    const { all, shown, from, to, isMore } = state;
    const [newest, oldest] = [all[0], all.at(-1)].map((event) => Date.parse(event?.at));
    const start = from ? Date.parse(from) : oldest;
    const end = to ? Date.parse(to) - 1 : from ? Math.max(Date.now(), newest || 0) : newest;
    this.#axis = end >= start ? axis(start, end) : null;
    this.#track.hidden = this.#caption.hidden = !this.#axis;
    if (!this.#axis) return;
    const { first, width, bars } = this.#axis;
    this.#count(shown);
    this.#svg.setAttribute("viewBox", `0 0 ${bars} ${HEIGHT}`);
    this.#drawBars();
    const isGrey = isMore && oldest > start;
    this.#unread.setAttribute("width", isGrey ? (oldest - first) / width : 0);
    this.#track.setAttribute("aria-valuemax", this.#last);
    const grey = isGrey ? " Grey: not read yet." : "";
    const [begin, until] = this.#clocks(0, this.#last);
    this.#text = `${begin} to ${until}, ${seconds(width / 1000)} a bar: the ${plural(shown.length, "event")} in the list.${grey} Click or drag to choose.`;
    this.#show();
  }

  #count(events) {
    const { first, width, bars } = this.#axis;
    this.#counts = new Map();
    for (const { at, type } of events) {
      const bar = Math.floor((Date.parse(at) - first) / width);
      if (bar < 0 || bar >= bars) continue;
      if (!this.#counts.has(type)) this.#counts.set(type, new Uint32Array(bars));
      this.#counts.get(type)[bar] += 1;
    }
  }

  #drawBars() {
    const { bars } = this.#axis;
    const counts = [...this.#counts];
    const sums = Array.from({ length: bars }, (_, bar) => counts.reduce((sum, [, each]) => sum + each[bar], 0));
    const most = Math.max(1, ...sums);
    const tops = new Array(bars).fill(HEIGHT);
    const paths = new Map(CLASSES.map((name) => [name, ""]));
    for (const [type, each] of counts.sort(([a], [b]) => (a < b ? -1 : 1)))
      each.forEach((number, bar) => {
        if (number === 0) return;
        const height = (number / sums[bar]) * Math.max(LEAST, (sums[bar] / most) * (HEIGHT - LEAST));
        const name = this.#options.hues.of(type);
        paths.set(name, `${paths.get(name)}M${bar + 0.1} ${tops[bar]}h.8v${-height}h-.8z`);
        tops[bar] -= height;
      });
    this.#paths.forEach((path, name) => path.setAttribute("d", paths.get(name)));
  }

  #drawLegend(events) {
    const sizes = new Map([...this.#types].map((type) => [type, 0]));
    for (const { type } of events) sizes.set(type, (sizes.get(type) ?? 0) + 1);
    const rank = (type) => (this.#types.has(type) ? Infinity : sizes.get(type));
    const types = [...sizes.keys()].sort((a, b) => (rank(a) > rank(b) ? -1 : 1)).slice(0, TYPES).sort();
    if (types.join() !== [...this.#buttons.keys()].join()) {
      this.#buttons = new Map(types.map((type) => [type, this.#buttons.get(type) ?? this.#button(type)]));
      this.#legend.replaceChildren(...this.#buttons.values());
    }
    for (const [type, each] of this.#buttons) each.lastChild.textContent = ` ${count(sizes.get(type))}`;
  }

  #button(type) {
    const toggle = () => {
      if (!this.#types.delete(type)) this.#types.add(type);
      each.setAttribute("aria-pressed", this.#types.has(type));
      this.#options.toggle([...this.#types].join());
    };
    const each = button("", toggle, { class: "mark", "aria-pressed": String(this.#types.has(type)) });
    each.append(el("span", { class: `row-type ${this.#options.hues.of(type)}` }, type), el("span", {}));
    return each;
  }

  #under(event) {
    const { left, width } = this.#track.getBoundingClientRect();
    return Math.floor(((event.clientX - left) / width) * this.#axis.bars);
  }

  #press(event) {
    if (event.button !== 0) return;
    this.#dragging = true;
    this.#track.setPointerCapture(event.pointerId);
    this.#point(this.#under(event), false);
  }

  /** Moves the end of the range to a bar, and its beginning too unless the range is extended. */
  #point(bar, isExtended) {
    this.#to = Math.max(0, Math.min(bar, this.#last));
    if (!isExtended) this.#from = this.#to;
    this.#show();
  }

  /** Ends the choice without a range. */
  #rest() {
    this.#dragging = false;
    this.#from = this.#to = -1;
    this.draw(this.#state);
  }

  /** The range's first and last bar. */
  get #range() {
    return [this.#from, this.#to].sort((a, b) => a - b);
  }

  #show() {
    const [low, high] = this.#range;
    const text = low < 0 ? this.#text : this.#describe(low, high);
    this.#mark.setAttribute("x", low);
    this.#mark.setAttribute("width", low < 0 ? 0 : high - low + 1);
    this.#caption.textContent = text;
    this.#track.setAttribute("aria-valuenow", low < 0 ? this.#last : this.#to);
    this.#track.setAttribute("aria-valuetext", text);
  }

  /** The times at which a range of bars begins and ends. */
  #times(low, high) {
    const { first, width } = this.#axis;
    return [first + low * width, first + (high + 1) * width].map(iso);
  }

  /** The same times, as they are shown. */
  #clocks(low, high) {
    const length = this.#axis.width < MINUTE ? 19 : 16;
    return this.#times(low, high).map((at) => clock(at).slice(0, length).replace("T", " "));
  }

  #describe(low, high) {
    const [begin, end] = this.#clocks(low, high);
    const sizes = [...this.#counts].map(([type, each]) => [type, each.slice(low, high + 1).reduce((sum, it) => sum + it, 0)]);
    const parts = sizes.filter(([, size]) => size > 0).map(([type, size]) => `${count(size)} ${type}`);
    return `${begin} to ${end}: ${parts.join(", ") || "no event that was read"}`;
  }

  #choose() {
    const times = this.#times(...this.#range);
    this.#rest();
    this.#options.choose(...times);
  }

  #keyed(event) {
    const moves = {
      ArrowLeft: this.#to - 1,
      ArrowDown: this.#to - 1,
      ArrowRight: this.#to + 1,
      ArrowUp: this.#to + 1,
      PageDown: this.#to - PAGE,
      PageUp: this.#to + PAGE,
      Home: 0,
      End: this.#last,
    };
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key in moves) this.#point(moves[event.key], event.shiftKey);
    else if ((event.key === "Enter" || event.key === " ") && this.#from >= 0) this.#choose();
    else return;
    event.preventDefault();
  }
}
