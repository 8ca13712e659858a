// Sessions: each has a token, whose user, scopes and topics decide about requests. Only an admin sees this list.
//
// A token is shown once, after its session was created. It is nowhere kept: not in the address, not in the browser.

import { chooser } from "./address.js";
import { call, openTab, path, query, useToken } from "./api.js";
import { copyButton } from "./copy.js";
import {
  announce, button, card, checks, div, el, empty, factList, field, heading, loading, nameInput, plainInput, select,
  table,
} from "./dom.js";
import { moment, plural } from "./format.js";
import { untilRead, watch } from "./live.js";
import { Pages } from "./pages.js";
import { asking, pressed, workForm } from "./task.js";

const PAGE = 50;
const SCOPES = ["read", "write", "import", "consume", "act-as", "admin"];

/** Units of a session's time, in seconds. */
const UNITS = [
  ["60", "minutes"],
  ["3600", "hours"],
  ["86400", "days"],
];

export function open(place, parameters, signal) {
  const [user, id] = ["user", "id"].map((name) => parameters.get(name) ?? "");
  new Sessions(place, { user, id }, signal).start();
}

class Sessions {
  /** `wanted` has the user whose sessions are listed, or the id of a session, or neither. */
  constructor(place, wanted, signal) {
    Object.assign(this, { place, wanted, signal });
    this.said = div("said");
    this.listed = el("div", {}, loading());
    const { user, id } = wanted;
    this.pages = new Pages(this.listed, signal, {
      target: (cursor) => (id ? path("sessions", id) : `/sessions${query({ user, limit: PAGE, cursor })}`),
      of: (data) => data.sessions ?? [data],
      draw: () => this.#draw(),
    });
  }

  start() {
    const { user, id } = this.wanted;
    const title = id ? `Session ${id}` : user ? `Sessions of ${user}` : "All sessions";
    const question = `Revoke all sessions of ${user}? Their tokens are refused from now on.`;
    const all = user && asking("Revoke all", question, this.said, () => this.#revokeAll());
    this.place.append(
      heading(
        "Sessions",
        "A token opens a session: with a user, scopes, perhaps a list of topics, and an end. To list, create and revoke sessions, connect with an admin's token.",
      ),
      div(
        "toolbar",
        chooser("sessions", "User", "user", nameInput({ value: user, placeholder: "all" })),
        chooser("sessions", "Session id", "id", plainInput({ value: id, required: true })),
      ),
      div(
        "columns",
        div("column", card(title, ...this.pages.head, this.listed, this.said, div("actions", this.pages.more, all))),
        div("column", this.#own(), this.#creation()),
      ),
    );
    this.signal.addEventListener("abort", watch({ begin: () => this.pages.first() }));
  }

  #draw() {
    const { items, next, tally } = this.pages;
    tally.textContent = `${plural(items.length, "session")}${next ? "" : " in all"}`;
    const rows = items.map((it) => [
      it.user ? el("a", { href: `#sessions${query({ user: it.user })}` }, el("bdi", {}, it.user)) : "a service",
      it.scopes.join(", "),
      it.topics?.join(", ") ?? "all",
      moment(it.created_at),
      moment(it.expires_at),
      limits(it),
      el("a", { href: `#sessions${query({ id: it.id })}`, title: it.id }, el("code", {}, it.id.slice(-12))),
      asking("Revoke", "Its token is refused from now on.", this.said, () => this.#revoke(it), `the session ${it.id.slice(-12)} of ${it.user ?? "a service"}`),
    ]);
    const heads = ["User", "Scopes", "Topics", "Created (UTC)", "Ends (UTC)", "Limits", "Id", "Action"];
    this.listed.replaceChildren(
      rows.length === 0 ? empty("No sessions.", "Sessions that have ended are not listed.") : table("Sessions, newest first", heads, rows),
    );
  }

  async #revoke({ id }) {
    await call("DELETE", path("sessions", id), { signal: this.signal });
    announce("The session is revoked.");
    this.pages.items = this.pages.items.filter((it) => it.id !== id);
    this.#draw();
  }

  async #revokeAll() {
    const { user } = this.wanted;
    const { data } = await call("DELETE", `/sessions${query({ user })}`, { signal: this.signal });
    this.said.replaceChildren(el("p", { role: "status" }, `${plural(data.revoked, "session")} of ${user} revoked.`));
    await this.pages.first();
  }

  /** The user, the scopes, the end and the limits of this page's own token. */
  #own() {
    const place = el("div", {}, loading());
    untilRead(place, this.signal, async () => {
      const own = (await call("GET", "/sessions/self", { signal: this.signal })).data;
      const { user, scopes, topics, expires_at: end, issuer } = own;
      const facts = [["User", user ?? "none"], ["Scopes", scopes.join(" ")], ["Topics", topics?.join(", ") ?? "all"]];
      const ends = [["Until", end ? moment(end) : "unknown"], ["Limits", limits(own)]];
      // Only a JWT has an issuer.
      place.replaceChildren(factList([...facts, ...ends, ...(issuer ? [["Issuer", issuer]] : [])]));
    });
    return card("This page's token", place);
  }

  #creation() {
    const user = nameInput({ name: "user", value: this.wanted.user, placeholder: "none: a service" });
    const scopes = checks("Scopes", "scopes", SCOPES, ["read", "write"]);
    const topics = plainInput({ name: "topics", placeholder: "all" });
    const time = el("input", { type: "number", name: "ttl_seconds", value: "1", min: "1", required: true });
    const unit = select(UNITS, "3600");
    const perMinute = (name) => el("input", { type: "number", name, min: "1", max: "100000", placeholder: "no limit" });
    const [writes, reads] = [perMinute("writes_per_minute"), perMinute("reads_per_minute")];
    const create = async (said) => {
      said.replaceChildren();
      const names = topics.value.split(/[\s,]+/).filter(Boolean);
      const wanted = {
        user: user.value.trim() || undefined,
        scopes: scopes.values(),
        topics: names.length > 0 ? names : undefined,
        writes_per_minute: Number(writes.value) || undefined,
        reads_per_minute: Number(reads.value) || undefined,
      };
      const body = { ...wanted, ttl_seconds: Number(time.value) * Number(unit.value) };
      const { data } = await call("POST", "/sessions", { body, signal: this.signal });
      showToken(said, data, wanted.user);
      // The list of all sessions may not have it yet.
      if (this.wanted.id || (this.wanted.user && this.wanted.user !== wanted.user)) return;
      this.pages.items.unshift({ ...wanted, id: data.id, created_at: new Date().toISOString(), expires_at: data.expires_at });
      this.#draw();
    };
    const fields = [
      field("User", user, { wide: true, hint: "The user that the token acts for" }),
      scopes.element,
      field("Topics", topics, { wide: true, hint: "Separated by commas; empty: all topics" }),
      field("Valid for", time),
      field("Unit", unit),
      field("Writes a minute", writes),
      field("Reads a minute", reads),
    ];
    return card("Create a session", ...workForm("Create session", fields, create));
  }
}

/** The limits of a session, in words. */
const limits = ({ writes_per_minute: writes, reads_per_minute: reads }) =>
  [writes && `${writes} writes/min`, reads && `${reads} reads/min`].filter(Boolean).join(", ") || "none";

function showToken(place, { token, expires_at: end }, user) {
  const copy = copyButton("Copy token", () => token);
  const here = button("Use it in this tab", () => pressed(here, place, () => useToken(token).then(() => dispatchEvent(new Event("token")))));
  const other = button("Use it in a new tab", () => openTab(token, user));
  place.replaceChildren(
    div(
      "conflict",
      el("h3", {}, "Copy the token now"),
      el("p", {}, "It is shown only once. It ends at ", moment(end), " UTC."),
      el("code", {}, token),
      div("actions", copy, here, other, button("Hide", () => place.replaceChildren(), { class: "quiet" })),
    ),
  );
  announce("The session is created. Copy its token now: it is shown only once.");
  copy.focus();
}
