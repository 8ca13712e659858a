// A repository's issues: records with revisions.
//
// An issue is saved with the revision that the form was filled from. If somebody else has changed the issue since, the
// API responds 412, and the page shows both versions side by side. The user can then apply the own changes to the
// current version.

import { call, isLocal, path, query } from "./api.js";
import { PEOPLE } from "./compose.js";
import { announce, button, card, el, empty, field, form, heading, select, table } from "./dom.js";
import { cost, time } from "./format.js";
import { watch } from "./live.js";
import { pressed, showLast } from "./task.js";

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
  new Issues(place, repository, parameters.get("show") ?? "", signal).start();
}

class Issues {
  constructor(place, repository, filter, signal) {
    Object.assign(this, { place, repository, filter, signal });
    this.as = "ada";
    this.listed = el("div", { class: "listed" });
    this.status = el("p", { class: "status" });
    this.editor = el("div", { class: "column-side" });
  }

  start() {
    this.place.append(
      heading(
        "Issues",
        "Records that several people change. Each has a revision, and a write with an old revision is rejected, so no change is lost.",
      ),
      this.#toolbar(),
      el(
        "div",
        { class: "columns even" },
        el(
          "div",
          { class: "column-main" },
          card(`${this.repository.owner} / ${this.repository.repo}`, this.status, this.listed),
          this.#opening(),
        ),
        this.editor,
      ),
    );
    this.#showNone();
    this.signal.addEventListener("abort", watch({ begin: () => this.#list() }));
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
      isLocal() && field("You are", as),
    );
  }

  /** Reads the list. It waits for the change of the issue `after`, because indexes are updated asynchronously. */
  #list(after) {
    return showLast(this.listed, this.signal, async (signal) => {
      const awaited = after && this.filter ? { wait_for: `${after.number}@${after.revision}` } : {};
      const answer = await call(
        "GET",
        `${this.#base}${query({ limit: 100, ...Object.fromEntries(new URLSearchParams(this.filter)), ...awaited })}`,
        { signal },
      );
      const { issues, next } = answer.data;
      this.status.replaceChildren(
        el("span", {}, `${issues.length} issues${next ? " (the newest)" : ""}`),
        el("span", { class: "price" }, `last read: ${cost(answer)}`),
      );
      this.listed.replaceChildren(issues.length === 0 ? this.#none() : this.#table(issues));
    });
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
        el("div", { class: "hint" }, issue.labels.join(", ")),
      ],
      el("span", { class: `mark ${issue.status}` }, issue.status),
      el("span", { class: `mark ${issue.priority}` }, issue.priority),
      time(issue.updated_at),
    ]);
    return table(
      `Issues of ${this.repository.owner}/${this.repository.repo}`,
      ["No.", "Title", "Status", "Priority", "Changed"],
      rows,
    );
  }

  #opening() {
    const title = el("input", { required: true, autocomplete: "off" });
    const labels = el("input", { placeholder: "critical, ui", autocomplete: "off" });
    const submit = el("button", { type: "submit", class: "primary" }, "Open");
    const said = el("div", {});
    const add = () =>
      pressed(submit, said, async () => {
        const answer = await call("POST", this.#base, {
          body: { title: title.value, labels: list(labels.value) },
          token: this.#token(),
          signal: this.signal,
        });
        title.value = "";
        said.replaceChildren(el("p", { class: "price" }, cost(answer)));
        announce(`Issue ${answer.data.number} is open.`);
        this.#show(answer);
        await this.#list(answer.data);
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

  #read(number) {
    return showLast(this.editor, this.signal, async (signal) => {
      this.#show(await call("GET", `${this.#base}/${number}?consistent=true`, { signal }));
      this.editor.querySelector("h2").focus();
    });
  }

  /** Shows a form with the revision that it was filled from. `typed` are changes to apply to the issue. */
  #show(answer, typed = {}) {
    const issue = { ...answer.data };
    const shown = { ...issue, ...typed };
    const title = el("input", { value: shown.title, autocomplete: "off" });
    const body = el("textarea", { rows: "4" });
    body.value = shown.body ?? "";
    const labels = el("input", { value: shown.labels.join(", "), autocomplete: "off" });
    const status = select(["open", "closed"], shown.status);
    const priority = select(["high", "medium", "low"], shown.priority);
    const submit = el("button", { type: "submit", class: "primary" }, "Save");
    const said = el("div", { class: "said", role: "alert" });

    const changes = () => {
      const now = {
        title: title.value,
        body: body.value,
        labels: list(labels.value),
        status: status.value,
        priority: priority.value,
      };
      return Object.fromEntries(
        Object.entries(now).filter(([name, value]) => String(value) !== String(issue[name] ?? "")),
      );
    };
    const save = () => pressed(submit, said, () => this.#save(issue, answer.etag, changes(), said));
    const rival = button("Simulate another user's change", () =>
      pressed(rival, said, () => this.#rival(issue, said)),
    );

    const head = card(
      `Issue #${issue.number}`,
      el(
        "p",
        { class: "muted" },
        `Opened by ${issue.opened_by}, ${time(issue.opened_at)}. This form holds revision `,
        el("code", {}, answer.etag),
        ".",
      ),
      said,
      form(
        { class: "fields" },
        save,
        field("Title", title, { wide: true }),
        field("Body", body, { wide: true }),
        field("Labels", labels, { wide: true }),
        field("Status", status),
        field("Priority", priority),
        el("div", { class: "actions wide" }, submit, isLocal() && rival),
      ),
    );
    head.querySelector("h2").tabIndex = -1;
    this.editor.replaceChildren(head);
  }

  async #save(issue, etag, changes, said) {
    said.replaceChildren();
    if (Object.keys(changes).length === 0)
      return said.replaceChildren(el("p", { class: "muted" }, "There are no changes to save."));
    try {
      const answer = await this.#patch(issue.number, etag, changes, this.#token());
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
      await this.#list(answer.data);
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

  /** Shows the current version beside the user's changes. Applying the changes overwrites fields that both changed. */
  async #conflict(issue, changes, problem, said) {
    const theirs = await call("GET", `${this.#base}/${issue.number}?consistent=true`, { signal: this.signal });
    const names = ["title", "body", "labels", "status", "priority"];
    const text = (value) => (Array.isArray(value) ? value.join(", ") : (value ?? ""));
    const rows = names
      .filter((name) => name in changes || text(theirs.data[name]) !== text(issue[name]))
      .map((name) => [
        name,
        text(issue[name]),
        el("bdi", {}, text(theirs.data[name])),
        el("bdi", {}, name in changes ? text(changes[name]) : "unchanged"),
      ]);
    const reapply = button(
      "Apply my changes to the current version",
      () => {
        this.#show(theirs, changes);
        announce("The form holds the current revision with your changes. Save to write them.");
        this.editor.querySelector("h2").focus();
      },
      { class: "primary" },
    );
    const give = button("Discard my changes", () => this.#show(theirs));
    said.replaceChildren(
      el(
        "div",
        { class: "conflict" },
        el("h3", {}, "Somebody else changed this issue"),
        el("p", {}, `Your changes are not saved: ${problem.message} `, el("code", {}, `${problem.status} ${problem.code}`)),
        table("The two versions", ["Field", "You read", "Current", "Yours"], rows),
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
    await this.#list(answer.data);
  }
}

const list = (text) =>
  text
    .split(",")
    .map((part) => part.trim())
    .filter(Boolean);
