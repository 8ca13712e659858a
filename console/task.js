// Tasks: the page shows that a task is under way, and shows its error with all details if it fails.

import { Problem } from "./api.js";
import { el } from "./dom.js";

/** Shows a problem: its text, its fields, its code, and the id of its request in the log. */
function showProblem(error) {
  if (!(error instanceof Problem)) throw error;
  const faults = error.errors.map(({ path, message }) => el("li", {}, el("code", {}, path), ` ${message}`));
  const marks = [error.status > 0 && String(error.status), error.code].filter(Boolean).join(" ");
  return el(
    "div",
    { class: "problem" },
    el("p", { class: "problem-title" }, error.title),
    error.message !== error.title && el("p", {}, error.message),
    faults.length > 0 && el("ul", {}, faults),
    el(
      "p",
      { class: "problem-marks" },
      el("code", {}, marks),
      error.requestId && " · request ",
      error.requestId && el("code", {}, error.requestId),
    ),
  );
}

/** The number of tasks under way for each place, and the controller that aborts the place's last read. */
const under = new WeakMap();
const shown = new WeakMap();

/**
 * Runs `work` for `place`, which is marked as busy, and shows a problem there. Aborted work shows nothing. Returns true if
 * the work succeeded.
 */
export async function task(place, work) {
  under.set(place, (under.get(place) ?? 0) + 1);
  place.setAttribute("aria-busy", "true");
  place.querySelector(":scope > .problem")?.remove();
  try {
    await work();
    return true;
  } catch (error) {
    if (error.name !== "AbortError") place.prepend(showProblem(error));
    return false;
  } finally {
    under.set(place, under.get(place) - 1);
    if (under.get(place) === 0) place.removeAttribute("aria-busy");
  }
}

/**
 * Runs `read`, whose result is shown in `place`, as a task with its own signal. An earlier read for the same place is
 * aborted, so the place shows the last one.
 */
export function showLast(place, signal, read) {
  shown.get(place)?.abort();
  const last = new AbortController();
  shown.set(place, last);
  return task(place, () => read(AbortSignal.any([signal, last.signal])));
}

/** Runs `work` for a button, which is disabled meanwhile. A problem is shown in `place`. */
export async function pressed(control, place, work) {
  const hadFocus = document.activeElement === control;
  control.disabled = true;
  try {
    return await task(place, work);
  } finally {
    control.disabled = false;
    if (hadFocus && document.activeElement === document.body) control.focus();
  }
}
