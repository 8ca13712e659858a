// Creates elements safely: text from events is never HTML.
//
// A string child becomes a text node, and nothing here parses HTML. Styles are classes, or single properties that are
// set through the DOM, because the page's Content-Security-Policy refuses styles in markup.

const SVG = "http://www.w3.org/2000/svg";

/**
 * Makes an element. `on…` properties are listeners, `true` is an attribute without a value, and `false` and `null` are left
 * out.
 */
export function el(name, properties = {}, ...children) {
  return dress(document.createElement(name), properties, children);
}

/** Makes a `div` or a `p` of a class in the same way. */
export const div = (name, ...children) => el("div", { class: name }, ...children);
export const p = (name, ...children) => el("p", { class: name }, ...children);

/** Makes an SVG element in the same way. */
export function svg(name, properties = {}, ...children) {
  return dress(document.createElementNS(SVG, name), properties, children);
}

function dress(node, properties, children) {
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value") node.value = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  return node;
}

let fields = 0;

/** A control with its label, and a hint about its values. A `full` one has a line of its own. */
export function field(label, control, { hint, wide = false, full = false, hidden = false } = {}) {
  fields += 1;
  control.id ||= `field-${fields}`;
  const note = hint && el("span", { class: "hint", id: `${control.id}-hint` }, hint);
  if (note) control.setAttribute("aria-describedby", note.id);
  const name = el("label", { for: control.id, class: hidden ? "unseen" : null }, label);
  return el("div", { class: full ? "field full" : wide ? "field wide" : "field" }, name, control, note);
}

/** A select. Each entry is a value, or `[value, label]`. */
export function select(values, chosen, properties = {}) {
  const options = values.map((entry) => {
    const [value, label] = Array.isArray(entry) ? entry : [entry, entry];
    return el("option", { value, selected: value === chosen }, label);
  });
  return el("select", properties, options);
}

/** An input whose values the browser neither stores nor checks. */
export const plainInput = (properties = {}) => el("input", { autocomplete: "off", spellcheck: "false", ...properties });

/** A text input that suggests values and accepts any value. */
export function suggested(values, properties = {}) {
  fields += 1;
  const list = el("datalist", { id: `suggestions-${fields}` });
  const input = plainInput({ ...properties, list: list.id });
  input.append(list);
  suggestions(input, values);
  return input;
}

/** An input for a name of the API: of a topic, a user, an application. */
export const nameInput = (properties = {}) =>
  plainInput({
    pattern: String.raw`[A-Za-z0-9][A-Za-z0-9._@\-]{0,127}`,
    title: "Up to 128 letters, digits and . _ @ -, beginning with a letter or a digit",
    ...properties,
  });

/** A group of check boxes. `values()` returns the checked values. */
export function checks(label, name, values, checked, hint) {
  fields += 1;
  const boxes = values.map((value) => el("input", { type: "checkbox", value, checked: checked.includes(value) }));
  const element = el(
    "fieldset",
    { class: "field wide", name, id: `field-${fields}`, "aria-describedby": hint && `field-${fields}-hint` },
    el("legend", {}, label),
    boxes.map((box) => el("label", {}, box, box.value)),
    hint && el("span", { class: "hint", id: `field-${fields}-hint` }, hint),
  );
  return { element, values: () => boxes.filter((box) => box.checked).map((box) => box.value) };
}

/** Replaces the values that an input of `suggested` suggests. */
export function suggestions(input, values) {
  input.list.replaceChildren(...values.map((value) => el("option", { value })));
}

export function button(label, onclick, properties = {}) {
  return el("button", { type: "button", onclick, ...properties }, label);
}

/** A form that calls `onsubmit` if its values are valid. The browser says what is wrong, and never sends the form. */
export function form(properties, onsubmit, ...children) {
  const submitted = (event) => {
    event.preventDefault();
    onsubmit(event.currentTarget);
  };
  const node = el("form", { ...properties, onsubmit: submitted }, ...children);
  const invalid = ({ target }) => {
    target.setAttribute("aria-invalid", "true");
    // The browser cannot show a field of a closed part.
    const part = target.closest("details");
    if (part) part.open = true;
  };
  node.addEventListener("invalid", invalid, true);
  node.addEventListener("input", ({ target }) => unmark(target.closest("[aria-invalid]") ?? target));
  return node;
}

/** Marks a field as wrong, and says why below it. */
export function mark(control, message) {
  unmark(control);
  control.setAttribute("aria-invalid", "true");
  control.closest(".field")?.append(el("span", { class: "hint bad", id: `${control.id}-fault` }, message));
  describe(control);
}

/** Removes the mark of a field. */
export function unmark(control) {
  control.removeAttribute("aria-invalid");
  document.getElementById(`${control.id}-fault`)?.remove();
  describe(control);
}

/** Names the texts below a field for screen readers. */
function describe(control) {
  const ids = ["hint", "fault"].map((part) => `${control.id}-${part}`).filter((id) => document.getElementById(id));
  if (ids.length > 0) control.setAttribute("aria-describedby", ids.join(" "));
  else control.removeAttribute("aria-describedby");
}

/** A list of facts: terms with their values. */
export const factList = (facts) =>
  el("dl", { class: "facts" }, facts.map(([term, value]) => el("div", {}, el("dt", {}, term), el("dd", {}, value))));

/** A row of a table. Its first cell is its header. */
export const tableRow = ([first, ...cells]) =>
  el("tr", {}, el("th", { scope: "row" }, first), cells.map((cell) => el("td", {}, cell)));

/** A table with a caption for screen readers. */
export function table(caption, heads, rows, properties = {}) {
  const head = heads.map((text) => el("th", { scope: "col" }, text));
  return el(
    "div",
    { class: "scrolls", tabindex: "0", role: "region", "aria-label": caption },
    el(
      "table",
      properties,
      el("caption", { class: "unseen" }, caption),
      el("thead", {}, el("tr", {}, head)),
      el("tbody", {}, rows.map(tableRow)),
    ),
  );
}

/** The head of a panel: its title, and a description of its contents. */
export function heading(title, ...lead) {
  return div("heading", el("h1", {}, title), el("p", {}, ...lead));
}

/** A card: a section with its own heading. */
export function card(title, ...children) {
  fields += 1;
  const heading = el("h2", { id: `card-${fields}` }, title);
  return el("section", { class: "card", "aria-labelledby": heading.id }, heading, ...children);
}

/** A tile: a figure with its title. */
export const tile = (title, ...children) => div("tile", p("muted", title), ...children);

/** A figure of a tile. */
export const figure = (text = "–") => p("figure", text);

/** Moves the focus to the heading of a card. */
export function focusHeading(section) {
  const title = section.querySelector("h2");
  title.tabIndex = -1;
  title.focus();
}

export function empty(title, ...hint) {
  return div("empty", el("strong", {}, title), hint.length > 0 && el("p", {}, ...hint));
}

/** Stands for what is being read. It disappears if the read fails (see the style). */
export const loading = () => p("muted loading", "Loading…");

/** Announces a text to screen readers, for changes that are not at the focus. */
export function announce(text) {
  document.getElementById("announce").textContent = text;
}
