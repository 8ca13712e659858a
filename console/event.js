// An event as a row of a list, and its details.
//
// All of an event is text from somebody else. So it is written as text nodes, cut to the length of a row, and isolated
// in its text direction.

import { query, share } from "./api.js";
import { button, div, el, factList, p } from "./dom.js";
import { count, moment, time, whole } from "./format.js";
import { sourceLink } from "./scope.js";
import { asking } from "./task.js";

/** The characters of an event's data in a row. More would not be visible. */
export const PREVIEW = 240;

/** The characters of an event's data that its details show at first. A browser takes long to lay out more. */
const SHOWN = 20_000;

/** The cells of an event in a table: its time, type, actor and data. */
export const eventCells = ({ at, type, actor, data }) => [
  moment(at),
  type,
  el("bdi", {}, actor),
  el("code", { class: "cut" }, JSON.stringify(data ?? null)),
];

export function eventRow() {
  return div(
    "row",
    el("span", { class: "row-time" }),
    el("span", { class: "row-type" }),
    el("bdi", { class: "row-who" }),
    el("bdi", { class: "row-data" }),
    el("span", { class: "unseen" }),
  );
}

/** Writes an event into a row: the text or title of its data, or else its JSON. `fresh` marks a new event. */
export function fillRow(row, event, { hues, unread = false, fresh = false }) {
  const [at, type, who, data, mark] = row.children;
  at.textContent = time(event.at);
  at.title = whole(event.at);
  type.textContent = event.type;
  type.className = `row-type ${hues.of(event.type)}`;
  who.textContent = event.subject ? `${event.actor} → ${event.subject}` : event.actor;
  const text = event.data?.text ?? event.data?.title;
  const isText = typeof text === "string";
  data.textContent = (isText ? text : event.data === undefined ? "" : JSON.stringify(event.data)).slice(0, PREVIEW);
  data.className = isText ? "row-data" : "row-data json";
  mark.textContent = unread ? "unread" : "";
  row.className = `row${unread ? " unread" : ""}${fresh ? " fresh" : ""}`;
}

/** The topics and actors whose events a connection may not delete. The page learns them from refused requests. */
const refused = new WeakMap();

/**
 * A button that deletes an event after a question. After a refusal, a sentence stands in its place for all events of the
 * same topic and actor. `remove` sends the request, and its problem is shown in `place`.
 */
export function deletion({ topic, actor, type, at }, place, remove) {
  const known = refused.get(share()) ?? new Set();
  refused.set(share(), known);
  const source = `${topic} ${actor}`;
  const sentence = () => p("muted", `This token may not delete events of ${actor} in ${topic}.`);
  const attempt = () =>
    remove().catch((problem) => {
      if (problem.code === "forbidden") {
        known.add(source);
        box.replaceChildren(sentence());
      }
      throw problem;
    });
  const question = `Delete this ${type} of ${time(at)}? This cannot be undone.`;
  const box = div("deletion", known.has(source) ? sentence() : asking("Delete", question, place, attempt));
  return box;
}

/**
 * The details of an event. `actions` are links and buttons, `copies` are buttons that copy; `onclose` moves the focus back.
 * `step(1)` shows the next event of the list and `step(-1)` the previous one.
 */
export function eventDetail(event, { actions = [], copies = [], onclose, step }) {
  const facts = [
    ["id", el("code", {}, event.id)],
    ["at", whole(event.at)],
    ["topic", event.topic],
    ["type", el("a", { href: `#events${query({ topic: event.topic, type: event.type })}` }, event.type)],
    ["actor", sourceLink(`actor:${event.actor}`, event.actor)],
    ["subject", event.subject && sourceLink(`subject:${event.subject}`, event.subject)],
  ].filter(([, value]) => value);
  const to = (label, key, rows) =>
    step && button(label, () => step(rows), { class: "quiet", title: `Key: ${key}`, "aria-keyshortcuts": key });
  const text = event.data === undefined ? "no data" : JSON.stringify(event.data, null, 2);
  const data = el("pre", { class: "data", tabindex: "0", "aria-label": "Data" }, text.slice(0, SHOWN));
  const showAll = () => {
    data.textContent = text;
    rest.remove();
    data.focus();
  };
  const rest = text.length > SHOWN && button(`Show all ${count(text.length)} characters`, showAll, { class: "as-link" });
  const keyed = (pressed) => {
    if (pressed.altKey || pressed.ctrlKey || pressed.metaKey) return;
    const rows = { j: 1, k: -1 }[pressed.key];
    if (pressed.key === "Escape") onclose();
    else if (rows && !pressed.target.closest("input, select, textarea")) step?.(rows);
  };
  return el(
    "aside",
    { class: "detail", "aria-label": "The event", onkeydown: keyed },
    div(
      "detail-head",
      el("h2", { tabindex: "-1" }, "Event"),
      el(
        "div",
        {},
        to("Previous", "k", -1),
        to("Next", "j", 1),
        button("Close", onclose, { class: "quiet", "aria-keyshortcuts": "Escape" }),
      ),
    ),
    factList(facts),
    div("actions", actions),
    data,
    rest,
    copies.length > 0 && div("actions copies", copies),
  );
}
