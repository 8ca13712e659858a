// An event as a row of a list, and opened: the same on timelines, feeds and batches.
//
// All of it is somebody's text: it is written as text nodes, cut to what a row shows, and set apart in its direction.

import { button, el } from "./dom.js";
import { time } from "./format.js";

/** What a row shows of an event's data; more would be laid out and not be seen. */
const PREVIEW = 240;

/** Colours of the types' marks. */
const HUES = 6;

export function eventRow() {
  return el(
    "div",
    { class: "row" },
    el("span", { class: "row-time" }),
    el("span", { class: "row-type" }),
    el("bdi", { class: "row-who" }),
    el("bdi", { class: "row-data" }),
    el("span", { class: "unseen" }),
  );
}

/** Shows the text or title that it carries, else its JSON. `unread` marks it as such, `fresh` as having landed while one looks. */
export function fillRow(row, event, { unread = false, fresh = false } = {}) {
  const [at, type, who, data, mark] = row.children;
  at.textContent = time(event.at);
  at.title = event.at;
  type.textContent = event.type;
  type.className = `row-type hue-${hue(event.type)}`;
  who.textContent = event.subject ? `${event.actor} → ${event.subject}` : event.actor;
  const text = event.data?.text ?? event.data?.title;
  const isText = typeof text === "string";
  data.textContent = (isText ? text : event.data === undefined ? "" : JSON.stringify(event.data)).slice(0, PREVIEW);
  data.className = isText ? "row-data" : "row-data json";
  mark.textContent = unread ? "unread" : "";
  row.className = `row${unread ? " unread" : ""}${fresh ? " fresh" : ""}`;
}

/** By the first part of the type, so that what belongs together looks alike. */
function hue(type) {
  let sum = 0;
  for (const letter of type.split(".").at(-1)) sum = (sum * 31 + letter.codePointAt(0)) % 997;
  return sum % HUES;
}

/** An event with all it holds; `actions` are links and buttons, `onclose` gives the focus back. */
export function eventDetail(event, { actions = [], onclose }) {
  const facts = [
    ["id", el("code", {}, event.id)],
    ["at", event.at],
    ["topic", event.topic],
    ["type", event.type],
    ["actor", el("bdi", {}, event.actor)],
    ["subject", event.subject && el("bdi", {}, event.subject)],
  ].filter(([, value]) => value);
  const close = button("Close", onclose, { class: "quiet" });
  const data = el(
    "pre",
    { class: "data", tabindex: "0", "aria-label": "Data" },
    event.data === undefined ? "no data" : JSON.stringify(event.data, null, 2),
  );
  const node = el(
    "aside",
    { class: "detail", "aria-label": "The event", onkeydown: (key) => key.key === "Escape" && onclose() },
    el("div", { class: "detail-head" }, el("h2", { tabindex: "-1" }, "Event"), close),
    el(
      "dl",
      { class: "facts" },
      facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))),
    ),
    data,
    el("div", { class: "actions" }, actions),
  );
  return node;
}
