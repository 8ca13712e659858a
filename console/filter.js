// The filter of the events that were read. It costs nothing, because it reads nothing.
//
// Actor and subject must match as a whole; a `*` at the end stands for any rest. A condition compares a field, as in
// `data.amount>10`, and any other word must occur in the event. All of them must hold.

import { field, form, plainInput, suggested, suggestions } from "./dom.js";

const FIELDS = ["id", "at", "topic", "type", "actor", "subject"];

/** A condition (its field, operator and value), a text in quotes, or a word. */
const TERM = /([\p{L}_][\p{L}\p{N}_.-]*)\s*(>=|<=|!=|=|>|<)\s*("[^"]*"|[^\s"]*)|"([^"]*)"|(\S+)/gu;

/** The most values that a field suggests. */
const SUGGESTED = 100;

/** A field of an event, as in `actor`, `data.amount` or `amount`. */
export function fieldOf(event, name) {
  if (FIELDS.includes(name)) return event[name];
  const keys = name.split(".");
  if (keys[0] === "data") keys.shift();
  return keys.reduce(
    (value, key) => (typeof value === "object" && value && Object.hasOwn(value, key) ? value[key] : undefined),
    event.data,
  );
}

/** A value as a text; numbers have the digits that were sent. */
export const textOf = (value) => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""));

const ORDERS = {
  "=": (order) => order === 0,
  "!=": (order) => order !== 0,
  ">": (order) => order > 0,
  ">=": (order) => order >= 0,
  "<": (order) => order < 0,
  "<=": (order) => order <= 0,
};

/** Negative, zero or positive; NaN if the two cannot be compared. */
function orderOf(value, wanted) {
  const text = textOf(value);
  if (text === wanted) return 0;
  const [one, other] = [number(text), number(wanted)];
  if (one < other) return -1;
  if (one > other) return 1;
  if (one >= other) return 0;
  if (value === undefined || !Number.isNaN(other)) return Number.NaN;
  return text < wanted ? -1 : 1;
}

/** A double cannot hold the digits of a large whole number. */
const number = (text) =>
  /^-?\d{1,40}$/.test(text) ? BigInt(text) : text.trim() === "" ? Number.NaN : Number(text);

function condition([, name, operator, value, quoted, word]) {
  if (name) {
    const wanted = value.replace(/^"(.*)"$/s, "$1");
    return (event) => ORDERS[operator](orderOf(fieldOf(event, name), wanted));
  }
  const wanted = (quoted ?? word).toLowerCase();
  return ({ id, type, actor, subject, data }) =>
    [id, type, actor, subject, textOf(data)].join(" ").toLowerCase().includes(wanted);
}

const fits = (value = "", wanted) => (wanted.endsWith("*") ? value.startsWith(wanted.slice(0, -1)) : value === wanted);

/** A function that says whether an event passes the filter; `null` if nothing is filtered. `types` is a list with commas. */
export function matcher({ actor, subject, types, where }) {
  const tests = [...(where ?? "").matchAll(TERM)].map(condition);
  const allowed = types && types.split(",");
  if (actor) tests.push((event) => fits(event.actor, actor));
  if (subject) tests.push((event) => fits(event.subject, subject));
  if (allowed) tests.push((event) => allowed.includes(event.type));
  return tests.length === 0 ? null : (event) => tests.every((test) => test(event));
}

/** The fields of the filter. `changed(values)` is called at each change. */
export class FilterFields {
  #actor;
  #subject;

  constructor({ actor, subject, where }, changed) {
    this.#actor = suggested([], { value: actor ?? "", placeholder: "all" });
    this.#subject = suggested([], { value: subject ?? "", placeholder: "all, or repo:octo:*" });
    const text = plainInput({ type: "search", value: where ?? "", placeholder: 'data.amount>10 "some words"' });
    const tell = () =>
      changed({ actor: this.#actor.value.trim(), subject: this.#subject.value.trim(), where: text.value.trim() });
    this.element = form(
      { class: "fields", "aria-label": "Filter of the events that were read", oninput: tell },
      tell,
      field("Actor is", this.#actor),
      field("Subject is", this.#subject),
      field("Words or conditions", text, { wide: true }),
    );
  }

  /** Suggests the actors and subjects of events. */
  suggest(events) {
    const values = (name) => [...new Set(events.map((event) => event[name]).filter(Boolean))].slice(0, SUGGESTED).sort();
    suggestions(this.#actor, values("actor"));
    suggestions(this.#subject, values("subject"));
  }
}
