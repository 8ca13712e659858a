// A repository's issues: records with revisions.
//
// An issue is saved with the revision that the form was filled from. If somebody else has changed the issue since, the
// API responds 412, and the page shows both versions side by side. The user can then apply the own changes to the
// current version. Changes that are not saved are kept as a draft until the tab is closed, also if the user opens
// another issue or another panel.

import { note } from "./address.js";
import { apiUrl, call, isLocal, path, query, topics } from "./api.js";
import { PEOPLE } from "./compose.js";
import { announce, button, card, el, empty, field, form, heading, select, table } from "./dom.js";
import { cost, moment, plural } from "./format.js";
import { opening, watch } from "./live.js";
import { hear, tell } from "./tabs.js";
import { pressed, showLast } from "./task.js";
import { priced } from "./trace.js";

/** The topic of the events that report issues. */
const TOPIC = "issues";

/** The wait for further events before the list is read again, in milliseconds. */
const GATHER = 500;

const PAGE = 100;

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

/** Unsaved changes, by the issue's address: the response that the form was filled from, and the changes. */
const drafts = new Map();

addEventListener("beforeunload", (event) => drafts.size > 0 && event.preventDefault());

export function open(place, parameters, signal) {
  const repository = { owner: parameters.get("owner") ?? "octo", repo: parameters.get("repo") ?? "hello" };
  new Issues(place, repository, parameters.get("show") ?? "", signal).start(parameters.get("issue"));
}

class Issues {
  #next = null;
  #rows = [];
  #waiting = false;

  constructor(place, repository, filter, signal) {
    Object.assign(this, { place, repository, filter, signal });
    this.as = "ada";
    this.listed = el("div", { class: "listed" });
    this.status = el("p", { class: "status" });
    this.older = button("Load older", () => this.#more(), { hidden: true });
    this.editor = el("div", { class: "column-side" });
    this.price = priced(signal);
  }

  start(number) {
    this.place.append(
      heading(
        "Issues",
        "Records that several people change. Each has a revision. A write with an old revision is rejected, so nobody overwrites a change that they have not seen.",
      ),
      this.#toolbar(),
      el(
        "div",
        { class: "columns even issue-columns" },
        card(`${this.repository.owner} / ${this.repository.repo}`, this.status, this.price.panel, this.listed, this.older),
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
      const read = () => this.signal.aborted || (this.#waiting ? soon() : this.#list());
      due = setTimeout(read, GATHER);
    };
    const landed = (events) => events.some(({ subject }) => subject === this.#subject) && soon();
    this.#follow(landed);
    hear("issues", (base) => base === this.#address("") && soon(), this.signal);
  }

  /** Lists the issues, and follows the events that report them. The first issue of all makes their topic. */
  #follow(landed) {
    return opening(this.listed, this.signal, async () => {
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
  async #list(after) {
    this.#waiting = after !== undefined;
    await showLast(this.listed, this.signal, async (signal) => {
      const awaited = after && this.filter ? { wait_for: `${after.number}@${after.revision}` } : {};
      const target = this.#page(awaited);
      const answer = await call("GET", target, { signal });
      this.#rows = [];
      this.#take(answer, target);
    });
    this.#waiting = false;
  }

  #more() {
    return pressed(this.older, this.listed, async () => {
      const target = this.#page({ cursor: this.#next });
      this.#take(await call("GET", target, { signal: this.signal }), target);
    });
  }

  #page(more) {
    return `${this.#base}${query({ limit: PAGE, ...Object.fromEntries(new URLSearchParams(this.filter)), ...more })}`;
  }

  /** Adds a page to the list. */
  #take(answer, target) {
    this.#rows.push(...answer.data.issues);
    this.#next = answer.data.next;
    this.older.hidden = this.#next === null;
    this.status.replaceChildren(
      el("span", {}, `${plural(this.#rows.length, "issue")}${this.#next ? ", the newest" : " in all"}`),
      this.price.element,
    );
    this.price.show(`last read: ${cost(answer)}`, target);
    this.#draw();
  }

  #draw() {
    this.listed.replaceChildren(this.#rows.length === 0 ? this.#none() : this.#table(this.#rows));
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
        drafts.has(this.#address(issue.number)) && el("span", { class: "mark" }, "not saved"),
        el("div", { class: "hint" }, issue.labels.join(", ")),
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
    const submit = el("button", { type: "submit", class: "primary" }, "Open issue");
    const said = el("div", {});
    const add = () =>
      pressed(submit, said, async () => {
        const answer = await call("POST", this.#base, {
          body: { title: title.value, labels: split(labels.value) },
          token: this.#token(),
          signal: this.signal,
        });
        title.value = labels.value = "";
        said.replaceChildren(el("p", { class: "price" }, cost(answer)));
        announce(`Issue ${answer.data.number} is open.`);
        this.#show(answer);
        await this.#changed(answer.data);
      });
    return card(
      "Open an issue",
      form({ class: "fields" }, add, field("Title", title, { wide: true }), field("Labels", labels), submit),
      said,
    );
  }

  #showNone() {
    this.editor.replaceChildren(
      el("div", { class: "card" }, empty("No issue is selected.", "Select one from the list.")),
    );
  }

  /** Lists again after a change that this page made, and tells the other tabs. */
  #changed(issue) {
    tell("issues", this.#address(""));
    return this.#list(issue);
  }

  #read(number) {
    return showLast(this.editor, this.signal, async (signal) => {
      const draft = drafts.get(this.#address(number));
      // A draft is shown with the revision it was begun from, so that saving it finds changes made since.
      if (draft) this.#show(draft.answer, draft.changes);
      else this.#show(await call("GET", `${this.#base}/${number}?consistent=true`, { signal }));
      this.editor.querySelector("h2").focus();
    });
  }

  /** Shows a form with the revision that it was filled from. `typed` are changes to apply to the issue. */
  #show(answer, typed = {}) {
    const issue = answer.data;
    const shown = { ...issue, ...typed };
    const title = el("input", { name: "title", value: shown.title, required: true, maxlength: "256", autocomplete: "off" });
    const body = el("textarea", { name: "body", rows: "4" });
    body.value = shown.body ?? "";
    const labels = el("input", { name: "labels", value: join(shown.labels), autocomplete: "off" });
    const status = select(["open", "closed"], shown.status);
    const priority = select(["high", "medium", "low"], shown.priority);
    const submit = el("button", { type: "submit", class: "primary" }, "Save");
    const said = el("div", { class: "said", role: "status" });

    const changes = () => {
      const now = { title: title.value, status: status.value, priority: priority.value };
      // A text area has other line ends than the issue may have.
      if (body.value !== lines(issue.body ?? "")) now.body = body.value;
      if (labels.value.trim() !== join(issue.labels)) now.labels = split(labels.value);
      return Object.fromEntries(Object.entries(now).filter(([name, value]) => value !== issue[name]));
    };
    const keep = () => {
      const [address, now] = [this.#address(issue.number), changes()];
      const was = drafts.has(address);
      if (Object.keys(now).length > 0) drafts.set(address, { answer, changes: now });
      else drafts.delete(address);
      if (was !== drafts.has(address)) this.#draw();
    };
    const save = () => pressed(submit, said, () => this.#save(issue, answer.etag, changes(), said));
    const rival = button("Simulate another user's change", () =>
      pressed(rival, said, () => this.#rival(issue, said)),
    );
    const discard = button("Discard changes", () => this.#discard(issue.number), { class: "quiet" });

    const head = card(
      `Issue #${issue.number}`,
      el(
        "p",
        { class: "muted" },
        `Opened by ${issue.opened_by}, `,
        moment(issue.opened_at),
        ". This form holds revision ",
        el("code", {}, answer.etag),
        ".",
      ),
      said,
      form(
        { class: "fields", oninput: keep },
        save,
        field("Title", title, { full: true }),
        field("Body", body, { full: true }),
        field("Labels", labels, { full: true, hint: "Separated by commas; quote a label that has a comma" }),
        field("Status", status),
        field("Priority", priority),
        el("div", { class: "actions wide" }, submit, isLocal() && rival, discard),
      ),
    );
    head.querySelector("h2").tabIndex = -1;
    this.editor.replaceChildren(head);
    note({ issue: issue.number });
    keep();
  }

  #discard(number) {
    drafts.delete(this.#address(number));
    this.#draw();
    return this.#read(number);
  }

  async #save(issue, etag, changes, said) {
    said.replaceChildren();
    if (Object.keys(changes).length === 0)
      return said.replaceChildren(el("p", { class: "muted" }, "There are no changes to save."));
    try {
      const answer = await this.#patch(issue.number, etag, changes, this.#token());
      drafts.delete(this.#address(issue.number));
      this.#show(answer);
      this.editor
        .querySelector(".said")
        .replaceChildren(
          el(
            "p",
            {},
            "Saved as revision ",
            el("code", {}, answer.etag),
            ". ",
            el("span", { class: "price" }, cost(answer)),
          ),
        );
      await this.#changed(answer.data);
    } catch (problem) {
      if (problem.code !== "revision-mismatch") throw problem;
      await this.#conflict(issue, changes, problem, said);
    }
  }

  #patch(number, etag, body, token) {
    return call("PATCH", `${this.#base}/${number}`, {
      body,
      headers: { "If-Match": etag },
      token,
      signal: this.signal,
    });
  }

  /**
   * Shows the current version beside the user's changes, with a choice for each field that both changed. Labels are merged:
   * those that the user added or removed are added to or removed from the current ones.
   */
  async #conflict(issue, changes, problem, said) {
    const theirs = await call("GET", `${this.#base}/${issue.number}?consistent=true`, { signal: this.signal });
    const merged = { ...changes };
    if (changes.labels) merged.labels = merge(issue.labels, changes.labels, theirs.data.labels);
    const text = (value) => (Array.isArray(value) ? join(value) : (value ?? ""));
    const names = ["title", "body", "labels", "status", "priority"];
    const differs = (name) => text(theirs.data[name]) !== text(issue[name]);
    const choices = new Map();
    const rows = names
      .filter((name) => name in changes || differs(name))
      .map((name) => {
        const mine = name in changes ? text(changes[name]) : "unchanged";
        const both = name in changes && differs(name) && name !== "labels";
        if (both) choices.set(name, select([["mine", "yours"], ["theirs", "current"]], "mine", { "aria-label": `Keep ${name}` }));
        const result = name in changes ? text(merged[name]) : text(theirs.data[name]);
        return [
          name,
          text(issue[name]),
          el("bdi", {}, text(theirs.data[name])),
          el("bdi", {}, mine),
          choices.get(name) ?? el("bdi", {}, result),
        ];
      });
    const reapply = button(
      "Apply my changes to the current version",
      () => {
        for (const [name, { value }] of choices) if (value === "theirs") delete merged[name];
        this.#show(theirs, merged);
        announce("The form holds the current revision with your changes. Save to write them.");
        this.editor.querySelector("h2").focus();
      },
      { class: "primary" },
    );
    const give = button("Discard my changes", () => this.#discard(issue.number));
    said.replaceChildren(
      el(
        "div",
        { class: "conflict" },
        el("h3", {}, "Somebody else changed this issue"),
        el("p", {}, `Your changes are not saved: ${problem.message} `, el("code", {}, `${problem.status} ${problem.code}`)),
        table("The two versions", ["Field", "You read", "Current", "Yours", "Result"], rows),
        el("div", { class: "actions" }, reapply, give),
      ),
    );
    reapply.focus();
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
    said.replaceChildren(
      el(
        "p",
        {},
        `${who} has just changed the labels. The current revision is `,
        el("code", {}, answer.etag),
        ". Change something and save.",
      ),
    );
    await this.#changed(answer.data);
  }
}

const lines = (text) => text.replaceAll(/\r\n?/g, "\n");

/** Labels as text: separated by commas, and in quotes if they have a comma or a quote. */
const join = (labels) => labels.map((it) => (/[",]/.test(it) ? `"${it.replaceAll('"', '""')}"` : it)).join(", ");

/** The labels of a text, each once. */
function split(text) {
  const parts = [...text.matchAll(/\s*("(?:[^"]|"")*"|[^,]*)\s*(?:,|$)/g)].map(([, part]) => part.trim());
  const plain = parts.map((part) => (/^".*"$/s.test(part) ? part.slice(1, -1).replaceAll('""', '"') : part));
  return [...new Set(plain.filter(Boolean))];
}

/** The current labels, with the user's additions and removals. */
const merge = (before, mine, current) => [
  ...current.filter((it) => mine.includes(it) || !before.includes(it)),
  ...mine.filter((it) => !before.includes(it) && !current.includes(it)),
];
