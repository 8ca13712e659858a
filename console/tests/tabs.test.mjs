import assert from "node:assert/strict";
import { test } from "node:test";

import { entries, fresh, open, post, topic, until, url } from "./stage.mjs";

test("a seventh window works, and all windows show a new event", async (t) => {
  const name = await topic();
  const hash = `#events?topic=${name}`;
  const page = await open(t, hash);
  const pages = [page];
  for (let number = 1; number < 7; number += 1) {
    const next = await page.context().newPage();
    await next.goto(`${url}/${hash}`);
    pages.push(next);
  }
  for (const each of pages) await each.getByText("No events here.").waitFor();
  await post(name, { type: "note.added", actor: "ada", data: { text: "to all" } });
  for (const each of pages) await entries(each, { name: /to all/ }).waitFor();
  const links = await Promise.all(pages.map((each) => each.locator(".link").innerText()));
  assert.deepEqual(links.sort(), ["Live", "Live", "Live", "Live", "Polling", "Polling", "Polling"]);
});

test("what one tab marks as seen, follows or leaves is so in the other", async (t) => {
  const [user, author] = [fresh("reader"), fresh("author")];
  const hash = `#events?feed=${user}`;
  const page = await open(t, hash);
  const other = await page.context().newPage();
  await other.goto(`${url}/${hash}`);
  await other.getByText("This feed is empty.").waitFor();
  await page.getByRole("button", { name: "Follows…" }).click();
  await other.getByRole("button", { name: "Follows…" }).click();
  await page.getByLabel("Source").fill(`actor:${author}`);
  await page.getByRole("button", { name: "Follow", exact: true }).click();
  await other.getByRole("button", { name: `Unfollow actor:${author}` }).waitFor();
  await post("posts", { type: "post.created", actor: author, data: { text: "one" } });
  await other.getByText("1 unread").waitFor();
  await page.getByText("1 unread").waitFor();
  await page.getByRole("button", { name: "Mark all as seen" }).click();
  await other.getByText("All seen").waitFor();
});

test("a topic that cannot have its name is refused once, and the page says that it is not live", async (t) => {
  const page = await open(t, "", { refused: [400, 404] });
  let refused = 0;
  page.on("response", (response) => (refused += response.url().endsWith("/live") && response.status() === 400));
  await page.evaluate(() => (location.hash = "events?topic=no%20such%20topic"));
  await page.locator(".problem").waitFor();
  assert.equal(await page.getByText("Loading…").count(), 0);
  await page.locator(".link").getByText("Not live").waitFor();
  await page.waitForTimeout(3000);
  assert.equal(refused, 1);
});
