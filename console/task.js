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

/**
 * Runs `work` for `place`, which says that it is busy, and shows a problem there, should there be one. What was given up because
 * its panel is gone shows nothing. Whether it was done.
 */
export async function task(place, work) {
  place.setAttribute("aria-busy", "true");
  place.querySelector(":scope > .problem")?.remove();
  try {
    await work();
    return true;
  } catch (error) {
    if (error.name !== "AbortError") place.prepend(showProblem(error));
    return false;
  } finally {
    place.removeAttribute("aria-busy");
  }
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
