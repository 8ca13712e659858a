// The erasure of a person: first a question, then the progress, then the receipt.
//
// The service keeps no erased name, so the receipt gets the names from the form. The address has only the erasure's id.

import { note } from "./address.js";
import { call, path } from "./api.js";
import { saveButton } from "./copy.js";
import { announce, button, card, div, el, factList, field, form, heading, nameInput, table } from "./dom.js";
import { count, moment } from "./format.js";
import { confirmation, progress } from "./progress.js";

/** The kinds of the counts, in the order of the receipt. */
const KINDS = {
  events: "events of the actor",
  follows: "followed sources",
  followers: "followers of the actor",
  profile: "profile",
  sessions: "sessions",
  feed: "items of the user's feed",
  issues: "issues that the user opened",
};

/** The panel that erases an actor, a user, or both. With an id in the address, it shows that erasure. */
export function open(place, parameters, signal) {
  const erasure = new Erasure(signal);
  const id = parameters.get("erasure");
  if (id) erasure.follow({ id }, {});
  place.append(
    heading("Erasure", "Erases an actor's events in all topics, with their copies, and a user's profile, sessions, feed and follows. Everybody else's data stays. Needs an admin's token."),
    card("Erase a person", erasure.shown, erasure.said),
  );
}

class Erasure {
  constructor(signal) {
    this.signal = signal;
    this.shown = div("erasure");
    this.said = div("said");
    this.#offer();
  }

  #offer(names = {}) {
    const [actor, user] = ["actor", "user"].map((name) => nameInput({ name, value: names[name] ?? "" }));
    const submit = el("button", { type: "submit", class: "danger" }, "Erase…");
    const given = () => {
      const all = [["actor", actor.value.trim()], ["user", user.value.trim()]];
      return Object.fromEntries(all.filter(([, name]) => name !== ""));
    };
    const check = () => actor.setCustomValidity(Object.keys(given()).length > 0 ? "" : "Name an actor, a user, or both.");
    this.shown.replaceChildren(
      form(
        { class: "fields", oninput: check },
        () => this.#ask(given()),
        field("Actor", actor, { hint: "The name in events" }),
        field("User", user, { hint: "The name of the account" }),
        div("actions wide", submit),
      ),
    );
    check();
  }

  #ask(names) {
    const confirm = nameInput({ name: "confirm" });
    const question = `Erase ${Object.entries(names).map(([kind, name]) => `the ${kind} ${name}`).join(" and ")}? This cannot be undone.`;
    const named = field("Type the name again", confirm, { hint: names.actor ? "The actor" : "The user" });
    const erase = () => this.#erase(names, confirm.value.trim());
    this.shown.replaceChildren(el("p", {}, question), confirmation("Erase", named, this.said, erase, () => this.#offer(names)));
    announce(question);
  }

  async #erase(names, confirm) {
    const { data } = await call("POST", "/erasures", { body: { ...names, confirm }, signal: this.signal });
    announce("The erasure has begun.");
    note({ erasure: data.id });
    this.follow(data, names);
  }

  /** Shows an erasure until it is done, and then its receipt. */
  follow({ id }, names) {
    const again = () => {
      note({ erasure: null });
      this.#offer();
    };
    const draw = (erasure) => {
      const { state, counts: found, started_at: began, finished_at: ended, not_covered: left, ids_sha256: hash } = erasure;
      const facts = [
        counts("What is erased", found),
        factList([["id", el("code", {}, id)], ["began", moment(began)], ...(ended ? [["ended", moment(ended)]] : [])]),
      ];
      if (state !== "done") return ["The erasure is under way.", ...facts];
      const text = () => `${JSON.stringify({ ...names, ...erasure }, null, 2)}\n`;
      return [
        "Everything is erased. Save the receipt: the service stores no erased name.",
        ...facts,
        factList([["hash of the ids", el("code", {}, hash ?? "none")]]),
        el("p", {}, "The erasure does not reach:"),
        el("ul", {}, left.map((it) => el("li", {}, it))),
        div("actions", saveButton("Save the receipt", `erasure-${id}.json`, text), button("Erase another", again, { class: "quiet" })),
      ];
    };
    progress(this.shown, this.said, path("erasures", id), this.signal, draw);
  }
}

const counts = (caption, found) =>
  table(caption, ["Kind", "Number"], Object.entries(KINDS).map(([kind, label]) => [label, count(found[kind])]), { class: "items" });
