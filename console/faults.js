// Injects faults, so that the user can watch the system recover. Only the local program has faults; a deployed stack
// has none of this.

import { call } from "./api.js";
import { active } from "./banner.js";
import { announce, button, card, el, empty, field, form, heading, table } from "./dom.js";
import { heal } from "./heal.js";
import { onState, watch } from "./live.js";
import { time } from "./format.js";
import { pressed, task } from "./task.js";

export function open(place, parameters, signal) {
  const on = el("div", {});
  const injected = el("div", {});
  const today = new Date().toISOString().slice(0, 10);
  const partition = parameters.get("throttle") ?? `EVENTS#posts#${today}#SHARD0`;
  const show = (faults) => {
    const list = active(faults);
    on.replaceChildren(
      list.length === 0
        ? el("p", { class: "muted" }, "None.")
        : el(
            "ul",
            {},
            list.map((text) => el("li", {}, text)),
          ),
    );
    injected.replaceChildren(history(faults.injected));
  };
  const put = async (body) => {
    show((await call("PUT", "/local/faults", { body, signal })).data);
    announce("The faults are set.");
  };
  const end = button("End all faults", () =>
    pressed(end, on, async () => show((await call("DELETE", "/local/faults", { signal })).data)),
  );

  place.append(
    heading("Faults", "Inject faults and watch the system recover. Only the local program has faults, not a deployed stack."),
    heal(signal),
    el(
      "div",
      { class: "columns even" },
      el("div", { class: "column-main" }, throttle(partition, put), index(put)),
      el("div", { class: "column-main" }, stream(put), card("Active faults", on, el("div", { class: "actions" }, end))),
    ),
    card("Injected faults, newest first", injected),
  );
  const read = () => task(on, async () => show((await call("GET", "/local/faults", { signal })).data));
  const stops = [onState((state) => show(state.faults)), watch({ begin: read })];
  signal.addEventListener("abort", () => stops.forEach((stop) => stop()));
}

function history(injected) {
  if (injected.length === 0) return empty("No calls have met a fault yet.");
  const rows = injected.map(({ at, operation, partition, what }) => [
    time(at),
    operation,
    partition ? el("code", {}, partition) : "",
    what,
  ]);
  return table("Injected faults", ["At", "Call", "Partition", "Fault"], rows, { class: "items" });
}

/** The form for a kind of fault, with its own place for errors. */
function kind(title, lead, label, put, body, ...controls) {
  const submit = el("button", { type: "submit", class: "primary" }, label);
  const said = el("div", {});
  return card(
    title,
    el("p", { class: "muted" }, lead),
    form(
      { class: "fields" },
      () => pressed(submit, said, () => put(body())),
      ...controls,
      el("div", { class: "actions wide" }, submit),
    ),
    said,
  );
}

const number = (value, properties) =>
  el("input", { type: "number", value: String(value), inputmode: "decimal", ...properties });

function throttle(partition, put) {
  const where = el("input", { value: partition, autocomplete: "off", spellcheck: "false", required: true });
  const chance = number(100, { min: "0", max: "100" });
  const lasting = number(10, { min: "1", max: "300" });
  const body = () => ({
    throttles: [{ partition: where.value.trim(), chance: Number(chance.value) / 100, seconds: Number(lasting.value) }],
  });
  const lead =
    "Writes to partitions whose keys begin with this text are throttled, as in a hot partition. Ends by itself.";
  return kind(
    "Throttle a partition",
    lead,
    "Throttle",
    put,
    body,
    field("Partition", where, { wide: true }),
    field("Chance, %", chance),
    field("Seconds", lasting),
  );
}

function index(put) {
  const delay = number(5, { min: "0", max: "60" });
  const lead = "Indexes show a write only after this delay. Lists of issues by status or priority come from an index.";
  return kind(
    "Delay the indexes",
    lead,
    "Delay",
    put,
    () => ({ index_delay_seconds: Number(delay.value) }),
    field("Seconds", delay),
  );
}

function stream(put) {
  const percent = (value) => number(value, { min: "0", max: "100" });
  const [duplicate, before, after] = [percent(50), percent(30), percent(30)];
  const delay = number(0, { min: "0" });
  const paused = el("input", { type: "checkbox" });
  const body = () => ({
    stream: {
      paused: paused.checked,
      delay_seconds: Number(delay.value),
      duplicate: Number(duplicate.value) / 100,
      crash_before: Number(before.value) / 100,
      crash_after: Number(after.value) / 100,
    },
  });
  const lead =
    "Records are delivered twice, late, or not while the stream is paused, and fan-out crashes before or after its work. Feeds end up the same.";
  return kind(
    "Disturb the stream and fan-out",
    lead,
    "Apply",
    put,
    body,
    field("Duplicates, %", duplicate),
    field("Crash before, %", before),
    field("Crash after, %", after),
    field("Delay, seconds", delay),
    el("div", { class: "check wide" }, field("Paused", paused)),
  );
}
