// Work that goes on after its response, and the question before it. The page reads how far the work is until it is done, or
// until the panel is closed.

import { call, isLocal } from "./api.js";
import { button, div, el, form } from "./dom.js";
import { sleep } from "./live.js";
import { polling } from "./meter.js";
import { pressed, showLast } from "./task.js";

/** The time between two reads. A deployed stack's reads cost money. */
const pause = () => (isLocal() ? 1000 : 5000);

/** A form that asks for a name before it does `work`, whose problem is shown in `said`. It moves the focus to the name. */
export function confirmation(label, named, said, work, cancel) {
  const submit = el("button", { type: "submit", class: "danger" }, label);
  const actions = div("actions wide", submit, button("Cancel", cancel, { class: "quiet" }));
  setTimeout(() => named.querySelector("input").focus());
  return form({ class: "fields" }, () => pressed(submit, said, work), named, actions);
}

/**
 * Shows in `shown` how far the work is: `draw(data)` returns a sentence and what stands below it, for each response of
 * `target`. Problems are shown in `said`.
 */
export function progress(shown, said, target, signal, draw) {
  const state = el("p", { role: "status" });
  const below = el("div", {});
  shown.replaceChildren(state, below);
  const show = (data) => {
    const [text, ...parts] = draw(data);
    // The same text again would be announced again.
    if (state.textContent !== text) state.textContent = text;
    below.replaceChildren(...parts);
  };
  showLast(said, signal, (signal) => untilDone(target, show, signal));
  return show;
}

/** Reads `target` again and again, and passes what it says to `show`. Ends when its `state` is `done`. */
async function untilDone(target, show, signal) {
  for (;;) {
    const { data } = await polling(() => call("GET", target, { signal }));
    show(data);
    if (data.state === "done") return;
    await sleep(pause(), signal);
  }
}
