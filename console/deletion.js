// The deletion of a topic: first what there is to delete, then the question for the topic's name, then the
// progress until nothing is left.

import { apiUrl, call, path } from "./api.js";
import { announce, button, card, div, el, factList, field, nameInput, p } from "./dom.js";
import { count, moment, plural } from "./format.js";
import { confirmation, progress } from "./progress.js";
import { tell } from "./tabs.js";
import { pressed } from "./task.js";

export class Deletion {
  /** `begun` is called when the topic is being deleted, and `ended` when nothing of it is left. */
  constructor(topic, signal, { begun, ended }) {
    Object.assign(this, { topic, signal, begun, ended, target: path("topics", topic) });
    this.shown = el("div", {});
    this.said = div("said");
    this.element = card("Delete this topic", this.shown, this.said);
    this.#offer();
  }

  /** Shows the progress if the topic is being deleted. Returns whether it is. */
  async isUnderWay(signal) {
    const found = await call("GET", `${this.target}/deletion`, { signal }).catch((error) => {
      // Only an admin may ask.
      if (error.status === 404 || error.status === 403) return null;
      throw error;
    });
    if (found?.data.state !== "deleting") return false;
    this.#follow(found.data);
    return true;
  }

  #offer() {
    const ask = button("Delete…", () => pressed(ask, this.said, () => this.#ask()), { class: "quiet danger" });
    this.shown.replaceChildren(
      p("muted", "Deletes the topic's events with their copies in timelines and feeds, its consumers and its settings. Needs an admin's token."),
      div("actions", ask),
    );
  }

  async #ask() {
    const { data: found } = await call("DELETE", `${this.target}?dry_run=true`, { signal: this.signal });
    const name = nameInput({ name: "confirm", required: true });
    const check = () => name.setCustomValidity(name.value === this.topic ? "" : "Enter the name of this topic.");
    name.addEventListener("input", check);
    check();
    const named = field("Name of the topic", name, { wide: true, hint: "A deletion cannot be undone." });
    this.shown.replaceChildren(
      factList([
        ["buckets", `${count(found.buckets)}, with ${plural(found.shards, "shard")}`],
        ...(found.oldest ? [["from", found.oldest], ["to", found.newest]] : []),
        ["consumers", count(found.consumers)],
      ]),
      confirmation("Delete topic", named, this.said, () => this.#delete(), () => this.#offer()),
    );
  }

  async #delete() {
    const { data } = await call("DELETE", `${this.target}?confirm=${encodeURIComponent(this.topic)}`, { signal: this.signal });
    announce(`The deletion of ${this.topic} has begun.`);
    tell("topic deleted", apiUrl() + this.target);
    this.#follow(data);
  }

  #follow(deletion) {
    const draw = ({ state, events, buckets, consumers, begun_at: begun, finished_at: finished }) => {
      const isDone = state === "done";
      if (isDone) this.ended();
      const counts = { "deleted events": events, "deleted buckets": buckets, "deleted consumers": consumers };
      const facts = Object.entries(counts).map(([name, value]) => [name, count(value)]);
      return [
        isDone ? "Everything is deleted. The name may be used again." : "The topic is being deleted.",
        factList([...facts, ["began", moment(begun)], ...(finished ? [["ended", moment(finished)]] : [])]),
      ];
    };
    this.begun();
    progress(this.shown, this.said, `${this.target}/deletion`, this.signal, draw)(deletion);
  }
}
