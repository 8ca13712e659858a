// The sources that a user follows, and the followers of a source.

import { apiUrl, call, isLocal, path, query } from "./api.js";
import { announce, button, card, el, field, form, suggested } from "./dom.js";
import { moment, plural } from "./format.js";
import { sourceLink } from "./scope.js";
import { hear, tell } from "./tabs.js";
import { pressed, showLast } from "./task.js";

const FOLLOWS = 200;
const FOLLOWERS = 50;

const SOURCES = ["actor:ada", "actor:bob", "actor:carol", "subject:repo:octo:hello", "subject:repo:octo:engine", "subject:repo:lately:console"];

/** A card of the sources that a user follows. `changed()` is called when the user follows or leaves one, also in another tab. */
export function followsCard(user, signal, changed = () => {}) {
  const address = `${apiUrl()} ${user}`;
  const list = el("ul", { class: "follows" });
  let next = null;
  const more = button("Load more", () => read(next), { hidden: true });
  const said = el("div", {});
  const read = (cursor = null) =>
    showLast(list.parentElement, signal, async (signal) => {
      const { data } = await call("GET", `${path("users", user, "following")}${query({ limit: FOLLOWS, cursor })}`, { signal });
      next = data.next;
      more.hidden = next === null;
      const lines = data.following.map(({ source }) => {
        const leave = button("Unfollow", () => pressed(leave, said, () => set("DELETE", source, "no longer follows")), {
          class: "quiet",
          "aria-label": `Unfollow ${source}`,
        });
        return el("li", {}, sourceLink(source), leave);
      });
      if (cursor) return list.append(...lines);
      list.replaceChildren(...(lines.length > 0 ? lines : [el("li", { class: "muted" }, "Nobody yet.")]));
    });
  const set = async (method, source, verb, body) => {
    await call(method, path("users", user, "following", source), { body, signal });
    announce(`${user} ${verb} ${source}.`);
    tell("follows", address);
    changed();
    await read();
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
    el("div", {}, list),
    more,
  );
  hear("follows", (other) => other === address && [read(), changed()], signal);
  read();
  return element;
}

/** A card of the followers of a source. */
export function followersCard(source, signal) {
  const title = el("p", { class: "muted" });
  const list = el("ul", { class: "follows" });
  const base = path("sources", source);
  let next = null;
  const more = button("Load more", () => pressed(more, list, () => load(next)), { hidden: true });
  const load = async (cursor) => {
    const [view, { data }] = await Promise.all([
      call("GET", base, { signal }),
      call("GET", `${base}/followers${query({ limit: FOLLOWERS, cursor })}`, { signal }),
    ]);
    next = data.next;
    more.hidden = next === null;
    title.textContent = `${plural(view.data.followers, "follower")}. Delivery: ${view.data.mode}.`;
    const lines = data.followers.map(({ user, since }) =>
      el("li", {}, el("a", { href: `#events${query({ feed: user })}` }, el("bdi", {}, user)), el("span", { class: "muted" }, "since ", moment(since))),
    );
    if (cursor) list.append(...lines);
    else list.replaceChildren(...lines);
  };
  const element = card(`Followers of ${source}`, title, list, more);
  showLast(element, signal, () => load(null));
  return element;
}
