// The editor of a record with a revision.
//
// A record is saved with the revision that the form was filled from. If somebody else has changed the record since, the API
// responds 412, and the page shows the versions side by side. The user can then apply the own changes to the current version.
// Changes that are not saved are a draft until the tab is closed, also if the user opens another record or panel.

import { announce, button, card, div, el, form, loading, p, select, table } from "./dom.js";
import { call } from "./api.js";
import { cost } from "./format.js";
import { pressed, showLast } from "./task.js";
import { priced } from "./trace.js";

/** Drafts, by the record's address: what the user typed, and the version that it was begun from. */
const drafts = new Map();

addEventListener("beforeunload", (event) => drafts.size > 0 && event.preventDefault());

/** True if the record with this address has a draft. */
export const hasDraft = (address) => drafts.has(address);

/** A text as a text area has it: with other line ends than a record may have. */
export const asTyped = (text) => text.replaceAll(/\r\n?/g, "\n");

export class Editor {
  #options;

  /**
   * `target` is the record's path. A version is a response. That of a record that does not exist, if it is `optional`, has
   * no `etag`.
   * `controls(version, typed)` makes the form: its `fields`, further `buttons`, elements `below` it, and `typed()`, which
   * returns what the user changed, or `null`. `about(version)` describes the version. `write(version, typed)` sends the
   * change, and `saved(version)` is called after it. `versions(version, typed, current)` has the fields of the three versions,
   * and `merge(fields)` is what is typed with such fields. `drafted()` is called when a draft begins or ends.
   */
  constructor(title, signal, options) {
    Object.assign(this, { signal, address: options.address });
    this.#options = { as: "json", about: () => [], drafted: () => {}, saved: () => {}, ...options };
    this.said = el("div", { class: "said", role: "status" });
    this.shown = el("div", {}, loading());
    this.element = card(title, this.said, this.shown);
    this.element.querySelector("h2").tabIndex = -1;
  }

  /** Reads the record, unless there is a draft. A draft keeps the version it was begun from, so that saving finds later changes. */
  open() {
    return showLast(this.shown, this.signal, async (signal) => {
      const { version, typed } = drafts.get(this.address) ?? { version: await this.#read(signal) };
      this.show(version, typed);
    });
  }

  async #read(signal = this.signal) {
    const { target, as, optional } = this.#options;
    return call("GET", `${target}?consistent=true`, { as, signal }).catch((error) => {
      if (error.status !== 404 || !optional) throw error;
      return { data: "", etag: null };
    });
  }

  /** Shows the form of a version, with what is typed. */
  show(version, typed) {
    const { controls, about, drafted } = this.#options;
    const isNew = version.etag === null;
    const price = priced(this.signal);
    if (version.read) price.show(version);
    const made = controls(version, typed);
    const submit = el("button", { type: "submit", class: "primary" }, isNew ? "Create" : "Save");
    const discard = button("Discard changes", () => this.discard(), { class: "quiet" });
    const changed = () => {
      const now = made.typed();
      const was = drafts.has(this.address);
      if (now === null) drafts.delete(this.address);
      else drafts.set(this.address, { version, typed: now });
      discard.hidden = now === null;
      if (was !== drafts.has(this.address)) drafted();
    };
    const save = () => pressed(submit, this.said, () => this.#save(version, made.typed()));
    const held = ["This form holds revision ", el("code", {}, version.etag), ". ", version.read && price.element];
    this.shown.replaceChildren(
      p("muted", about(version), isNew ? "This record does not exist. Save it to create it." : held),
      price.panel,
      form({ class: "fields", oninput: changed }, save, made.fields, div("actions wide", submit, made.buttons, discard)),
      ...(made.below ?? []),
    );
    changed();
  }

  discard() {
    drafts.delete(this.address);
    this.#options.drafted();
    this.said.replaceChildren();
    return this.open();
  }

  /** The header that makes a write fail if the record is no longer as in the version. */
  condition({ etag }) {
    return etag === null ? { "If-None-Match": "*" } : { "If-Match": etag };
  }

  async #save(version, typed) {
    this.said.replaceChildren();
    if (typed === null) return this.said.replaceChildren(p("muted", "There are no changes to save."));
    await this.unlessChanged(version, typed, async () => {
      const answer = await this.#options.write(version, typed);
      drafts.delete(this.address);
      this.show(answer);
      const price = el("span", { class: "price" }, cost(answer));
      this.said.replaceChildren(el("p", {}, "Saved as revision ", el("code", {}, answer.etag), ". ", price));
      await this.#options.saved(answer);
    });
  }

  /** Does `work`. If the record is no longer as in the version, shows the versions and a choice. */
  async unlessChanged(version, typed, work) {
    try {
      await work();
    } catch (problem) {
      if (problem.status !== 412) throw problem;
      const current = await this.#read();
      const { merge, versions, what, text, lists } = this.#options;
      const apply = (fields) => {
        this.said.replaceChildren();
        this.show(current, merge(fields));
        this.element.querySelector("h2").focus();
      };
      const shown = { what, text, lists, apply, discard: () => this.discard() };
      showConflict(this.said, problem, versions(version, typed, current), shown);
    }
  }
}

/**
 * Shows the fields of a record that differ: as the user read them (`before`), as somebody else changed them (`theirs`), and
 * as the user did (`mine`). A field that both changed has a choice; of `lists`, both changes are kept. `text(value)` is a
 * value in words. `apply(fields)` is called with the current fields and the user's changes.
 */
function showConflict(place, problem, { before, theirs, mine }, { what, lists = [], text, apply, discard }) {
  const differs = (name, one, other) => JSON.stringify(one[name]) !== JSON.stringify(other[name]);
  const names = [...new Set([before, theirs, mine].flatMap(Object.keys))];
  const result = { ...theirs };
  const choices = new Map();
  const rows = names
    .filter((name) => differs(name, before, mine) || differs(name, before, theirs))
    .map((name) => {
      const shown = (fields) => el("bdi", {}, text(fields[name]));
      if (!differs(name, before, mine)) return [name, shown(before), shown(theirs), "unchanged", shown(theirs)];
      const isList = lists.includes(name);
      result[name] = isList ? merge(before[name], mine[name], theirs[name]) : mine[name];
      if (!isList && differs(name, before, theirs))
        choices.set(name, select([["mine", "yours"], ["theirs", "current"]], "mine", { "aria-label": `Keep ${name}` }));
      return [name, shown(before), shown(theirs), shown(mine), choices.get(name) ?? shown(result)];
    });
  const go = () => {
    for (const [name, { value }] of choices) if (value === "theirs") result[name] = theirs[name];
    apply(result);
    announce("The form holds the current revision with your changes. Save to write them.");
  };
  const again = button("Apply my changes to the current version", go, { class: "primary" });
  place.replaceChildren(
    div(
      "conflict",
      el("h3", {}, `Somebody else changed this ${what}`),
      el("p", {}, `Your changes are not saved: ${problem.detail} `, el("code", {}, `${problem.status} ${problem.code}`)),
      table("The versions", ["Field", "You read", "Current", "Yours", "Result"], rows, { class: "items" }),
      div("actions", again, button("Discard my changes", discard)),
    ),
  );
  again.focus();
}

/** The current list, with the user's additions and removals. */
const merge = (before, mine, current) => [
  ...current.filter((it) => mine.includes(it) || !before.includes(it)),
  ...mine.filter((it) => !before.includes(it) && !current.includes(it)),
];
