// Profiles of users and settings of applications: JSON objects with revisions.
//
// A record is saved with the revision that was read. If somebody else has changed the record since, the API responds 412,
// and the page shows the fields that differ. The user can then apply the own changes to the current version. Text that is
// not saved is kept as a draft until the tab is closed.

import { apiUrl, call, exactly, path, query, tokenUser } from "./api.js";
import { announce, button, card, el, empty, field, form, heading, loading, nameInput, table } from "./dom.js";
import { cost } from "./format.js";
import { watch } from "./live.js";
import { userForm } from "./people.js";
import { asking, pressed, showLast } from "./task.js";

const KINDS = {
  profile: { title: "Profile", target: (user) => path("users", user, "profile") },
  settings: { title: "Settings", target: (app) => path("settings", app) },
};

/** Unsaved texts, by the record's address, with the version that each was begun from. */
const drafts = new Map();

addEventListener("beforeunload", (event) => drafts.size > 0 && event.preventDefault());

/** The panels of the kinds of records, each with `open(place, parameters, signal)`. */
export const profile = { open: (place, parameters, signal) => openProfile(place, parameters.get("user") ?? tokenUser() ?? "", signal) };
export const settings = { open: (place, parameters, signal) => openSettings(place, parameters.get("app") ?? "", signal) };

const ABOUT = "A JSON object with a revision. A write with an old revision is rejected, so nobody overwrites a change that they have not seen.";

function openProfile(place, user, signal) {
  place.append(heading("Profile", ABOUT), userForm("profile", user));
  show(place, "profile", user, signal);
}

function openSettings(place, app, signal) {
  const name = nameInput({ value: app, required: true });
  place.append(
    heading("Settings of applications", ABOUT),
    form(
      { class: "toolbar", "aria-label": "Choose an application" },
      () => (location.hash = `settings${query({ app: name.value.trim() })}`),
      field("Application", name),
      el("button", { type: "submit" }, "Show"),
    ),
  );
  show(place, "settings", app, signal);
}

function show(place, kind, name, signal) {
  if (name) new RecordForm(place, kind, name, signal).start();
  else place.append(el("div", { class: "card" }, empty("No record is selected.", "Enter a name.")));
}

class RecordForm {
  constructor(place, kind, name, signal) {
    const { title, target } = KINDS[kind];
    Object.assign(this, { place, signal, target: target(name), title: `${title} of ${name}` });
    this.address = apiUrl() + this.target;
    this.said = el("div", { class: "said", role: "status" });
    this.shown = el("div", {}, loading());
  }

  start() {
    this.place.append(card(this.title, this.shown, this.said));
    this.signal.addEventListener("abort", watch({ begin: () => this.shown.querySelector("form") ?? this.#open() }));
  }

  #open() {
    return showLast(this.shown, this.signal, async (signal) => {
      const draft = drafts.get(this.address);
      // A draft is shown with the version that it was begun from, so that saving it finds changes made since.
      if (draft) this.#show(draft.version, draft.text);
      else this.#show(await this.#read(signal));
    });
  }

  /** The current version: its text and revision. A record that does not exist has neither. */
  async #read(signal = this.signal) {
    try {
      const answer = await call("GET", `${this.target}?consistent=true`, { as: "text", signal });
      return { text: answer.data, etag: answer.etag, price: cost(answer) };
    } catch (error) {
      if (error.status !== 404) throw error;
      return { text: "", etag: null, price: "" };
    }
  }

  #show(version, typed = version.text) {
    const data = el("textarea", { rows: "14", spellcheck: "false", required: true, placeholder: '{"name": "Ada"}', value: typed });
    const isNew = version.etag === null;
    const submit = el("button", { type: "submit", class: "primary" }, isNew ? "Create" : "Save");
    const discard = button("Discard changes", () => this.#discard(), { class: "quiet" });
    const tidy = button("Format", () => {
      if (!data.reportValidity()) return;
      data.value = JSON.stringify(exactly(data.value), null, 2);
      changed();
    });
    const changed = () => {
      data.setCustomValidity(faultOf(data.value));
      // A text area has other line ends than the record may have.
      const isDraft = data.value !== version.text.replaceAll(/\r\n?/g, "\n");
      if (isDraft) drafts.set(this.address, { version, text: data.value });
      else drafts.delete(this.address);
      discard.hidden = !isDraft;
    };
    const save = () => pressed(submit, this.said, () => this.#save(version, data.value));
    const editor = form(
      { class: "fields", oninput: changed },
      save,
      field("JSON object", data, { wide: true }),
      el("div", { class: "actions wide" }, submit, tidy, discard, el("span", { class: "price" }, version.price)),
    );
    const remove = asking("Delete", `Delete this record? Other readers no longer find it.`, this.said, () => this.#delete(version));
    this.shown.replaceChildren(
      isNew
        ? el("p", { class: "muted" }, "This record does not exist. Save it to create it.")
        : el("p", { class: "muted" }, "This form holds revision ", el("code", {}, version.etag), "."),
      editor,
      ...(isNew ? [] : [remove]),
    );
    changed();
  }

  #discard() {
    drafts.delete(this.address);
    this.said.replaceChildren();
    return this.#open();
  }

  #condition({ etag }) {
    return etag === null ? { "If-None-Match": "*" } : { "If-Match": etag };
  }

  async #save(version, text) {
    this.said.replaceChildren();
    const options = { body: text, headers: this.#condition(version), as: "text", signal: this.signal };
    await this.#unlessChanged(version, text, async () => {
      const answer = await call("PUT", this.target, options);
      drafts.delete(this.address);
      this.#show({ text: answer.data, etag: answer.etag, price: cost(answer) });
      this.said.replaceChildren(el("p", {}, "Saved as revision ", el("code", {}, answer.etag), "."));
    });
  }

  async #delete(version) {
    this.said.replaceChildren();
    await this.#unlessChanged(version, version.text, async () => {
      await call("DELETE", this.target, { headers: this.#condition(version), signal: this.signal });
      drafts.delete(this.address);
      announce("The record is deleted.");
      await this.#open();
    });
  }

  /** Does `work`. If the record is no longer as in `version`, shows both versions. */
  async #unlessChanged(version, text, work) {
    try {
      await work();
    } catch (error) {
      if (error.status !== 412) throw error;
      this.#showConflict(version, text, await this.#read(), error);
    }
  }

  #showConflict(version, text, current, problem) {
    const [before, mine, theirs] = [version.text, text, current.text].map((it) => exactly(it || "{}"));
    const merged = merge(before, mine, theirs);
    const names = [...new Set([before, mine, theirs].flatMap(Object.keys))].filter(
      (name) => !same(before[name], mine[name]) || !same(before[name], theirs[name]),
    );
    const shown = (fields, name) => (Object.hasOwn(fields, name) ? el("code", {}, JSON.stringify(fields[name])) : "absent");
    const rows = names.map((name) => [name, ...[before, theirs, mine, merged].map((fields) => shown(fields, name))]);
    const apply = button(
      "Apply my changes to the current version",
      () => {
        this.said.replaceChildren();
        this.#show(current, JSON.stringify(merged, null, 2));
        announce("The form holds the current revision with your changes. Save to write them.");
        this.shown.querySelector("textarea").focus();
      },
      { class: "primary" },
    );
    this.said.replaceChildren(
      el(
        "div",
        { class: "conflict" },
        el("h3", {}, "Somebody else changed this record"),
        el("p", {}, `Your change is not saved: ${problem.message} `, el("code", {}, `${problem.status} ${problem.code}`)),
        table("The versions", ["Field", "You read", "Current", "Yours", "Result"], rows, { class: "items" }),
        el("div", { class: "actions" }, apply, button("Discard my changes", () => this.#discard())),
      ),
    );
    apply.focus();
  }
}

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/** The current fields, with the user's additions, changes and removals. */
function merge(before, mine, current) {
  const names = [...new Set([...Object.keys(current), ...Object.keys(mine)])];
  const chosen = names.map((name) => [name, same(before[name], mine[name]) ? current[name] : mine[name]]);
  return Object.fromEntries(chosen.filter(([, value]) => value !== undefined));
}

/** The fault of a text that is not a JSON object. */
function faultOf(text) {
  try {
    const value = JSON.parse(text);
    return value === null || typeof value !== "object" || Array.isArray(value) ? "Enter a JSON object: { … }." : "";
  } catch (error) {
    return `This is not valid JSON: ${error.message}`;
  }
}
