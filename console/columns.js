// The columns of a list of events: the usual ones, or fields of one's choice, such as `data.amount`. A head names chosen
// columns, and removes them.

import { button, el, field, select } from "./dom.js";
import { eventRow, fillRow, PREVIEW } from "./event.js";
import { fieldOf, textOf } from "./filter.js";

const USUAL = ["time", "type", "who", "data"];
const OTHERS = ["actor", "subject", "id"];

/** The most fields of the data to offer. */
const OFFERED = 100;

export class Columns {
  #names;
  #changed;
  #choice = select([], "", { onchange: () => this.#choose([...this.#names, this.#choice.value]) });
  #fields = [];

  /** `names` is a list with commas; empty for the usual columns. `changed(names)` is called with another such list. */
  constructor(names, changed) {
    this.#names = names ? names.split(",") : USUAL;
    this.#changed = changed;
    this.field = field("Add a column", this.#choice);
    this.head = el("div", { class: "columns-head", role: "group", "aria-label": "Columns" });
    this.#draw();
  }

  get #areUsual() {
    return this.#names.join() === USUAL.join();
  }

  /** Offers the fields of the events' data. */
  offer(events) {
    const known = new Set(this.#fields);
    for (const { data } of events)
      if (typeof data === "object" && data && !Array.isArray(data))
        for (const name of Object.keys(data)) if (/^[^.,]+$/.test(name) && known.size < OFFERED) known.add(`data.${name}`);
    if (known.size === this.#fields.length) return;
    this.#fields = [...known].sort();
    this.#drawChoice();
  }

  /** Writes an event into a row. */
  fill(row, event, marks) {
    if (this.#areUsual) return fillRow(row, event, marks);
    const usual = eventRow();
    fillRow(usual, event, marks);
    const [time, type, who, data, mark] = usual.children;
    const cells = { time, type, who, data };
    const other = (name) => el("bdi", { class: "row-data json" }, textOf(fieldOf(event, name)).slice(0, PREVIEW));
    row.className = `${usual.className} custom`;
    row.replaceChildren(...this.#names.map((name) => cells[name] ?? other(name)), mark);
  }

  #choose(names) {
    this.#names = names.length > 0 ? names : USUAL;
    this.#draw();
    this.#changed(this.#areUsual ? "" : this.#names.join());
  }

  #draw() {
    this.#drawChoice();
    const remove = (name) => () => {
      this.#choose(this.#names.filter((it) => it !== name));
      (this.head.querySelector("button") ?? this.#choice).focus();
    };
    const heads = this.#names.map((name) =>
      button(`${name} ×`, remove(name), { class: "as-link", "aria-label": `Remove the column ${name}` }),
    );
    this.head.replaceChildren(...(this.#areUsual ? [] : heads));
  }

  #drawChoice() {
    const names = [...USUAL, ...OTHERS, ...this.#fields].filter((name) => !this.#names.includes(name));
    this.#choice.replaceChildren(el("option", { value: "" }, "choose"), ...names.map((value) => el("option", { value }, value)));
  }
}
