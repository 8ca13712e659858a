// Says on every panel that faults are on: nobody shall wonder why something is slow.

import { call } from "./api.js";
import { announce, button, el } from "./dom.js";
import { seconds } from "./format.js";
import { pressed } from "./task.js";

/** The faults that are on, a few words each. */
export function active(faults) {
  const { stream, throttles, index_delay_seconds: delay } = faults;
  return [
    ...throttles.map(
      (it) => `throttling ${it.partition} (${Math.round(it.chance * 100)} %, ${seconds(it.seconds_left)} left)`,
    ),
    stream.paused && "the stream is paused",
    stream.delay_seconds > 0 && `the stream is ${seconds(stream.delay_seconds)} behind`,
    stream.duplicate > 0 && `records come twice (${Math.round(stream.duplicate * 100)} %)`,
    stream.crash_before > 0 && `fan-out crashes before its work (${Math.round(stream.crash_before * 100)} %)`,
    stream.crash_after > 0 && `fan-out crashes after its work (${Math.round(stream.crash_after * 100)} %)`,
    delay > 0 && `indexes are ${seconds(delay)} behind`,
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
    announce(on ? "Faults are on." : "No fault is on any more.");
  };
}
