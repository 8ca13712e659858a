// A repository's issues: records with revisions, which people list by status and priority.

import { note } from "./address.js";
import { apiUrl, call, isLocal, path, query, topics } from "./api.js";
import { PEOPLE } from "./compose.js";
import { announce, button, card, div, el, empty, field, form, heading, p, select, table } from "./dom.js";
import { asTyped, Editor, hasDraft } from "./editor.js";
import { cost, moment, plural } from "./format.js";
import { untilRead, watch } from "./live.js";
import { Pages } from "./pages.js";
import { hear, tell } from "./tabs.js";
import { pressed, workForm } from "./task.js";

/** The topic of the events that report issues. */
const TOPIC = "issues";

/** The wait for further events before the list is read again, in milliseconds. */
const GATHER = 500;

const PAGE = 100;

/** The fields of an issue that can be changed. */
const FIELDS = ["title", "body", "labels", "status", "priority"];

const FILTERS = [
  ["", "all"],
  ["status=open", "open"],
  ["status=closed", "closed"],
  ["priority=high", "high priority"],
  ["priority=medium", "medium priority"],
  ["priority=low", "low priority"],
];
const EXAMPLES = [
  { title: "The counter runs backwards", body: "Since yesterday.", labels: ["critical", "ui"] },
  { title: "Show who follows a repository", labels: ["enhancement"] },
  { title: "The page's price is rounded", body: "Half a unit is lost." },
];

export function open(place, parameters, signal) {
  const repository = { owner: parameters.get("owner") ?? "octo", repo: parameters.get("repo") ?? "hello" };
  new Issues(place, repository, parameters.get("show") ?? "", signal).start(parameters.get("issue"));
}

class Issues {
  /** The issue that the list waits for. */
  #awaited = null;

  constructor(place, repository, filter, signal) {
    Object.assign(this, { place, repository, filter, signal, as: "ada" });
    this.listed = div("listed");
    this.editor = div("column");
    this.pages = new Pages(this.listed, signal, { target: (cursor) => this.#page(cursor), of: (it) => it.issues, draw: () => this.#draw(), label: "Load older" });
  }

  start(number) {
    this.place.append(
      heading(
        "Issues",
        "Records that several people change. Each has a revision. A write with an old revision is rejected, so nobody overwrites a change that they have not seen.",
      ),
      this.#toolbar(),
      div(
        "columns even issue-columns",
        card(`${this.repository.owner} / ${this.repository.repo}`, ...this.pages.head, this.listed, this.pages.more),
        this.editor,
        this.#opening(),
      ),
    );
    if (number === null) this.#showNone();
    else this.#read(number);
    let due = null;
    const soon = () => {
      clearTimeout(due);
      // A list that waits for an index would be aborted, and this one would lack the change.
      const read = () => this.signal.aborted || (this.#awaited ? soon() : this.#list());
      due = setTimeout(read, GATHER);
    };
    const landed = ({ subject }) => subject === this.#subject && soon();
    this.#follow(landed);
    hear("issues", (base) => base === this.#address("") && soon(), this.signal);
  }

  /** Lists the issues, and follows the events that report them. The first issue of all makes their topic. */
  #follow(landed) {
    return untilRead(this.listed, this.signal, async () => {
      const known = await topics(this.signal);
      const follows = known.includes(TOPIC) ? { path: `${path("topics", TOPIC)}/events` } : null;
      this.signal.addEventListener("abort", watch({ begin: () => this.#list(), landed }, follows));
    });
  }

  /** The subject of the events that report this repository's issues. */
  get #subject() {
    return `repo:${this.repository.owner}:${this.repository.repo}`;
  }

  /** Names an issue among all APIs and repositories. */
  #address(number) {
    return `${apiUrl()}${this.#base}/${number}`;
  }

  /** The token: of the chosen user in the local program, and the connection's otherwise. */
  #token() {
    return isLocal() ? this.as : undefined;
  }

  get #base() {
    return path("repos", this.repository.owner, this.repository.repo, "issues");
  }

  #toolbar() {
    const owner = el("input", { value: this.repository.owner, autocomplete: "off", required: true });
    const repo = el("input", { value: this.repository.repo, autocomplete: "off", required: true });
    const show = select(FILTERS, this.filter, { onchange: () => go() });
    const as = select(PEOPLE, this.as, { onchange: () => (this.as = as.value) });
    const go = () =>
      (location.hash = `issues${query({ owner: owner.value.trim(), repo: repo.value.trim(), show: show.value })}`);
    return form(
      { class: "toolbar", "aria-label": "Filters" },
      go,
      field("Owner", owner),
      field("Repository", repo),
      field("Show", show),
      el("button", { type: "submit" }, "Show"),
      isLocal() && field("Act as", as),
    );
  }

  /** Reads the list. It waits for the change of the issue `after`, because indexes are updated asynchronously. */
  async #list(after = null) {
    this.#awaited = after;
    await this.pages.first();
    this.#awaited = null;
  }

  #page(cursor) {
    const filters = Object.fromEntries(new URLSearchParams(this.filter));
    const after = !cursor && this.filter && this.#awaited;
    return `${this.#base}${query({ limit: PAGE, ...filters, cursor, wait_for: after ? `${after.number}@${after.revision}` : null })}`;
  }

  #draw() {
    const { items, next, tally } = this.pages;
    tally.textContent = `${plural(items.length, "issue")}${next ? ", the newest" : " in all"}`;
    const drawn = items.length === 0 ? this.#none() : this.#table(items);
    // A list that has not changed stays, so that no click on it is lost.
    if (this.listed.childNodes.length !== 1 || !this.listed.firstChild.isEqualNode(drawn)) this.listed.replaceChildren(drawn);
  }

  #none() {
    if (this.filter) return empty("No issue matches.");
    const make = button("Open three example issues", () =>
      pressed(make, this.listed, async () => {
        for (const body of EXAMPLES)
          await call("POST", this.#base, { body, token: this.#token(), signal: this.signal });
        await this.#list();
      }),
    );
    return empty("No issues here yet.", make);
  }

  #table(issues) {
    const rows = issues.map((issue) => [
      `#${issue.number}`,
      [
        button(el("bdi", {}, issue.title), () => this.#read(issue.number), { class: "as-link" }),
        hasDraft(this.#address(issue.number)) && el("span", { class: "mark" }, "not saved"),
        div("hint", issue.labels.join(", ")),
      ],
      el("span", { class: `mark ${issue.status}` }, issue.status),
      el("span", { class: `mark ${issue.priority}` }, issue.priority),
      moment(issue.updated_at),
    ]);
    return table(
      `Issues of ${this.repository.owner}/${this.repository.repo}`,
      ["No.", "Title", "Status", "Priority", "Changed (UTC)"],
      rows,
    );
  }

  #opening() {
    const title = el("input", { name: "title", required: true, maxlength: "256", autocomplete: "off" });
    const labels = el("input", { name: "labels", placeholder: "critical, ui", autocomplete: "off" });
    const add = async (said) => {
      const body = { title: title.value, labels: split(labels.value) };
      const answer = await call("POST", this.#base, { body, token: this.#token(), signal: this.signal });
      title.value = labels.value = "";
      said.replaceChildren(p("price", cost(answer)));
      announce(`Issue ${answer.data.number} is open.`);
      this.#editorOf(answer.data.number).show(answer);
      await this.#changed(answer.data);
    };
    return card("Open an issue", ...workForm("Open issue", [field("Title", title, { wide: true }), field("Labels", labels)], add));
  }

  #showNone() {
    this.editor.replaceChildren(div("card", empty("No issue is selected.", "Select one from the list.")));
  }

  /** Lists again after a change that this page made, and tells the other tabs. */
  #changed(issue) {
    tell("issues", this.#address(""));
    return this.#list(issue);
  }

  async #read(number) {
    const editor = this.#editorOf(number);
    await editor.open();
    editor.element.querySelector("h2").focus();
  }

  /** Puts the editor of an issue in the place of the one before. */
  #editorOf(number) {
    const fields = (issue) => Object.fromEntries(FIELDS.map((name) => [name, issue[name]]));
    const editor = new Editor(`Issue #${number}`, this.signal, {
      what: "issue",
      address: this.#address(number),
      target: `${this.#base}/${number}`,
      lists: ["labels"],
      text: (value) => (Array.isArray(value) ? join(value) : (value ?? "")),
      about: ({ data }) => [`Opened by ${data.opened_by}, `, moment(data.opened_at), ". "],
      controls: ({ data }, typed) => this.#controls(data, typed, editor.said),
      write: ({ etag }, changes) => this.#patch(number, etag, changes, this.#token()),
      saved: ({ data }) => this.#changed(data),
      versions: ({ data }, changes, current) => ({ before: fields(data), mine: fields({ ...data, ...changes }), theirs: fields(current.data) }),
      merge: (merged) => merged,
      drafted: () => this.#draw(),
    });
    this.editor.replaceChildren(editor.element);
    note({ issue: number });
    return editor;
  }

  /** The form of an issue. `typed` are changes of the user. */
  #controls(issue, typed, said) {
    const shown = { ...issue, ...typed };
    const title = el("input", { name: "title", value: shown.title, required: true, maxlength: "256", autocomplete: "off" });
    const body = el("textarea", { name: "body", rows: "4", value: shown.body ?? "" });
    const labels = el("input", { name: "labels", value: join(shown.labels), autocomplete: "off" });
    const status = select(["open", "closed"], shown.status);
    const priority = select(["high", "medium", "low"], shown.priority);
    const rival = button("Simulate another user's change", () => pressed(rival, said, () => this.#rival(issue, said)));
    const changes = () => {
      const now = { title: title.value, status: status.value, priority: priority.value };
      if (body.value !== asTyped(issue.body ?? "")) now.body = body.value;
      if (labels.value.trim() !== join(issue.labels)) now.labels = split(labels.value);
      const changed = Object.entries(now).filter(([name, value]) => value !== issue[name]);
      return changed.length > 0 ? Object.fromEntries(changed) : null;
    };
    const fields = [
      field("Title", title, { full: true }),
      field("Body", body, { full: true }),
      field("Labels", labels, { full: true, hint: "Separated by commas; quote a label that has a comma" }),
      field("Status", status),
      field("Priority", priority),
    ];
    return { fields, buttons: isLocal() && rival, typed: changes };
  }

  #patch(number, etag, body, token) {
    return call("PATCH", `${this.#base}/${number}`, { body, headers: { "If-Match": etag }, token, signal: this.signal });
  }

  /** Another of the demo's users adds a label to the current revision, or removes it. */
  async #rival(issue, said) {
    const who = PEOPLE.find((name) => name !== this.as);
    const now = await call("GET", `${this.#base}/${issue.number}?consistent=true`, { token: who, signal: this.signal });
    const label = `seen-by-${who}`;
    const labels = now.data.labels.includes(label)
      ? now.data.labels.filter((it) => it !== label)
      : [...now.data.labels, label];
    const answer = await this.#patch(issue.number, now.etag, { labels }, who);
    const changed = [`${who} has just changed the labels. The current revision is `, el("code", {}, answer.etag)];
    said.replaceChildren(el("p", {}, ...changed, ". Change something and save."));
    await this.#changed(answer.data);
  }
}

/** Labels as text: separated by commas, and in quotes if they have a comma or a quote. */
const join = (labels) => labels.map((it) => (/[",]/.test(it) ? `"${it.replaceAll('"', '""')}"` : it)).join(", ");

/** The labels of a text, each once. */
function split(text) {
  const parts = [...text.matchAll(/\s*("(?:[^"]|"")*"|[^,]*)\s*(?:,|$)/g)].map(([, part]) => part.trim());
  const plain = parts.map((part) => (/^".*"$/s.test(part) ? part.slice(1, -1).replaceAll('""', '"') : part));
  return [...new Set(plain.filter(Boolean))];
}
