// The trace of a read: each DynamoDB call with its partition and its cost.

import { note } from "./address.js";
import { call, isLocal } from "./api.js";
import { LatelyProblem } from "./client.js";
import { button, card, div, el, field, form, loading, p, suggested, table } from "./dom.js";
import { cost, count, plural, units } from "./format.js";
import { key } from "./key.js";
import { onOutage } from "./live.js";
import { pressed, showLast, showProblem } from "./task.js";

const TARGETS = [
  "/topics/posts/events?limit=50",
  "/topics/posts/events?limit=200&consistent=true",
  "/topics/billing/events?limit=50&type=invoice.paid",
  "/topics/deploys/events?limit=50",
  "/actors/ada/events?limit=50",
  "/feeds/bob?limit=50",
  "/feeds/bob/unread",
];

/** Traces a read, and shows its calls in `place`. */
async function draw(place, wanted, signal) {
  place.replaceChildren(loading());
  const traced = (await call("POST", "/local/trace", { body: { target: wanted }, signal })).data;
  const { status, cost: paid, calls, body } = traced;
  const refused = status >= 400 && new LatelyProblem({ ...body, status });
  const most = Math.max(...calls.map((it) => it.read_units ?? 0), 0.5);
  const rows = calls.map(({ operation, index, partition, items, read_units: read, consistent }) => [
    index ? `${operation}, ${index}` : operation,
    partition ? key(partition) : "",
    items === null ? "" : count(items),
    bar(read ?? 0, most),
    consistent ? "consistent" : "eventual",
  ]);
  const got = body?.events ? ` · ${plural(body.events.length, "event")}` : "";
  const parts = [
    el("p", {}, el("strong", {}, `${status}`), got, " · ", el("span", { class: "price" }, cost({ cost: paid }))),
    refused && showProblem(refused),
    calls.length > 0 && table("DynamoDB calls", ["Call", "Partition", "Items", "Read units", "Read"], rows, { class: "items" }),
    p("hint", "The traced read starts with empty caches, so it also reads the topic and its directory."),
  ];
  place.replaceChildren(...parts.filter(Boolean));
}

/**
 * The price of the last read of a list or a record. In the local program the price is a button, which shows the trace of that
 * request in `panel`. A pinned trace stays beside the next one.
 */
export function priced(signal) {
  const panel = div("traces");
  const element = isLocal()
    ? button("", () => open(target), { class: "as-link price", title: "Shows the DynamoDB calls of this request" })
    : el("span", { class: "price" });
  let target = null;
  const open = (wanted) => {
    panel.querySelector(".trace:not(.pinned)")?.remove();
    const found = el("div", {});
    const hold = () => pin.setAttribute("aria-pressed", section.classList.toggle("pinned"));
    const pin = button("Pin", hold, { class: "mark", "aria-pressed": "false", title: "Keeps this trace beside the next one" });
    const close = () => {
      section.remove();
      element.focus();
    };
    const head = div("detail-head", el("code", {}, wanted), el("div", {}, pin, button("Close", close, { class: "quiet" })));
    const section = el("section", { class: "card trace", "aria-label": `Trace of ${wanted}` }, head, found);
    panel.append(section);
    pin.focus();
    showLast(found, signal, (signal) => draw(found, wanted, signal));
  };
  const show = (answer, text = `last read: ${cost(answer)}`) => {
    element.textContent = text;
    target = answer.read ?? target;
  };
  return { element, panel, show };
}

export function trace(target, signal) {
  const input = suggested(TARGETS, { value: target, required: true });
  const run = el("button", { type: "submit", class: "primary" }, "Trace");
  const found = el("div", {});
  const look = (signal) => draw(found, input.value.trim(), signal);
  const read = () => showLast(found, signal, look);
  const section = card(
    "Trace a read",
    p("muted", "Runs any GET of the API, and lists its DynamoDB calls."),
    form({ class: "inline" }, () => {
        note({ trace: input.value.trim(), event: null });
        return pressed(run, found, read);
      }, field("GET", input), run),
    found,
  );
  section.classList.add("trace");
  signal.addEventListener("abort", onOutage((outage) => outage === null && found.querySelector(".problem") && read()));
  read();
  return section;
}

/** A bar for a value, relative to the largest one. */
export function bar(value, most) {
  const fill = el("span", { class: "bar-fill" });
  fill.style.width = `${Math.round((value / most) * 100)}%`;
  return el(
    "span",
    { class: "bar" },
    el("span", { class: "bar-number" }, units(value)),
    el("span", { class: "bar-track", "aria-hidden": "true" }, fill),
  );
}
