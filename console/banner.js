// A banner on every panel that lists the active faults, so that nobody wonders why something is slow.

import { call } from "./api.js";
import { announce, button, el } from "./dom.js";
import { seconds } from "./format.js";
import { pressed } from "./task.js";

/** The active faults, each in a few words. */
export function active(faults) {
  const { stream, throttles, index_delay_seconds: delay } = faults;
  return [
    ...throttles.map(
      (it) => `throttling ${it.partition} (${Math.round(it.chance * 100)} %, ${seconds(it.seconds_left)} left)`,
    ),
    stream.paused && "the stream is paused",
    stream.delay_seconds > 0 && `the stream is delayed by ${seconds(stream.delay_seconds)}`,
    stream.duplicate > 0 && `records are delivered twice (${Math.round(stream.duplicate * 100)} %)`,
    stream.crash_before > 0 && `fan-out crashes before its work (${Math.round(stream.crash_before * 100)} %)`,
    stream.crash_after > 0 && `fan-out crashes after its work (${Math.round(stream.crash_after * 100)} %)`,
    delay > 0 && `indexes are delayed by ${seconds(delay)}`,
  ].filter(Boolean);
}

export function banner(place) {
  const what = el("span", {});
  const end = button("End all", () => pressed(end, place, () => call("DELETE", "/local/faults")));
  const line = el(
    "div",
    { class: "banner" },
    el("strong", {}, "Faults are on: "),
    what,
    " ",
    el("a", { href: "#faults" }, "Details"),
    end,
  );
  let on = false;
  return (faults) => {
    const list = faults ? active(faults) : [];
    what.textContent = `${list.join(" · ")}.`;
    if (on === list.length > 0) return;
    on = list.length > 0;
    place.replaceChildren(...(on ? [line] : []));
    announce(on ? "Faults are on." : "All faults are off.");
  };
}
