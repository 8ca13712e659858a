// The way to anything by its name: Ctrl-K opens a dialog that goes to an event or a session by its id, to a topic, an actor,
// a subject, a user, or a panel.

import { parse } from "./address.js";
import { call, path, query, topics } from "./api.js";
import { button, div, el, plainInput } from "./dom.js";
import { task } from "./task.js";

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The most topics to look for an event in, and the most topics to list. */
const SEARCHED = 50;
const LISTED = 6;

/** The button that opens the dialog. `panels()` lists the panels, each with its title and address. */
export function palette(panels) {
  let known = [];
  let offers = [];
  let chosen = 0;
  /** The read of the topics' names, and what ends the requests when the dialog is closed. */
  let listing = null;
  let closing = null;
  const found = el("ul", { id: "offers", role: "listbox", "aria-label": "Found" });
  const said = div("said");
  const input = plainInput({
    "aria-label": "Find",
    role: "combobox",
    "aria-expanded": "true",
    "aria-controls": found.id,
    placeholder: "An event's id, a topic, an actor, a user, a panel",
    oninput: () => draw(0),
  });
  const to = (hash) => () => {
    dialog.close();
    location.hash = hash;
  };
  const draw = (at) => {
    offers = offersFor(input.value.trim());
    chosen = Math.max(0, Math.min(at, offers.length - 1));
    const line = ([label, go], number) =>
      el("li", { role: "option", id: `offer-${number}`, "aria-selected": String(number === chosen), onclick: go }, label);
    found.replaceChildren(...offers.map(line));
    input.setAttribute("aria-activedescendant", `offer-${chosen}`);
    found.children[chosen]?.scrollIntoView({ block: "nearest" });
  };
  const offersFor = (text) => {
    const fits = (name) => name.toLowerCase().includes(text.toLowerCase());
    const listed = panels().filter(([title]) => fits(title)).map(([title, hash]) => [title, to(hash)]);
    if (!text) return listed;
    if (ID.test(text)) return [[`Event ${text}`, () => findEvent(text)], [`Session ${text}`, to(`sessions${query({ id: text })}`)]];
    const named = known.filter(fits).slice(0, LISTED).map((topic) => [`Topic ${topic}`, to(`events${query({ topic })}`)]);
    const [, kind, name] = text.match(/^(actor|subject):(.+)$/) ?? [null, null, text];
    const sources = (kind ? [kind] : ["actor", "subject"]).map((it) => [
      `Events of ${it} ${name}`,
      to(`events${query({ source: `${it}:${name}` })}`),
    ]);
    if (kind) return sources;
    return [...named, ...listed, ...sources, [`Feed of ${text}`, to(`events${query({ feed: text })}`)], [`${text}: follows, profile, sessions`, to(`follows${query({ user: text })}`)]];
  };
  const read = async () => {
    known = await topics(closing.signal);
    draw(chosen);
  };
  const list = () => (listing = task(said, read, list));
  /** An id does not have its topic. The topic that is shown comes first. */
  const findEvent = (id) =>
    task(said, async () => {
      const { signal } = closing;
      if (!(await listing) && !(await list())) return;
      const here = parse(location.hash).parameters.get("topic");
      const all = [...new Set([...(here ? [here] : []), ...known])].slice(0, SEARCHED);
      for (const topic of all) {
        const answer = await call("GET", path("topics", topic, "events", id), { signal }).catch((error) => {
          if (error.status !== 404) throw error;
        });
        if (answer) return to(`events${query({ topic, event: id })}`)();
      }
      said.replaceChildren(el("p", { role: "status" }, `None of ${all.length} topics has this event.`));
    });
  const keyed = (event) => {
    if (event.key === "ArrowDown") draw(chosen + 1);
    else if (event.key === "ArrowUp") draw(chosen - 1);
    else if (event.key === "Enter") offers[chosen]?.[1]();
    else return;
    event.preventDefault();
  };
  const dialog = el("dialog", { class: "palette", "aria-label": "Find", onkeydown: keyed, onclose: () => closing.abort() }, input, said, found);
  const open = () => {
    said.replaceChildren();
    input.value = "";
    dialog.showModal();
    draw(0);
    closing = new AbortController();
    list();
  };
  addEventListener("keydown", (event) => {
    if (event.key !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey) return;
    event.preventDefault();
    if (!document.querySelector("dialog[open]")) open();
  });
  return el("div", {}, button("Find…", open, { class: "quiet", title: "Ctrl-K", "aria-keyshortcuts": "Control+K" }), dialog);
}
