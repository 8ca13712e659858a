// Consumers: named readers of a topic with a stored position. Reports are consumers whose batches are files.

import { note } from "./address.js";
import { call, exactly, isLocal, path, topics } from "./api.js";
import { Chart } from "./chart.js";
import { saveButton } from "./copy.js";
import {
  announce, button, card, div, el, empty, factList, field, figure, form, heading, loading, p, plainInput, select,
  suggested, suggestions, table, tile,
} from "./dom.js";
import { eventCells } from "./event.js";
import { bytes, cost, count, moment, plural, seconds } from "./format.js";
import { untilRead, watch } from "./live.js";
import { asking, lastFor, pressed, repeat, showLast, workForm } from "./task.js";
import { priced } from "./trace.js";

/** The lines of a file that are shown. */
const LINES = 12;

const mark = (text) => el("span", { class: "mark" }, text);

export function open(place, parameters, signal) {
  place.append(
    heading(
      "Consumers",
      "A consumer reads a topic oldest first, in batches, and commits its position: it gets every event at least once. A report is a consumer whose batches are files.",
    ),
  );
  new Consumers(place, signal).start(parameters.get("topic"), parameters.get("name"));
}

class Consumers {
  #shown = null;

  constructor(place, signal) {
    Object.assign(this, { place, signal });
    this.listed = div("listed");
    this.main = div("column");
  }

  start(topic, name) {
    this.place.append(
      div(
        "columns wide-main",
        div("column first", isLocal() && card("All consumers", this.listed), this.#naming(topic)),
        this.main,
      ),
    );
    this.#showNone();
    if (name !== null) this.#show(topic, name);
    this.signal.addEventListener("abort", watch({ begin: () => isLocal() && this.#list(topic) }));
  }

  #showNone() {
    lastFor(this.main, this.signal);
    this.#shown = null;
    this.main.replaceChildren(div("card", empty("No consumer is selected.", "Select one, or create one.")));
  }

  #show(topic, name) {
    const deleted = () => {
      note({ name: null });
      this.#showNone();
      announce(`The consumer ${name} of ${topic} is deleted.`);
      if (isLocal()) this.#list();
    };
    this.#shown = new Shown(topic, name, lastFor(this.main, this.signal), deleted);
    note({ topic, name });
    this.main.replaceChildren(this.#shown.element);
    return this.#shown.read();
  }

  /**
   * Lists all consumers, and shows the first of `topic`. Only the local program can list them; in a deployed API, a consumer
   * is found by its name.
   */
  #list(topic) {
    return showLast(this.listed, this.signal, async (signal) => {
      const { consumers } = (await call("GET", "/local/consumers", { signal })).data;
      const lines = consumers.map(({ topic, name, reports }) =>
        el("li", {}, button(`${topic} / ${name}`, () => this.#show(topic, name), { class: "as-link" }), reports && mark("reports")),
      );
      this.listed.replaceChildren(
        lines.length === 0 ? p("muted", "No consumers yet.") : el("ul", { class: "plain" }, lines),
      );
      const first = topic ? consumers.find((it) => it.topic === topic) : consumers[0];
      if (this.#shown === null && topic !== undefined && first) this.#show(first.topic, first.name);
    });
  }

  #naming(topic) {
    const which = suggested([], { value: topic ?? "billing", required: true });
    const name = plainInput({ value: "me", required: true });
    const start = select(["earliest", "latest"], "earliest");
    const chosen = () => [which.value.trim(), name.value.trim()];
    const create = async () => {
      const [topic, name] = chosen();
      await call("PUT", path("topics", topic, "consumers", name), { body: { start: start.value }, signal: this.signal });
      announce(`The consumer ${name} of ${topic} is ready.`);
      await Promise.all([this.#show(topic, name), isLocal() && this.#list()]);
    };
    const find = button("Open", () => {
      if (find.form.reportValidity()) this.#show(...chosen());
    });
    const fields = [field("Topic", which), field("Name", name), field("Start", start, { hint: "For a new consumer" })];
    const [element, said] = workForm("Create consumer", fields, create, { more: find });
    untilRead(said, this.signal, async () => suggestions(which, await topics(this.signal)));
    return card("Create or open a consumer", element, said);
  }
}

/** The consumer that is shown. All its requests end when another one is shown, so no result gets under another heading. */
class Shown {
  #runsShown = "";

  constructor(topic, name, signal, deleted) {
    Object.assign(this, { topic, name, signal, deleted, base: path("topics", topic, "consumers", name) });
    this.charts = { lag: new Chart(), late: new Chart() };
    this.state = el("div", {}, loading());
    this.price = priced(signal);
    this.actions = div("actions");
    this.asked = div("said");
    this.below = div("column");
    this.polled = el("div", {});
    const shown = card(`${topic} / ${name}`, this.state, this.price.panel, this.actions, this.asked);
    this.element = div("column", shown, this.below);
    // A problem is for the user to act on.
    repeat(this.state, this.signal, async () => this.state.querySelector(".problem") ?? this.#read(this.signal));
  }

  read() {
    return showLast(this.state, this.signal, (signal) => this.#read(signal));
  }

  async #read(signal) {
    const [consumer, runs] = await Promise.all([
      call("GET", this.base, { signal }),
      call("GET", `${this.base}/runs?limit=20`, { signal }),
    ]);
    const all = runs.data.runs;
    this.state.replaceChildren(...this.#figures(consumer));
    if (!this.actions.hasChildNodes()) this.actions.append(...this.#changes(all.length > 0));
    if (all.length === 0) {
      if (!this.polled.isConnected) this.below.replaceChildren(this.#polling(consumer.data));
    } else if (this.#runsShown !== JSON.stringify(all)) {
      this.#runsShown = JSON.stringify(all);
      this.below.replaceChildren(this.#runs(all));
    }
  }

  #figures(answer) {
    const { lag_seconds: lag, late, late_more: more, position, settle_seconds: settle, outstanding } = answer.data;
    this.settle = settle;
    this.charts.lag.add(lag);
    this.charts.late.add(late);
    this.price.show(answer);
    return [
      div(
        "tiles",
        tile("Lag", figure(seconds(lag)), this.charts.lag.element),
        tile("Late events", figure(`${count(late)}${more ? " or more" : ""}`), this.charts.late.element),
      ),
      late > 0 && p("hint", "Late events arrived behind the position. The next batches have them, marked as late."),
      factList([
        ["position", position ? el("code", {}, position) : "at the beginning"],
        ["settle time", seconds(settle)],
        ["outstanding batch", outstanding ? el("code", {}, outstanding) : "none"],
      ]),
      el("p", {}, this.price.element),
    ].filter(Boolean);
  }

  #changes(reports) {
    const refresh = button("Refresh", () => pressed(refresh, this.state, () => this.#read(this.signal)));
    const remove = async () => {
      await call("DELETE", this.base, { signal: this.signal });
      this.deleted();
    };
    const question = `Delete ${this.name} of ${this.topic}? Its position is lost; the topic's events stay.`;
    return [
      refresh,
      !reports && button("Seek…", () => this.#askPosition()),
      button("Settle time…", () => this.#askSettle()),
      asking("Delete consumer", question, this.asked, remove),
    ].filter(Boolean);
  }

  #askPosition() {
    const today = `${new Date().toISOString().slice(0, 10)}T00:00:00Z`;
    const to = suggested(["earliest", "latest", today], { name: "to", required: true });
    this.#ask("Seek", field("Continue at", to, { hint: "earliest, latest, a time or an event's id" }), async () => {
      await call("POST", `${this.base}/seek`, { body: { to: to.value.trim() }, signal: this.signal });
      this.polled.replaceChildren();
      announce(`The next batch of ${this.name} begins at ${to.value.trim()}.`);
    });
  }

  #askSettle() {
    const range = { type: "number", min: "0", max: "3600", required: true };
    const time = el("input", { ...range, name: "settle_seconds", value: this.settle });
    const hint = "The seconds that it stays behind now, so that writes under way can arrive";
    this.#ask("Save", field("Settle time, seconds", time, { hint }), async () => {
      await call("PUT", this.base, { body: { settle_seconds: Number(time.value) }, signal: this.signal });
      announce(`${this.name} stays ${seconds(Number(time.value))} behind now.`);
    });
  }

  /** Shows a form with one field, in the place of an earlier one. */
  #ask(verb, wanted, work) {
    const go = el("button", { type: "submit", class: "primary" }, verb);
    const close = () => this.asked.replaceChildren();
    const done = async () => {
      await work();
      close();
      await this.#read(this.signal);
    };
    this.asked.replaceChildren(
      form(
        { class: "inline" },
        () => pressed(go, this.asked, done),
        wanted,
        go,
        button("Cancel", close, { class: "quiet" }),
      ),
    );
    wanted.querySelector("input").focus();
  }

  #polling(consumer) {
    const limit = el("input", { type: "number", name: "limit", value: "10", min: "1", max: "1000", required: true });
    const poll = el("button", { type: "submit", class: "primary" }, "Poll");
    const ask = () => {
      this.polled.replaceChildren();
      return pressed(poll, this.polled, async () => {
        const body = { limit: Number(limit.value) };
        this.#batch(await call("POST", `${this.base}/poll`, { body, signal: this.signal }));
      });
    };
    if (consumer.outstanding)
      this.polled.replaceChildren(
        p("muted", "A batch is outstanding: a poll returns the same batch until you commit it."),
      );
    return card("Batches", form({ class: "inline" }, ask, field("Limit", limit), poll), this.polled);
  }

  #batch(answer) {
    const { batch, events, late, caught_up: caughtUp } = answer.data;
    const rows = [...late.map((event) => [...eventCells(event), "late"]), ...events.map((event) => [...eventCells(event), ""])];
    const commit = button("Commit", () =>
      pressed(commit, this.polled, async () => {
        await call("POST", `${this.base}/commit`, { body: { batch }, signal: this.signal });
        announce(`Committed ${plural(rows.length, "event")}.`);
        this.polled.replaceChildren();
        await this.#read(this.signal);
      }),
    );
    this.polled.replaceChildren(
      p("price", `${plural(rows.length, "event")}${caughtUp ? ", caught up" : ""} · ${cost(answer)}`),
      rows.length > 0
        ? table("The batch, oldest first", ["At (UTC)", "Type", "Actor", "Data", "Late"], rows)
        : caughtUp
          ? empty("No new events.")
          : empty("No events yet: poll again.", "The consumer is still looking for late events."),
      batch !== null && div("actions", commit, el("code", {}, batch)),
    );
  }

  #runs(runs) {
    const file = div("said");
    const rows = runs.map((run) => [
      moment(run.announced_at),
      run.committed_at ? moment(run.committed_at) : "under way",
      run.events === null ? "" : count(run.events),
      run.late === null ? "" : count(run.late),
      run.bytes === null ? "" : bytes(run.bytes),
      run.committed_at
        ? run.files.map((name) => {
            const kind = name.endsWith(".summary.json") ? "summary" : "events";
            if (!isLocal()) return el("code", {}, name);
            const view = () => showLast(file, this.signal, (signal) => this.#file(name, file, signal));
            const label = `${kind} of the run of ${run.announced_at}`;
            return button(kind, view, { class: "as-link", "aria-label": label });
          })
        : "",
    ]);
    const heads = ["Announced (UTC)", "Committed (UTC)", "Events", "Late", "Size", "Files"];
    return card("Runs, newest first", table("Report runs", heads, rows, { class: "numbers" }), file);
  }

  async #file(name, place, signal) {
    const target = `/local/reports/${name.split("/").map(encodeURIComponent).join("/")}`;
    const answer = await call("GET", target, { as: "text", signal });
    const lines = answer.data.trimEnd().split("\n");
    const isSummary = name.endsWith(".json");
    const text = isSummary ? JSON.stringify(exactly(answer.data), null, 2) : lines.slice(0, LINES).join("\n");
    const left =
      isSummary || lines.length <= LINES
        ? ""
        : ` · the first ${LINES} of ${count(lines.length)}${answer.truncated ? " or more" : ""} lines`;
    place.replaceChildren(
      p("muted", el("code", {}, name), left),
      el("pre", { class: "data", tabindex: "0", "aria-label": "The file" }, text || "empty"),
      answer.truncated
        ? p("muted", "The file is too long to be saved from here.")
        : saveButton("Save the file", name.split("/").at(-1), () => answer.data),
    );
    place.scrollIntoView({ block: "nearest" });
  }
}
