// The scope of the list of events: a topic, an actor, a subject, or a user's feed. The address has it as `topic`, `source`
// or `feed`.

import { isLocal, path, query, tokenUser } from "./api.js";
import { PEOPLE } from "./compose.js";
import { button, div, el, field, form, select, suggested } from "./dom.js";

/** The kinds of scopes: their names, what a list of one is called, and values to suggest from the local program's demo. */
const KINDS = {
  topic: { title: "Topic", list: (name) => `Events of ${name}`, demo: [] },
  actor: { title: "Actor", list: (name) => `Events of actor:${name}`, demo: PEOPLE },
  subject: { title: "Subject", list: (name) => `Events of subject:${name}`, demo: ["repo:octo:hello", "repo:octo:engine", "repo:lately:console"] },
  feed: { title: "Feed of", list: (name) => `Feed of ${name}`, demo: PEOPLE },
};

/** The first letters of the paths of each kind's pages. */
const ROUTES = { topic: "topics", actor: "actors", subject: "subjects", feed: "feeds" };

/** Stands for the token's user in an address, or for the demo's user or actor. No name has this text. */
export const ANY = "~";

export class Scope {
  constructor(kind, name) {
    Object.assign(this, { kind, name });
  }

  /** The path of the pages. */
  get path() {
    const base = path(ROUTES[this.kind], this.name);
    return this.kind === "feed" ? base : `${base}/events`;
  }

  /** The source that can be followed, for an actor or a subject. */
  get source() {
    return ["actor", "subject"].includes(this.kind) ? `${this.kind}:${this.name}` : null;
  }

  get label() {
    return KINDS[this.kind].list(this.name);
  }

  /** The parameters of the address. */
  get parameters() {
    const none = { topic: null, source: null, feed: null };
    return { ...none, ...(this.source ? { source: this.source } : { [this.kind]: this.name }) };
  }
}

/** The scope of an address; `null` if the address has none. */
export function scopeOf(parameters) {
  const [feed, source, topic] = ["feed", "source", "topic"].map((name) => parameters.get(name));
  if (feed !== null) return new Scope("feed", feed !== ANY ? feed : (tokenUser() ?? (isLocal() ? "bob" : "")));
  if (source !== null) {
    const [kind, ...name] = (source !== ANY ? source : isLocal() ? "actor:ada" : "actor:").split(":");
    return new Scope(kind === "subject" ? kind : "actor", name.join(":"));
  }
  return topic === null ? null : new Scope("topic", topic);
}

/** The form that chooses a scope. `go(parameters)` is called with a choice; `show(names)` offers topics. */
export function scopeForm(scope, go, ...more) {
  const which = select(Object.entries(KINDS).map(([kind, { title }]) => [kind, title]), scope.kind, { onchange: () => choose() });
  const place = div("scope-name");
  let topics = [];
  const submit = () => go(new Scope(which.value, place.querySelector("input, select").value.trim()).parameters);
  const named = (kind, value) => {
    const { title, demo } = KINDS[kind];
    if (kind === "topic" && topics.length > 0) {
      const names = topics.includes(value) || !value ? topics : [value, ...topics];
      return field(title, select(names, value, { onchange: submit }), { hidden: true });
    }
    const label = kind === "feed" ? "User" : title;
    return field(label, suggested(isLocal() ? demo : [], { value, required: true, placeholder: label.toLowerCase() }), { hidden: true });
  };
  const choose = () => {
    place.replaceChildren(named(which.value, which.value === scope.kind ? scope.name : ""));
    place.querySelector("input, select").focus();
  };
  place.append(named(scope.kind, scope.name));
  const element = form(
    { class: "scope", "aria-label": "Filters" },
    submit,
    field("Events of", which, { hidden: true }),
    place,
    ...more,
    el("button", { type: "submit" }, "Show"),
  );
  /** Offers topics, which were read meanwhile. */
  const show = (names) => {
    topics = names;
    if (which.value === "topic" && !place.contains(document.activeElement)) place.replaceChildren(named("topic", scope.name));
  };
  return { element, show };
}

/** A button that shows and hides a drawer. `fill()` makes its contents when it is first opened. */
export function drawer(label, place, fill) {
  let filled = null;
  const toggle = button(label, () => show(place.hidden), { "aria-expanded": "false" });
  const show = (isOpen) => {
    if (isOpen) filled ??= place.append(...[fill()].flat()) ?? true;
    place.hidden = !isOpen;
    toggle.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) place.querySelector("input, select, textarea")?.focus();
  };
  place.hidden = true;
  return { toggle, show };
}

/** A link to the events and followers of a source. */
export const sourceLink = (source, text = source) => el("a", { href: `#events${query({ source })}` }, el("bdi", {}, text));
