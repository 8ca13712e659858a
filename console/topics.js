// Topics: a list with their settings, and an overview of one topic, which can be changed and deleted.
//
// The overview reads the topic and its newest 50 events. These events also give the topic's rate and the price of a page.

import { note } from "./address.js";
import { apiUrl, call, isLocal, path, query, TOPIC_PAGES, topicPage } from "./api.js";
import { Chart } from "./chart.js";
import { Deletion } from "./deletion.js";
import {
  announce, button, card, checks, div, el, empty, factList, field, focusHeading, heading, loading, nameInput, p,
  plainInput, select, table,
} from "./dom.js";
import { cost, count, moment, plural, seconds, units } from "./format.js";
import { watch } from "./live.js";
import { Pages } from "./pages.js";
import { lastFor, pressed, repeat, showLast, workForm } from "./task.js";
import { priced } from "./trace.js";

const PAGE = 50;

/** The seconds whose events make the rate. */
const WINDOW = 60;

/** The buckets that the API lists with a topic. */
const BUCKETS_LISTED = 32;

const BUCKETS = ["quarter-hour", "hour", "day", "month"];
const VIEWS = ["actor", "subject", "type"];
const SHARDS = Array.from({ length: 9 }, (_, power) => String(2 ** power));

/** The settings of a topic whose creator sets nothing. */
const DEFAULTS = {
  bucket: "day",
  retention_days: null,
  min_shards: 1,
  max_shards: 64,
  fan_out: true,
  views: ["actor", "subject"],
};

export function open(place, parameters, signal) {
  place.append(
    heading(
      "Topics",
      "A topic is a named log of events. Its settings are the retention of events, the number of shards, and the views that also list the events.",
    ),
  );
  new Topics(place, signal).start(parameters.get("topic"));
}

class Topics {
  constructor(place, signal) {
    Object.assign(this, { place, signal });
    this.listed = el("div", {}, loading());
    this.filter = plainInput({ type: "search", oninput: () => this.#draw() });
    this.pages = new Pages(this.listed, signal, { target: topicPage, of: (data) => data.topics, draw: () => this.#draw(), most: TOPIC_PAGES });
    this.side = div("column");
  }

  start(topic) {
    this.creation = this.#creation();
    this.place.append(
      div(
        "columns even",
        div(
          "column",
          card("All topics", div("toolbar", field("Filter by name", this.filter)), ...this.pages.head, this.listed, this.pages.more),
          p(
            "hint",
            "This API: ",
            el("a", { href: `${apiUrl()}/health`, target: "_blank", rel: "noreferrer" }, "health"),
            " · ",
            el("a", { href: `${apiUrl()}/openapi.json`, target: "_blank", rel: "noreferrer" }, "all routes"),
          ),
        ),
        this.side,
      ),
    );
    this.side.append(this.creation);
    if (topic) this.#show(topic);
    this.signal.addEventListener("abort", watch({ begin: () => this.pages.first() }));
  }

  #draw() {
    const { items, next, tally } = this.pages;
    const wanted = this.filter.value.trim().toLowerCase();
    const found = items.filter(({ topic }) => topic.toLowerCase().includes(wanted));
    const rows = found.map((it) => [
      button(it.topic, () => this.#show(it.topic, true), { class: "as-link" }),
      it.views.join(", ") || "none",
      it.fan_out ? "yes" : "no",
      it.bucket,
      `${it.min_shards} to ${it.max_shards}`,
      it.retention_days === null ? "for ever" : plural(it.retention_days, "day"),
    ]);
    const heads = ["Topic", "Views", "Fan-out", "Bucket", "Shards", "Keeps events"];
    const ofAll = wanted ? ` of ${count(items.length)}` : "";
    tally.textContent = `${plural(found.length, "topic")}${ofAll}${next ? ", and there are more" : ""}`;
    this.listed.replaceChildren(
      rows.length > 0
        ? table("Topics, by name", heads, rows)
        : items.length > 0
          ? empty("No topic has this in its name.")
          : empty("There are no topics yet.", "Create one with the form."),
    );
  }

  /** Shows a topic. `byUser` is true if the user asked for it, so the focus moves there. */
  #show(topic, byUser = false) {
    const overview = new Overview(topic, lastFor(this.side, this.signal), (changed) => this.#changed(changed), () => this.#deleted(topic));
    note({ topic });
    this.side.replaceChildren(overview.element, this.creation);
    if (byUser) focusHeading(this.side);
    return overview.read();
  }

  /** Puts a topic with its new settings into the list. */
  #changed(topic) {
    const others = this.pages.items.filter((it) => it.topic !== topic.topic);
    // Names are sorted as DynamoDB sorts them: by their bytes.
    this.pages.items = [...others, topic].sort((a, b) => (a.topic < b.topic ? -1 : 1));
    this.#draw();
  }

  /** Takes a topic that is being deleted from the list. */
  #deleted(topic) {
    this.pages.items = this.pages.items.filter((it) => it.topic !== topic);
    this.#draw();
  }

  #creation() {
    const create = async (changes, name) => {
      const answer = await call("PUT", path("topics", name), { body: changes, signal: this.signal });
      announce(answer.status === 201 ? `The topic ${name} is created.` : `The topic ${name} existed already. It has these settings now.`);
      this.#changed(answer.data);
      await this.#show(name, true);
      this.creation.replaceWith((this.creation = this.#creation()));
    };
    const taken = (name) => this.pages.items.some((it) => it.topic === name);
    return card("Create a topic", ...settingsForm(DEFAULTS, "Create topic", create, taken));
  }
}

/** The topic that is shown: its facts, which are read again, and its settings. */
class Overview {
  #ended = new AbortController();

  constructor(topic, signal, changed, deleted) {
    Object.assign(this, { topic, signal, changed, deleted, base: path("topics", topic) });
    // A topic that is being deleted is not read any more.
    this.reading = AbortSignal.any([this.signal, this.#ended.signal]);
    this.chart = new Chart();
    this.facts = el("div", {}, loading());
    this.price = priced(signal);
    this.refresh = button("Refresh", () => pressed(this.refresh, this.facts, () => this.#read(this.reading)));
    this.settings = div("column");
    this.deletion = new Deletion(topic, this.signal, { begun: () => this.#deletes(), ended: () => this.#say("This topic is deleted.") });
    const links = [
      el("a", { href: `#events${query({ topic })}` }, "Events"),
      isLocal() && el("a", { href: `#shards${query({ topic })}` }, "Shards"),
      el("a", { href: `#consumers${query({ topic })}` }, "Consumers"),
    ];
    this.element = div(
      "column",
      card(topic, this.facts, this.price.panel, isLocal() && this.chart.element, div("actions", this.refresh, links)),
      this.settings,
      this.deletion.element,
    );
    repeat(this.facts, this.reading, () => this.#read(this.reading));
  }

  read() {
    return showLast(this.facts, this.reading, async (signal) => {
      try {
        await this.#read(signal);
      } catch (error) {
        if (error.code !== "topic-not-found" || !(await this.deletion.isUnderWay(signal))) throw error;
      }
    });
  }

  /** Shows nothing but the deletion. */
  #deletes() {
    this.#ended.abort();
    this.#say("This topic is being deleted.");
    this.chart.element.remove();
    this.refresh.remove();
    this.settings.replaceChildren();
    this.deleted();
  }

  #say(text) {
    this.facts.replaceChildren(p("muted", text));
  }

  async #read(signal) {
    const [topic, page] = await Promise.all([
      call("GET", this.base, { signal }),
      call("GET", `${this.base}/events?limit=${PAGE}`, { signal }),
    ]);
    this.facts.replaceChildren(factList(this.#factsOf(topic.data, page)));
    if (!this.settings.hasChildNodes()) this.#showSettings(topic.data);
  }

  #factsOf({ buckets, created_at: created }, page) {
    const { events } = page.data;
    const { number, span } = recent(events);
    const [newest, current] = [events[0], buckets[0]];
    this.chart.add(number / span);
    this.price.show(page, cost(page));
    const link = newest && el("a", { href: `#events${query({ topic: this.topic, event: newest.id })}` }, newest.type);
    return [
      ["newest event", newest ? [moment(newest.at), " UTC, ", link] : "none yet"],
      ["rate", `${number < span ? plural(number, "event") : `${units(number / span)} a second`}, in the last ${seconds(span)}`],
      ["shards", current ? `${current.shards} in the bucket ${current.label}` : "none yet"],
      ["buckets", `${buckets.length}${buckets.length === BUCKETS_LISTED ? " or more" : ""} with events`],
      [`a page of ${PAGE}`, this.price.element],
      ["created", moment(created)],
    ];
  }

  #showSettings(topic) {
    const save = async (changes) => {
      const answer = await call("PUT", this.base, { body: changes, signal: this.signal });
      announce(`The settings of ${this.topic} are saved.`);
      this.changed(answer.data);
      this.#showSettings(answer.data);
      this.settings.querySelector(".said").replaceChildren(el("p", {}, "Saved. ", el("span", { class: "price" }, cost(answer))));
    };
    this.settings.replaceChildren(card("Settings", ...settingsForm(topic, "Save settings", save)));
  }
}

/** The number of recent events, and the seconds in which they came: those of the page, or of the last minute if fewer. */
function recent(events) {
  const ages = events.map(({ at }) => (Date.now() - Date.parse(at)) / 1000).filter((age) => age < WINDOW);
  const span = ages.length === PAGE ? Math.max(ages.at(-1), 0.001) : WINDOW;
  return { number: ages.length, span };
}

/**
 * The form of a topic's settings, and the place for what is said of them. `save` gets the settings that differ from `before`.
 * With `taken`, which tells whether a name is taken, the form is for a new topic.
 */
function settingsForm(before, label, save, taken) {
  const name = nameInput({ required: true });
  const bucket = select(BUCKETS, before.bucket, { name: "bucket", disabled: !taken });
  const days = { type: "number", name: "retention_days", min: "1", max: "36500", placeholder: "for ever" };
  const retention = el("input", { ...days, value: before.retention_days ?? "" });
  const least = select(SHARDS, String(before.min_shards), { name: "min_shards" });
  const most = select(SHARDS, String(before.max_shards), { name: "max_shards" });
  const fanOut = checks("Fan-out", "fan_out", ["to feeds"], before.fan_out ? ["to feeds"] : []);
  const views = checks("Views", "views", VIEWS, before.views, "Changed views apply to later events. Fan-out needs actor and subject.");
  const changes = () => {
    const now = {
      bucket: bucket.value,
      retention_days: retention.value === "" ? null : Number(retention.value),
      min_shards: Number(least.value),
      max_shards: Number(most.value),
      fan_out: fanOut.values().length > 0,
      views: views.values(),
    };
    const differs = ([key, value]) => JSON.stringify(value) !== JSON.stringify(before[key]);
    return Object.fromEntries(Object.entries(now).filter(differs));
  };
  const check = () =>
    name.setCustomValidity(taken?.(name.value.trim()) ? "This topic exists. Select it in the list to change its settings." : "");
  const go = async (said) => {
    const changed = changes();
    said.replaceChildren();
    if (taken || Object.keys(changed).length > 0) return save(changed, name.value.trim());
    said.replaceChildren(p("muted", "There are no changes to save."));
  };
  const fields = [
    taken && field("Name", name, { wide: true }),
    field("Bucket", bucket, { hint: taken ? "Cannot be changed later" : "Fixed at creation" }),
    field("Retention, days", retention, { hint: "Empty: for ever" }),
    field("Least shards", least),
    field("Most shards", most),
    fanOut.element,
    views.element,
  ];
  return workForm(label, fields, go, { oninput: check, "aria-label": label });
}
