// Injects faults, so that the user can watch the system recover. Only the local program has faults; a deployed stack
// has none of this.

import { call } from "./api.js";
import { active } from "./banner.js";
import { announce, button, card, div, el, empty, field, p, plainInput, table } from "./dom.js";
import { heal } from "./heal.js";
import { onState } from "./live.js";
import { moment } from "./format.js";
import { pressed, task, workForm } from "./task.js";

/** The parts of the page, `begin()`, which reads them, and `fail()`, which moves the focus to the crash of fan-out. */
export function faults(parameters, signal) {
  const on = el("div", {});
  const injected = el("div", {});
  const today = new Date().toISOString().slice(0, 10);
  const partition = parameters.get("throttle") ?? `EVENTS#posts#${today}#SHARD0`;
  const disturb = stream((body) => put(body));
  const delayed = index((body) => put(body));
  const show = (faults) => {
    disturb.show(faults.stream);
    delayed.show(faults.index_delay_seconds);
    const list = active(faults).map((text) => el("li", {}, text));
    on.replaceChildren(list.length === 0 ? p("muted", "None.") : el("ul", {}, list));
    injected.replaceChildren(history(faults.injected));
  };
  const put = async (body) => {
    show((await call("PUT", "/local/faults", { body, signal })).data);
    announce("The faults are set.");
  };
  // A throttle replaces one of the same partition. All others stay: the route takes the whole list.
  const add = async (throttle) => {
    const { throttles } = (await call("GET", "/local/faults", { signal })).data;
    const others = throttles.filter((it) => it.partition !== throttle.partition && it.seconds_left >= 1);
    const kept = others.map(({ partition, chance, seconds_left: seconds }) => ({ partition, chance, seconds }));
    await put({ throttles: [...kept, throttle] });
  };
  const end = button("End all faults", () =>
    pressed(end, on, async () => show((await call("DELETE", "/local/faults", { signal })).data)),
  );

  const forms = div(
    "columns even",
    div("column", throttle(partition, add), delayed.card),
    div("column", disturb.card, card("Active faults", on, div("actions", end))),
  );
  const read = () => task(on, async () => show((await call("GET", "/local/faults", { signal })).data));
  signal.addEventListener("abort", onState((state) => show(state.faults)));
  const fail = () => disturb.crash.focus();
  return { parts: [forms, heal(), card("Injected faults, newest first", injected)], begin: read, fail };
}

function history(injected) {
  if (injected.length === 0) return empty("No fault was injected into a call yet.");
  const rows = injected.map(({ at, operation, partition, what }) => [
    moment(at),
    operation,
    partition ? el("code", {}, partition) : "",
    what,
  ]);
  return table("Injected faults", ["At (UTC)", "Call", "Partition", "Fault"], rows, { class: "items" });
}

/** The form for a kind of fault, with its own place for errors. */
const kind = (title, lead, label, put, body, ...controls) =>
  card(title, p("muted", lead), ...workForm(label, controls, () => put(body())));

const number = (value, properties) =>
  el("input", { type: "number", value: String(value), inputmode: "decimal", step: "any", required: true, ...properties });

/** Shows what is on in a form's fields, but not in a field that the user has changed. */
function fill(values) {
  for (const [input, value] of values) {
    const name = input.type === "checkbox" ? "checked" : "value";
    const text = name === "value" ? String(value) : value;
    if (input.shown === undefined || input[name] === input.shown) input[name] = text;
    input.shown = text;
  }
}

const percent = (chance) => Math.round(chance * 1000) / 10;

function throttle(partition, add) {
  const where = plainInput({ value: partition, required: true });
  const chance = number(100, { min: "0", max: "100" });
  const lasting = number(10, { min: "1", max: "300" });
  const lead =
    "Writes to partitions whose keys begin with this text are throttled, as in a hot partition. Ends by itself.";
  return kind(
    "Throttle a partition",
    lead,
    "Throttle",
    add,
    () => ({
      partition: where.value.trim(),
      chance: Number(chance.value) / 100,
      seconds: Number(lasting.value),
    }),
    field("Partition", where, { wide: true }),
    field("Chance, %", chance),
    field("Seconds", lasting),
  );
}

function index(put) {
  const delay = number(0, { min: "0", max: "60" });
  const lead = "Indexes show a write only after this delay. Lists of issues by status or priority come from an index.";
  return {
    show: (seconds) => fill([[delay, seconds]]),
    card: kind(
      "Delay the indexes",
      lead,
      "Delay",
      put,
      () => ({ index_delay_seconds: Number(delay.value) }),
      field("Seconds", delay),
    ),
  };
}

/** The faults of the stream that have a chance. */
const CHANCES = { duplicate: "Duplicate rate, %", crash_before: "Crash before, %", crash_after: "Crash after, %" };
const EXAMPLE = { duplicate: "50", crash_before: "30", crash_after: "30" };

function stream(put) {
  const names = Object.keys(CHANCES);
  const chances = Object.fromEntries(names.map((name) => [name, number(0, { min: "0", max: "100" })]));
  const delay = number(0, { min: "0" });
  const paused = el("input", { type: "checkbox" });
  const rates = () => Object.fromEntries(names.map((name) => [name, Number(chances[name].value) / 100]));
  const body = () => ({ stream: { paused: paused.checked, delay_seconds: Number(delay.value), ...rates() } });
  const example = () => names.forEach((name) => (chances[name].value = EXAMPLE[name]));
  const lead =
    "Records are delivered twice, late, or not while the stream is paused, and fan-out crashes before or after its work. The feeds end up with the same entries.";
  return {
    crash: chances.crash_before,
    show: (on) => fill([...names.map((name) => [chances[name], percent(on[name])]), [delay, on.delay_seconds], [paused, on.paused]]),
    card: kind(
      "Disturb the stream and fan-out",
      lead,
      "Apply",
      put,
      body,
      ...names.map((name) => field(CHANCES[name], chances[name])),
      field("Delay, seconds", delay),
      div("check wide", field("Paused", paused)),
      button("Fill in an example", example, { class: "quiet" }),
    ),
  };
}
