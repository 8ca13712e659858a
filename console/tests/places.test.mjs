// Places: where a person finds what a page shows. Texts alone do not tell whether they are in sight.

import assert from "node:assert/strict";
import { test } from "node:test";

import { api, entries, fresh, open, PHONE, post, rows, topic, until, url } from "./stage.mjs";

/** The top of an element in the window, in pixels. */
const top = (locator) => locator.first().evaluate((it) => it.getBoundingClientRect().top);

for (const [width, height, least] of [
  [1440, 900, 22],
  [1024, 700, 13],
  [390, 844, 8],
])
  test(`the first screen has ${least} whole rows at ${width} × ${height}`, async (t) => {
    const page = await open(t, "#events?topic=billing", { viewport: { width, height } });
    await entries(page).first().waitFor();
    const whole = await page.locator(".row:not([hidden])").evaluateAll((all) => {
      const { bottom } = document.querySelector(".list").getBoundingClientRect();
      return all.filter((it) => it.getBoundingClientRect().bottom <= Math.min(bottom, innerHeight)).length;
    });
    assert.ok(whole >= least, `${whole} rows`);
  });

const note = (text) => ({ type: "note.added", actor: "ada", data: { text } });

for (const [size, viewport] of [
  ["desktop", { width: 1440, height: 900 }],
  ["phone", PHONE],
])
  test(`the stored items of an event are in sight when they are asked for: ${size}`, async (t) => {
    const page = await open(t, "#events?topic=posts", { viewport });
    await entries(page).first().click();
    await page.getByRole("link", { name: "Show stored items" }).click();
    const items = page.getByRole("region", { name: /^Items of / });
    await items.waitFor();
    await page.getByRole("grid").waitFor();
    await page.waitForTimeout(300);
    assert.ok((await top(items)) < viewport.height * 0.75, `at ${await top(items)} px of ${viewport.height}`);
    const focused = await page.evaluate(() => document.activeElement.textContent);
    assert.equal(focused, "The stored items of an event");
    await page.reload();
    await items.waitFor();
    await page.getByRole("grid").waitFor();
    assert.ok((await top(items)) < viewport.height * 0.75, "also with the address opened anew");
  });

test("a time of another year has its year", async (t) => {
  const name = await topic();
  await post(name, { ...note("old"), at: "2019-03-04T05:06:07Z" });
  const page = await open(t, `#events?topic=${name}`);
  await entries(page, { name: /2019-03-04 05:06:07/ }).waitFor();
  const cut = await page.locator(".row-time").first().evaluate((it) => it.scrollWidth > it.clientWidth);
  assert.equal(cut, false, "the time is not cut");
});

test("types of a topic have different colours, and further types are grey", async (t) => {
  const name = await topic();
  const types = ["invoice.issued", "invoice.paid", "usage.metered", "a.x", "b.x", "c.x", "d.x"];
  await post(name, types.flatMap((type, at) => Array.from({ length: 9 - at }, () => ({ type, actor: "ada" }))));
  const page = await open(t, `#events?topic=${name}`);
  await entries(page).first().waitFor();
  const colours = await page
    .locator(".histogram .row-type")
    .evaluateAll((all) => Object.fromEntries(all.map((it) => [it.textContent, getComputedStyle(it, "::before").backgroundColor])));
  assert.equal(new Set(types.map((type) => colours[type])).size, 7, JSON.stringify(colours));
  assert.equal(colours["d.x"], "rgb(138, 150, 146)");
});

test("a list whose topic was deleted, or that has an end, is not live", async (t) => {
  const name = await topic();
  await post(name, note("there"));
  const page = await open(t, `#events?topic=${name}`, { refused: [404] });
  await entries(page).first().waitFor();
  await page.locator(".link").getByText("Live", { exact: true }).waitFor();
  const other = await page.context().newPage();
  await other.goto(`${url}/#topics?topic=${name}`);
  const card = other.getByRole("region", { name: "Delete this topic" });
  await card.getByRole("button", { name: "Delete…" }).click();
  await card.getByLabel("Name of the topic").fill(name);
  await card.getByRole("button", { name: "Delete topic" }).click();
  await page.locator(".link").getByText("Not live").waitFor();
  await page.locator(".problem").getByText("404 topic-not-found").waitFor();
  await page.goto(`${url}/#events?topic=posts&to=2030-01-01T00:00:00Z`);
  await entries(page).first().waitFor();
  await page.locator(".link").getByText("Connected").waitFor();
});

test("a stream says how far it is behind", async (t) => {
  const name = await topic();
  await post(name, note("replayed"));
  await new Promise((resolve) => setTimeout(resolve, 1200));
  const page = await open(t, `#events?topic=${name}`);
  await entries(page, { name: /replayed/ }).waitFor();
  await page.locator(".link").getByText("Live", { exact: true }).waitFor();
  await page.waitForTimeout(700);
  assert.equal(await page.locator(".link").innerText(), "Live", "a stream begins with the last events");
  await page.evaluate(async () => {
    const real = Date.now;
    Date.now = () => real() + 2500;
  });
  await post(name, note("late"));
  await page.locator(".link").getByText(/^Live, 2\.\d s behind$/).waitFor();
});

test("the legend counts the events of the filter, whose fields stay open", async (t) => {
  const name = await topic();
  await post(name, [note("one"), { ...note("two"), actor: "bob" }, { ...note("three"), type: "b", actor: "bob" }]);
  const page = await open(t, `#events?topic=${name}`);
  await page.getByText("Range, filter, columns").click();
  await page.getByLabel("Actor is").fill("bob");
  await page.getByRole("button", { name: "note.added 1" }).waitFor();
  await page.getByLabel("Actor is").fill("");
  await page.getByLabel("From (UTC)").fill("2020-01-01T00:00:00");
  await page.getByRole("button", { name: "Set range" }).click();
  await until("the range is in the address", () => page.url().includes("from="));
  await page.getByText("3 events in all").waitFor();
  assert.ok(await page.getByLabel("Actor is").isVisible());
});

test("a post does not become the type of the next one in another tab", async (t) => {
  const page = await open(t, "#events?topic=posts");
  await entries(page).first().waitFor();
  await page.getByRole("button", { name: "Post…" }).click();
  const type = page.locator(".composer").getByLabel("Type");
  assert.equal(await type.inputValue(), "");
  await type.fill("post.created");
  await page.getByLabel("Text", { exact: true }).fill(fresh("typed"));
  await page.getByRole("button", { name: "Post", exact: true }).click();
  await page.locator(".composer .price", { hasText: "write units" }).waitFor();
  await post("posts", { type: "post.liked", actor: "bob" });
  await until("the like is shown", async () => (await rows(page))[0].includes("post.liked"));
  await page.evaluate(() => (location.hash = "topics"));
  await page.getByRole("heading", { level: 1, name: "Topics" }).waitFor();
  await page.goBack();
  await entries(page).first().waitFor();
  await page.getByRole("button", { name: "Post…" }).click();
  assert.equal(await type.inputValue(), "post.created");
});

test("a topic whose deletion has ended is not being deleted", async (t) => {
  const name = await topic();
  const page = await open(t, `#topics?topic=${name}`);
  await page.route(`**/topics/${name}/deletion`, (route) =>
    route.fulfill({ json: { topic: name, state: "done", events: 0, buckets: 0, consumers: 0, begun_at: "2026-11-01T00:00:00Z", finished_at: "2026-11-01T00:01:00Z" } }),
  );
  const card = page.getByRole("region", { name: "Delete this topic" });
  await card.getByRole("button", { name: "Delete…" }).click();
  await card.getByLabel("Name of the topic").fill(name);
  await card.getByRole("button", { name: "Delete topic" }).click();
  await page.getByRole("region", { name, exact: true }).getByText("This topic is deleted.").waitFor();
  assert.equal(await page.getByText("This topic is being deleted.").count(), 0);
});

test("every part of a panel is read again after an outage", async (t) => {
  const page = await open(t, "#requests", { expected: [/ERR_/], refused: [503] });
  await page.context().setOffline(true);
  for (const hash of ["sessions", "consumers", "shards"]) {
    await page.evaluate((it) => (location.hash = it), hash);
    await page.locator(".problem").first().waitFor();
    await page.context().setOffline(false);
    await until(`${hash} has no problem`, async () => (await page.locator(".outage:visible, .problem").count()) === 0);
    await page.context().setOffline(true);
  }
  await page.context().setOffline(false);
});

test("fields of a line have their labels at one height", async (t) => {
  const page = await open(t, "#topics", { viewport: { width: 1440, height: 900 } });
  const form = page.getByRole("region", { name: "Create a topic" });
  const [bucket, retention] = await Promise.all(["Bucket", "Retention, days"].map((it) => top(form.getByText(it, { exact: true }))));
  assert.equal(bucket, retention);
  await api("POST", "/repos/octo/places/issues", { title: "Placed" });
  await page.evaluate(() => (location.hash = "issues?owner=octo&repo=places"));
  await page.getByRole("button", { name: "Placed" }).first().click();
  const issue = page.getByRole("region", { name: /^Issue #/ });
  const [title, body] = await Promise.all(["Title", "Body"].map((it) => top(issue.getByLabel(it))));
  assert.ok(body > title + 30, `${title} and ${body}: one field below the other`);
});
