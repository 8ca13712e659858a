// The part of the address behind `#`: the panel's name, and parameters that say what the panel shows. So a copied link,
// a reload and the browser's Back show the same again.

import { query } from "./api.js";
import { el, field, form } from "./dom.js";

/** The panel's name and the parameters of an address. */
export function parse(hash) {
  const [name, parameters] = hash.replace(/^#/, "").split("?");
  return { name, parameters: new URLSearchParams(parameters) };
}

/** Changes parameters of the address without opening the panel again. `null` removes a parameter. */
export function note(changes) {
  const { name, parameters } = parse(location.hash);
  history.replaceState(null, "", `#${name || "events"}${query({ ...Object.fromEntries(parameters), ...changes })}`);
  dispatchEvent(new Event("noted"));
}

/** Opens the panel of an address, again if it is the current one. */
export function visit(address) {
  if (location.hash === `#${address}`) dispatchEvent(new Event("hashchange"));
  else location.hash = address;
}

/** A form that opens a panel with a parameter. */
export const chooser = (panel, label, name, input, ...more) =>
  form(
    { class: "toolbar", "aria-label": `Choose by ${label.toLowerCase()}` },
    () => visit(`${panel}${query({ [name]: input.value.trim() })}`),
    field(label, input),
    el("button", { type: "submit" }, "Show"),
    ...more,
  );
