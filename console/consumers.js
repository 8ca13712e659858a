// Consumers: named readers of a topic with a stored position. Reports are consumers whose batches are files.

import { call, exactly, isLocal, path, topics } from "./api.js";
import { announce, button, card, el, empty, field, form, heading, select, suggested, table } from "./dom.js";
import { bytes, cost, count, plural, seconds, time } from "./format.js";
import { watch } from "./live.js";
import { pressed, showLast, task } from "./task.js";

/** The lines of a file that are shown. */
const LINES = 12;

export async function open(place, parameters, signal) {
  place.append(
    heading(
      "Consumers",
      "A consumer reads a topic oldest first, in batches, and commits its position: it gets every event at least once. A report is a consumer whose batches are files.",
    ),
  );
  await task(place, async () => {
    const panel = new Consumers(place, await topics(signal), signal);
    panel.start(parameters.get("topic") ?? "billing", parameters.get("name"));
  });
}

class Consumers {
  constructor(place, known, signal) {
    Object.assign(this, { place, known, signal });
    this.listed = el("div", { class: "listed" });
    this.shown = el("div", { class: "column-main" });
    this.polled = el("div", {});
  }

  start(topic, name) {
    this.place.append(
      el(
        "div",
        { class: "columns wide-main" },
        el("div", { class: "column-side first" }, isLocal() && card("All consumers", this.listed), this.#naming(topic)),
        this.shown,
      ),
    );
    this.shown.append(el("div", { class: "card" }, empty("No consumer is selected.", "Select one, or create one.")));
    this.signal.addEventListener("abort", watch({ begin: () => isLocal() && this.#list(name === null) }));
    if (name !== null) this.#show(topic, name);
  }

  /** Lists all consumers. Only the local program can; in a deployed API, a consumer is found by its name. */
  #list(chooseOne) {
    return showLast(this.listed, this.signal, async (signal) => {
      const { consumers } = (await call("GET", "/local/consumers", { signal })).data;
      const lines = consumers.map(({ topic, name, reports }) =>
        el(
          "li",
          {},
          button(`${topic} / ${name}`, () => this.#show(topic, name), { class: "as-link" }),
          reports && el("span", { class: "mark" }, "reports"),
        ),
      );
      this.listed.replaceChildren(
        lines.length === 0 ? el("p", { class: "muted" }, "No consumers yet.") : el("ul", { class: "plain" }, lines),
      );
      if (chooseOne && consumers.length > 0 && this.chosen === undefined)
        this.#show(consumers[0].topic, consumers[0].name);
    });
  }

  #naming(topic) {
    const which = suggested(this.known, { value: topic, required: true });
    const name = el("input", { value: "me", required: true, autocomplete: "off", spellcheck: "false" });
    const start = select(["earliest", "latest"], "earliest");
    const make = el("button", { type: "submit", class: "primary" }, "Create");
    const said = el("div", {});
    const chosen = () => [which.value.trim(), name.value.trim()];
    const create = () =>
      pressed(make, said, async () => {
        const [topic, name] = chosen();
        await call("PUT", path("topics", topic, "consumers", name), {
          body: { start: start.value },
          signal: this.signal,
        });
        announce(`The consumer ${name} of ${topic} is ready.`);
        await Promise.all([this.#show(topic, name), isLocal() && this.#list(false)]);
      });
    const find = button("Find", () => this.#show(...chosen()));
    return card(
      "Create or find a consumer",
      form(
        { class: "fields" },
        create,
        field("Topic", which),
        field("Name", name),
        field("Start", start),
        el("div", { class: "actions wide" }, make, find),
      ),
      said,
    );
  }

  #show(topic, name) {
    this.chosen = { topic, name, base: path("topics", topic, "consumers", name) };
    this.polled.replaceChildren();
    return showLast(this.shown, this.signal, async (signal) => {
      const [consumer, runs] = await Promise.all([
        call("GET", this.chosen.base, { signal }),
        call("GET", `${this.chosen.base}/runs?limit=20`, { signal }),
      ]);
      const reports = runs.data.runs.length > 0;
      this.shown.replaceChildren(
        this.#state(consumer),
        reports ? this.#runs(runs.data.runs) : this.#polling(consumer.data),
      );
    });
  }

  #state({ data, cost: paid, milliseconds }) {
    const { topic, name } = this.chosen;
    const facts = [
      ["position", data.position ? el("code", {}, data.position) : "at the beginning"],
      ["lag", seconds(data.lag_seconds)],
      ["late events", data.late_more ? `${count(data.late)} or more` : count(data.late)],
      ["settle time", seconds(data.settle_seconds)],
      ["outstanding batch", data.outstanding ? el("code", {}, data.outstanding) : "none"],
    ];
    return card(
      `${topic} / ${name}`,
      el(
        "dl",
        { class: "facts" },
        facts.map(([term, value]) => el("div", {}, el("dt", {}, term), el("dd", {}, value))),
      ),
      el(
        "div",
        { class: "actions" },
        button("Refresh", () => this.#show(topic, name)),
        el("span", { class: "price" }, cost({ cost: paid, milliseconds })),
      ),
    );
  }

  #polling(consumer) {
    const limit = el("input", { type: "number", value: "10", min: "1", max: "1000" });
    const poll = el("button", { type: "submit", class: "primary" }, "Poll");
    const ask = () =>
      pressed(poll, this.polled, async () => {
        const answer = await call("POST", `${this.chosen.base}/poll`, {
          body: { limit: Number(limit.value) },
          signal: this.signal,
        });
        this.#batch(answer);
      });
    if (consumer.outstanding)
      this.polled.replaceChildren(
        el("p", { class: "muted" }, "A batch is outstanding: a poll returns the same batch until you commit it."),
      );
    return card("Batches", form({ class: "inline" }, ask, field("Limit", limit), poll), this.polled);
  }

  #batch(answer) {
    const { batch, events, late, caught_up: caughtUp } = answer.data;
    const rows = [...late.map((event) => ["late", event]), ...events.map((event) => ["", event])].map(
      ([mark, event]) => [
        time(event.at),
        event.type,
        el("bdi", {}, event.actor),
        el("code", { class: "cut" }, JSON.stringify(event.data ?? null)),
        mark,
      ],
    );
    const commit = button("Commit", () =>
      pressed(commit, this.polled, async () => {
        await call("POST", `${this.chosen.base}/commit`, { body: { batch }, signal: this.signal });
        announce(`Committed ${plural(rows.length, "event")}.`);
        await this.#show(this.chosen.topic, this.chosen.name);
      }),
    );
    this.polled.replaceChildren(
      el(
        "p",
        { class: "price" },
        `${plural(rows.length, "event")}${caughtUp ? ", caught up" : ""} · ${cost(answer)}`,
      ),
      rows.length > 0
        ? table("The batch, oldest first", ["At", "Type", "Actor", "Data", "Late"], rows)
        : caughtUp
          ? empty("No new events.")
          : empty("No events yet: poll again.", "The consumer is still looking for late events."),
      batch !== null && el("div", { class: "actions" }, commit, el("code", {}, batch)),
    );
  }

  #runs(runs) {
    const file = el("div", { class: "file" });
    const rows = runs.map((run) => [
      time(run.announced_at),
      run.committed_at ? time(run.committed_at) : "under way",
      run.events === null ? "" : count(run.events),
      run.late === null ? "" : count(run.late),
      run.bytes === null ? "" : bytes(run.bytes),
      run.committed_at
        ? run.files.map((name) => {
            const kind = name.endsWith(".summary.json") ? "summary" : "events";
            if (!isLocal()) return el("code", {}, name);
            const view = () => showLast(file, this.signal, (signal) => this.#file(name, file, signal));
            const label = `${kind} of the run of ${time(run.announced_at)}`;
            return button(kind, view, { class: "as-link", "aria-label": label });
          })
        : "",
    ]);
    return card(
      "Runs, newest first",
      table("Report runs", ["Announced", "Committed", "Events", "Late", "Size", "Files"], rows, { class: "numbers" }),
      file,
    );
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
      el("p", { class: "muted" }, el("code", {}, name), left),
      el("pre", { class: "data", tabindex: "0", "aria-label": "The file" }, text || "empty"),
    );
    place.scrollIntoView({ block: "nearest" });
  }
}
