import assert from "node:assert/strict";
import { test } from "node:test";

import { api, entries, fresh, open, post, topic } from "./stage.mjs";

const panel = (page, name) => page.getByRole("navigation", { name: "Panels" }).getByRole("link", { name });

test("the menu keeps the topic and leads back to what a panel showed", async (t) => {
  const name = await topic();
  await post(name, { type: "note.added", actor: "ada", data: { text: "kept" } });
  const page = await open(t, `#events?topic=${name}&type=note.added`);
  await entries(page, { name: /kept/ }).waitFor();
  assert.equal(await page.title(), `${name} · Events · Lately`);
  await panel(page, "People").click();
  await page.getByRole("heading", { level: 1, name: "Follows" }).waitFor();
  assert.equal(await page.title(), "Follows · Lately");
  await panel(page, "Events").click();
  await entries(page, { name: /kept/ }).waitFor();
  assert.match(page.url(), new RegExp(`#events\\?topic=${name}&type=note.added`));
  await panel(page, "Topics").click();
  await page.getByRole("heading", { level: 1, name: "Topics" }).waitFor();
  await page.getByRole("navigation", { name: "Parts of Topics" }).getByRole("link", { name: "Shards" }).click();
  await page.getByRole("heading", { level: 1, name: "Shards" }).waitFor();
  assert.match(page.url(), new RegExp(`#shards\\?topic=${name}$`));
});

test("the menu has five entries, and earlier addresses lead to the new places", async (t) => {
  const page = await open(t, "", { refused: [404] });
  const entriesOf = page.getByRole("navigation", { name: "Panels" }).getByRole("link");
  assert.deepEqual(await entriesOf.allInnerTexts(), ["Events", "Topics", "People", "System", "Records"]);
  for (const [before, after, title] of [
    ["timeline?topic=billing&last=1d", "events?topic=billing&last=1d", "Events"],
    ["feeds?user=bob", "events?feed=bob", "Events"],
    ["feeds", "events?feed=%7E", "Events"],
    ["sources?source=actor%3Aada", "events?source=actor%3Aada", "Events"],
    ["storage?topic=billing", "shards?topic=billing", "Shards"],
    ["stream", "system", "Stream and faults"],
    ["faults", "system", "Stream and faults"],
    ["records?kind=profile&name=ada", "profile?user=ada", "Profile"],
    ["records?kind=settings&name=web", "settings?app=web", "Settings of applications"],
  ]) {
    await page.evaluate((hash) => (location.hash = hash), before);
    await page.getByRole("heading", { level: 1, name: title }).waitFor();
    assert.ok(page.url().endsWith(`#${after}`), `${page.url()} for ${before}`);
  }
});

test("Back leaves a page that chose a topic itself", async (t) => {
  const name = await topic();
  const page = await open(t, "#system");
  const before = page.url();
  await page.route(/\/topics\?limit=200/, (route) => route.fulfill({ json: { topics: [{ topic: name }] } }));
  await page.evaluate(() => (location.hash = ""));
  await page.getByText("No events here.").waitFor();
  assert.match(page.url(), new RegExp(`#events\\?topic=${name}$`));
  await page.goBack();
  await page.getByRole("heading", { level: 1, name: "Stream and faults" }).waitFor();
  await page.waitForTimeout(500);
  assert.equal(page.url(), before);
});

test("an event leads to its actor's events and followers, and they to the followers' feeds", async (t) => {
  const [name, author, reader] = [await topic(), fresh("author"), fresh("reader")];
  await post(name, { type: "note.added", actor: author, data: { text: "one" } });
  await post("posts", { type: "post.created", actor: author, data: { text: "two" } });
  await api("PUT", `/users/${reader}/following/actor:${author}`, {});
  const page = await open(t, `#events?topic=${name}`);
  await entries(page, { name: /one/ }).click();
  await page.locator(".detail").getByRole("link", { name: author }).click();
  await page.getByRole("button", { name: "Followers…" }).click();
  await page.getByRole("heading", { name: `Followers of actor:${author}` }).waitFor();
  await entries(page, { name: /two/ }).waitFor();
  await page.getByText("2 events in all").waitFor();
  await page.getByText("1 follower.").waitFor();
  await page.getByRole("link", { name: reader }).click();
  await page.getByRole("button", { name: "Follows…" }).click();
  await page.getByRole("heading", { name: `${reader} follows` }).waitFor();
  await page.goBack();
  await page.goBack();
  await page.getByRole("complementary", { name: "The event" }).waitFor();
});

test("an actor's and a subject's new events arrive, and wait while an event is open", async (t) => {
  const [name, actor] = [await topic({ views: ["actor", "subject"] }), fresh("actor")];
  const event = (text) => ({ type: "note.added", actor, subject: `thing:${actor}`, data: { text } });
  for (const source of [`actor:${actor}`, `subject:thing:${actor}`]) {
    const page = await open(t, `#events?source=${encodeURIComponent(source)}`);
    await page.locator(".link").getByText("Live").waitFor();
    await page.getByText(/\d+ events? in all/).waitFor();
    await post(name, event(`first for ${source}.`));
    await entries(page, { name: `first for ${source}.` }).click();
    await post(name, event(`second for ${source}.`));
    await page.getByRole("button", { name: "1 new" }).waitFor();
    assert.equal(await entries(page, { name: `second for ${source}.` }).count(), 0);
    await page.getByRole("button", { name: "1 new" }).click();
    await entries(page, { name: `second for ${source}.` }).waitFor();
  }
});

test("a large event opens with its beginning, and times have a zone", async (t) => {
  const name = await topic();
  const event = await post(name, { type: "note.added", actor: "ada", data: { text: "x".repeat(200_000) } });
  const page = await open(t, `#events?topic=${name}`, { timezoneId: "Europe/Berlin", locale: "en" });
  await entries(page).first().click();
  const data = page.getByLabel("Data", { exact: true });
  await data.waitFor();
  assert.equal((await data.textContent()).length, 20_000);
  assert.match(await page.locator(".detail").innerText(), new RegExp(`${event.at} · .*GMT\\+[12]`));
  await page.getByRole("button", { name: /^Show all 200,\d+ characters/ }).click();
  assert.ok((await data.textContent()).length > 200_000);
});

test("the filter suggests the types that the topic has", async (t) => {
  const name = await topic();
  await post(name, { type: "door.opened", actor: "ada", data: {} });
  await post(name, { type: "door.closed", actor: "ada", data: {} });
  const page = await open(t, `#events?topic=${name}`);
  await entries(page).first().waitFor();
  const suggested = await page
    .getByLabel("Type")
    .first()
    .evaluate((it) => [...it.list.options].map(({ value }) => value));
  assert.deepEqual(suggested, ["door.closed", "door.opened"]);
});

test("two Tabs lead to the list of events", async (t) => {
  const page = await open(t);
  await entries(page).first().waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("role")), "listbox");
});
