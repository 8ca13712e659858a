// The bell in a real React in jsdom, on a running program. scripts/examples builds bell.js from bell.tsx.

import assert from "node:assert/strict";
import { test } from "node:test";

import { JSDOM } from "jsdom";

const { window } = new JSDOM('<main id="root"></main>');
const { document, navigator } = window;
Object.assign(globalThis, { window, document, navigator, IS_REACT_ACT_ENVIRONMENT: true });

const { act, createElement } = await import("react");
const { createRoot } = await import("react-dom/client");
const { Lately } = await import("@lately/client");
const { Bell } = await import("../notification-bell/bell.js");

const lately = new Lately({ url: process.env.LATELY_URL, token: "dev" });
const [author, reader] = [`author-${process.pid}`, `reader-${process.pid}`];

/** Only failures reach this bound. */
const PATIENCE_SECONDS = 60;

async function until(what, holds) {
  const latest = Date.now() + PATIENCE_SECONDS * 1000;
  while (!holds()) {
    assert.ok(Date.now() < latest, `not in time: ${what}; shown: ${document.body.innerHTML}`);
    await act(() => new Promise((resolve) => setTimeout(resolve, 20)));
  }
}

test("the bell counts what comes, and opening it marks everything as seen", async (context) => {
  const posts = lately.topic(`posts-${process.pid}`);
  await posts.put();
  await lately.user(reader).follow(`actor:${author}`);
  const { id } = await posts.post({ type: "post.created", actor: author });
  await lately.feed(reader).page({ wait_for: id });

  const root = createRoot(document.getElementById("root"));
  context.after(() => act(async () => root.unmount()));
  await act(async () => root.render(createElement(Bell, { feed: lately.feed(reader) })));
  const count = () => document.querySelector(".bell b")?.textContent;
  await until("the entry from before is counted", () => count() === "1");
  await posts.post({ type: "post.liked", actor: author, subject: "post:7" });
  await until("an entry that comes is counted", () => count() === "2");

  const bell = document.querySelector("button");
  assert.equal(bell.getAttribute("aria-label"), "Notifications, 2 unread");
  await act(async () => bell.click());
  await until("the newest entries show", () => document.querySelectorAll("li").length === 2);
  assert.match(document.querySelector("li").textContent, new RegExp(`^${author} · post liked · post:7 `));
  await until("the count is gone", () => count() === undefined);
  await until("the dialog has loaded", () => document.querySelector("[role=dialog]").ariaBusy !== "true");
  assert.equal((await lately.feed(reader).unread()).unread, 0);
});
