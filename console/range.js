// The range of time that a timeline shows: the last so many minutes, hours or days, or from one time to another. The
// address has it as `last`, or as `from` and `to`, in UTC.

import { parse } from "./address.js";
import { query } from "./api.js";
import { el, field, form, select } from "./dom.js";
import { clock, instant, iso, isUtc, localName, useUtc } from "./zone.js";

const HOUR = 3_600_000;

/** The values of `last`, with their names and milliseconds. Yesterday is a day of the chosen zone. */
const SPANS = [
  ["15m", "15 min", HOUR / 4],
  ["1h", "Hour", HOUR],
  ["1d", "Day", 24 * HOUR],
  ["yesterday", "Yesterday"],
  ["7d", "7 days", 7 * 24 * HOUR],
];

/** The first moment of a time's day. */
const midnight = (at) => instant(`${clock(new Date(at).toISOString()).slice(0, 10)}T00:00:00`);

/** The range of an address, as the API wants it. */
export function rangeOf(parameters, now = Date.now()) {
  const span = SPANS.find(([name]) => name === parameters.get("last"));
  if (span?.[2]) return { from: iso(now - span[2]), to: "" };
  const today = midnight(now);
  if (span) return { from: midnight(Date.parse(today) - 1), to: today };
  const [from, to] = ["from", "to"].map((name) => parameters.get(name));
  return { from: from ? iso(from) : "", to: to ? iso(to) : "" };
}

/** Links to the last so many minutes, hours or days. A click on the current one moves the range to now. */
export function spans(signal) {
  const links = [...SPANS, ["", "All"]].map(([last, name]) =>
    el("a", { "data-last": last, title: /\d/.test(last) ? `The last ${last}` : `${name} events`, onclick: again }, name),
  );
  const draw = () => {
    const given = Object.fromEntries(parse(location.hash).parameters);
    for (const link of links) {
      const { last } = link.dataset;
      link.href = `#events${query({ ...given, last, from: null, to: null, event: null })}`;
      const isCurrent = last ? given.last === last : !given.last && !given.from && !given.to;
      if (isCurrent) link.setAttribute("aria-current", "true");
    }
  };
  draw();
  addEventListener("noted", draw, { signal });
  return el("nav", { class: "segments", "aria-label": "Time range" }, links);
}

const again = ({ currentTarget }) =>
  currentTarget.hash === location.hash && currentTarget.dataset.last && dispatchEvent(new Event("hashchange"));

/**
 * The form of a range from one time to another, and the choice of the zone. `choose(from, to)` is called with a range, and
 * `changed()` when another zone was chosen.
 */
export function rangeForm(parameters, choose, changed) {
  const [from, to] = ["From", "Before"].map(() => el("input", { type: "datetime-local", step: "1" }));
  const values = () => [from, to].map(({ value }) => value && instant(value));
  const zone = select([["utc", "UTC"], ["local", `local (${localName()})`]], isUtc() ? "utc" : "local", {
    onchange: () => {
      const before = values();
      useUtc(zone.value === "utc");
      show(...before);
      changed();
    },
  });
  const fields = [field("From", from), field("Before", to)];
  const show = (...times) =>
    fields.forEach(({ firstChild: label, lastChild: input }, at) => {
      // A field has seconds. A text that is no time leaves it empty.
      input.value = times[at] ? clock(iso(times[at])).slice(0, 19) : "";
      label.textContent = `${["From", "Before"][at]} (${isUtc() ? "UTC" : "local"})`;
    });
  const check = () => {
    const [begin, end] = values();
    to.setCustomValidity(begin && end && end <= begin ? "The range ends before it begins. Choose a later time." : "");
  };
  show(parameters.get("from"), parameters.get("to"));
  return form(
    { class: "fields", "aria-label": "Range of time", oninput: check },
    () => choose(...values()),
    fields,
    el("button", { type: "submit" }, "Set range"),
    field("Times in", zone),
  );
}
