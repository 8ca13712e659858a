// The sources that a user follows, and the followers of a source.

import { apiUrl, call, isLocal, path, query } from "./api.js";
import { announce, button, card, el, field, form, suggested } from "./dom.js";
import { moment, plural } from "./format.js";
import { Pages } from "./pages.js";
import { sourceLink } from "./scope.js";
import { hear, tell } from "./tabs.js";
import { pressed, showLast } from "./task.js";

const FOLLOWS = 200;
const FOLLOWERS = 50;

const SOURCES = ["actor:ada", "actor:bob", "actor:carol", "subject:repo:octo:hello", "subject:repo:octo:engine", "subject:repo:lately:console"];

/** A card of the sources that a user follows. `changed()` is called when the user follows or leaves one, also in another tab. */
export function followsCard(user, signal, changed = () => {}) {
  const address = `${apiUrl()} ${user}`;
  const list = el("ul", { class: "plain" });
  const said = el("div", {});
  const listed = el("div", {}, list);
  const draw = () => {
    const lines = pages.items.map(({ source }) => {
      const leave = button("Unfollow", () => pressed(leave, said, () => set("DELETE", source, "no longer follows")), {
        class: "quiet",
        "aria-label": `Unfollow ${source}`,
      });
      return el("li", {}, sourceLink(source), leave);
    });
    pages.tally.textContent = `${plural(lines.length, "source")}${pages.next ? "" : " in all"}`;
    list.replaceChildren(...(lines.length > 0 ? lines : [el("li", { class: "muted" }, "Nobody yet.")]));
  };
  const target = (cursor) => `${path("users", user, "following")}${query({ limit: FOLLOWS, cursor })}`;
  const pages = new Pages(listed, signal, { target, of: ({ following }) => following, draw });
  const set = async (method, source, verb, body) => {
    await call(method, path("users", user, "following", source), { body, signal });
    announce(`${user} ${verb} ${source}.`);
    tell("follows", address);
    changed();
    await pages.first();
  };
  const source = suggested(isLocal() ? SOURCES : [], {
    placeholder: "actor:ada",
    required: true,
    pattern: "(actor|subject):.+",
    title: "actor: and a name, or subject: and a name",
  });
  const backfill = el("input", { type: "number", name: "backfill", value: "50", min: "0", max: "200", required: true });
  const submit = el("button", { type: "submit", class: "primary" }, "Follow");
  const follow = () =>
    pressed(submit, said, async () => {
      await set("PUT", source.value.trim(), "follows", { backfill: Number(backfill.value) });
      source.value = "";
    });
  const element = card(
    `${user} follows`,
    form({ class: "inline" }, follow, field("Source", source), field("Backfill", backfill, { hint: "Earlier posts to add" }), submit),
    said,
    ...pages.head,
    listed,
    pages.more,
  );
  hear("follows", (other) => other === address && [pages.first(), changed()], signal);
  pages.first();
  return element;
}

/** A card of the followers of a source. */
export function followersCard(source, signal) {
  const list = el("ul", { class: "plain" });
  const listed = el("div", {}, list);
  const base = path("sources", source);
  const line = ({ user, since }) =>
    el("li", {}, el("a", { href: `#events${query({ feed: user })}` }, el("bdi", {}, user)), el("span", { class: "muted" }, "since ", moment(since)));
  const pages = new Pages(listed, signal, {
    target: (cursor) => `${base}/followers${query({ limit: FOLLOWERS, cursor })}`,
    of: ({ followers }) => followers,
    draw: () => list.replaceChildren(...pages.items.map(line)),
  });
  const total = async (signal) => {
    const { followers, mode } = (await call("GET", base, { signal })).data;
    pages.tally.textContent = `${plural(followers, "follower")}. Delivery: ${mode}.`;
  };
  pages.first().then((isRead) => isRead && showLast(listed, signal, total));
  return card(`Followers of ${source}`, ...pages.head, listed, pages.more);
}
