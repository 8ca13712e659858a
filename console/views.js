// Saved views: names for addresses of the page, kept in this browser. Each API has its own.

import { parse } from "./address.js";
import { apiUrl, isLocal, query } from "./api.js";
import { announce, button, el, field, form } from "./dom.js";

const place = () => (isLocal() ? "lately.views" : `lately.views ${apiUrl()}`);

/** The views, as pairs of a name and an address. */
function read() {
  try {
    const views = JSON.parse(localStorage.getItem(place()));
    return Array.isArray(views) ? views : [];
  } catch {
    return [];
  }
}

const write = (views) => localStorage.setItem(place(), JSON.stringify(views));

/** The present address without the open event. */
function address() {
  const { name, parameters } = parse(location.hash);
  return `${name || "timeline"}${query({ ...Object.fromEntries(parameters), event: null, api: null })}`;
}

/** A form that saves the present address under a name, and the saved views. */
export function views(signal) {
  const name = el("input", { required: true, autocomplete: "off", maxlength: "80" });
  const list = el("ul", { class: "follows" });
  const draw = () => list.replaceChildren(...read().map(line));
  const line = ([title, hash]) => {
    const remove = () => {
      write(read().filter(([it]) => it !== title));
      draw();
      name.focus();
      announce(`Deleted the view ${title}.`);
    };
    return el(
      "li",
      {},
      el("a", { href: `#${hash}` }, title),
      button("Delete", remove, { class: "quiet", "aria-label": `Delete the view ${title}` }),
    );
  };
  const save = () => {
    const title = name.value.trim();
    write([...read().filter(([it]) => it !== title), [title, address()]]);
    name.value = "";
    draw();
    announce(`Saved the view ${title}.`);
  };
  draw();
  addEventListener("storage", draw, { signal });
  const submit = el("button", { type: "submit" }, "Save view");
  return [form({ class: "fields", "aria-label": "Saved views" }, save, field("Name of this view", name), submit), list];
}
