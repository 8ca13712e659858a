// Banners on every panel: one lists the active faults, so that nobody wonders why something is slow, and one tells of an
// outage. During an outage the faults are not known.

import { call } from "./api.js";
import { announce, button, div, el } from "./dom.js";
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

export function faultsBanner(place) {
  const what = el("span", {});
  const end = button("End all", () => pressed(end, place, () => call("DELETE", "/local/faults")));
  const line = div(
    "banner",
    el("strong", {}, "Faults are on: "),
    what,
    " ",
    el("a", { href: "#system" }, "Details"),
    end,
  );
  let on = false;
  return (faults) => {
    const list = faults ? active(faults) : [];
    what.textContent = `${list.join(" · ")}.`;
    if (on === list.length > 0) return;
    on = list.length > 0;
    const hadFocus = line.contains(document.activeElement);
    place.replaceChildren(...(on ? [line] : []));
    if (hadFocus) document.getElementById("main").focus({ preventScroll: true });
    announce(on ? "Faults are on." : "All faults are off.");
  };
}

/** Returns a function that shows an outage, and the seconds until the next attempt. `null` ends the outage. */
export function outageBanner(place) {
  const what = el("span", {});
  let attempt = null;
  const now = button("Try now", () => attempt.tryNow());
  const line = el("div", { class: "banner outage", hidden: true }, what, now);
  place.append(line);
  const draw = () => {
    const left = Math.max(0, Math.ceil((attempt.next - Date.now()) / 1000));
    const next = left === 0 ? "Trying again…" : `The next attempt is in ${left} s.`;
    what.textContent = `No connection since ${attempt.since.toISOString().slice(11, 19)} UTC. ${next}`;
  };
  let timer = 0;
  return (outage) => {
    if (Boolean(outage) === line.hidden) announce(outage ? "No connection." : "Connected again.");
    attempt = outage;
    clearInterval(timer);
    if (outage) {
      draw();
      timer = setInterval(draw, 250);
    } else if (line.contains(document.activeElement)) document.getElementById("main").focus({ preventScroll: true });
    line.hidden = !outage;
    document.body.classList.toggle("offline", !line.hidden);
  };
}
