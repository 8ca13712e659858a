// Tasks: the page shows that a task is under way, and shows its error with all details if it fails.

import { isLocal } from "./api.js";
import { LatelyProblem } from "./client.js";
import { announce, button, div, el, form, mark, p, unmark } from "./dom.js";
import { polling } from "./meter.js";

/** The interval of reads of what is shown. Only the local program is read again; a deployed stack's reads cost money. */
const AGAIN = 5000;

/**
 * Shows a problem: its text, its fields, its code, and the id of its request in the log. Screen readers read it at once. A
 * problem that may pass has a button, which calls `again`.
 */
export function showProblem(error, again, isNew = true) {
  if (!(error instanceof LatelyProblem)) throw error;
  const faults = error.errors.map(({ path, message }) => el("li", {}, el("code", {}, path), ` ${message}`));
  const marks = [error.status > 0 && String(error.status), error.code].filter(Boolean).join(" ");
  return el(
    "div",
    { class: "problem", role: isNew ? "alert" : null },
    el("strong", {}, error.title),
    error.detail && el("p", {}, error.detail),
    faults.length > 0 && el("ul", {}, faults),
    p("hint", el("code", {}, marks), error.request_id && [" · request ", el("code", {}, error.request_id)]),
    again && (error.isTemporary || error.status >= 500 || error.code === "topic-not-found") && el("p", {}, button("Try again", again)),
  );
}

/** The number of tasks under way for each place, and the controller that aborts the place's last read. */
const under = new WeakMap();
const shown = new WeakMap();

/** The code of each place's problem. A poll that fails again does not announce the same problem again. */
const told = new WeakMap();

/**
 * Runs `work` for `place`, which is marked as busy, and shows a problem there. Aborted work shows nothing. `again` is what
 * "Try again" does. Returns true if the work succeeded.
 */
export async function task(place, work, again = () => task(place, work)) {
  under.set(place, (under.get(place) ?? 0) + 1);
  place.setAttribute("aria-busy", "true");
  clear(place);
  try {
    await work();
    told.delete(place);
    return true;
  } catch (error) {
    if (error.name !== "AbortError") {
      clear(place);
      const retry = () => {
        told.delete(place);
        again();
      };
      place.prepend(showProblem(error, retry, told.get(place) !== error.code));
      told.set(place, error.code);
    }
    return false;
  } finally {
    under.set(place, under.get(place) - 1);
    if (under.get(place) === 0) place.removeAttribute("aria-busy");
  }
}

/** Removes the problem of an earlier task. The place gets the focus if the problem had it. */
function clear(place) {
  const problem = place.querySelector(":scope > .problem");
  const hadFocus = problem?.contains(document.activeElement);
  problem?.remove();
  if (hadFocus) focus(place);
}

function focus(place) {
  if (place.tabIndex < 0) place.tabIndex = -1;
  place.focus({ preventScroll: true });
}

/**
 * Runs `read`, whose result is shown in `place`, as a task with its own signal. An earlier read for the same place is
 * aborted, so the place shows the last one.
 */
export function showLast(place, signal, read) {
  const last = lastFor(place, signal);
  return task(place, () => read(last), () => showLast(place, signal, read));
}

/** A signal of what `place` shows now. It ends when the place shows something else. */
export function lastFor(place, signal) {
  shown.get(place)?.abort();
  shown.set(place, new AbortController());
  return AbortSignal.any([signal, shown.get(place).signal]);
}

/** True if a promise is fulfilled, and false if it is rejected. */
export const succeeds = (promise) => promise.then(() => true, () => false);

/** Reads again and again what `place` shows, but not while the page is hidden or the user has the focus there. */
export function repeat(place, signal, read) {
  if (!isLocal()) return;
  const again = () => document.hidden || place.contains(document.activeElement) || polling(read).catch(() => {});
  const timer = setInterval(again, AGAIN);
  signal.addEventListener("abort", () => clearInterval(timer));
}

/**
 * Runs `work` for a button, which is disabled meanwhile. A problem is shown in `place`, and at the fields of the button's
 * form that it names. If the work removed the button, the focus moves to `place`.
 */
export async function pressed(control, place, work) {
  const hadFocus = document.activeElement === control;
  const fields = control.form?.elements;
  told.delete(place);
  control.disabled = true;
  try {
    return await task(place, () => marked(fields, work), () => pressed(control, place, work));
  } finally {
    control.disabled = false;
    if (hadFocus && document.activeElement === document.body) focus(control.isConnected ? control : place);
  }
}

/**
 * A form that does `work(said)` when it is submitted, and below it the place for what is said. `more` stands beside the button.
 */
export function workForm(label, fields, work, { more, ...properties } = {}) {
  const submit = el("button", { type: "submit", class: "primary" }, label);
  const said = div("said");
  const go = () => pressed(submit, said, () => work(said));
  return [form({ class: "fields", ...properties }, go, fields, div("actions wide", submit, more)), said];
}

/** Runs `work`, and marks the fields of a form whose names a problem has. The first of them gets the focus. */
async function marked(fields, work) {
  [...(fields ?? [])].forEach(unmark);
  try {
    await work();
  } catch (error) {
    // The path of an element of a list, such as `/views/1`, begins with the list's name.
    const wrong = (error.errors ?? []).map(({ path, message }) => [fields?.namedItem(path.split("/")[1]), message]);
    const found = wrong.filter(([field]) => field instanceof Element);
    found.forEach(([field, message]) => mark(field, message));
    found[0]?.[0].focus();
    throw error;
  }
}

/**
 * A button that asks before it does `work`. The question stands in the button's place, and a problem in `place`. With `whose`,
 * screen readers hear what the button is for.
 */
export function asking(label, question, place, work, whose) {
  const ask = () => {
    box.replaceChildren(el("p", {}, question), sure, keep);
    announce(question);
    keep.focus();
  };
  const end = () => {
    box.replaceChildren(first);
    first.focus();
  };
  const first = button(`${label}…`, ask, { class: "quiet danger", "aria-label": whose && `${label}… ${whose}` });
  const go = async () => (await pressed(sure, place, work)) && box.isConnected && end();
  const sure = button(label, go, { class: "danger" });
  const keep = button("Cancel", end, { class: "quiet" });
  const box = el("div", { class: "actions", role: "group", "aria-label": label }, first);
  return box;
}
