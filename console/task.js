// What one waits for: shown while it is under way, and shown when it fails, with all that helps to find out why.

import { Problem } from "./api.js";
import { el } from "./dom.js";

/** A problem as its reader needs it: what, which fields, its code, and the id of the request in the log. */
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

/** How many tasks are under way for a place, and what gives up what is read for it. */
const under = new WeakMap();
const shown = new WeakMap();

/**
 * Runs `work` for `place`, which says that it is busy, and shows a problem there, should there be one. What was given up because
 * its panel is gone shows nothing. Whether it was done.
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
 * The same for what is read to be shown in `place`, by `read` with a signal of its own: what is asked for last is shown, and what
 * is still under way for the same place is given up.
 */
export function showLast(place, signal, read) {
  shown.get(place)?.abort();
  const last = new AbortController();
  shown.set(place, last);
  return task(place, () => read(AbortSignal.any([signal, last.signal])));
}

/** The same for a button, which is not pressed twice meanwhile; a problem is told in `place`. */
export async function pressed(control, place, work) {
  const hadFocus = document.activeElement === control;
  control.disabled = true;
  const done = await task(place, work);
  control.disabled = false;
  if (hadFocus && document.activeElement === document.body) control.focus();
  return done;
}
