import assert from "node:assert/strict";
import { test } from "node:test";

import { entries, open, post, topic, until } from "./stage.mjs";

test("the heat map shows the number of events of each shard", async (t) => {
  // The topic's buckets are months, and a new month may have no events yet.
  const { at } = await post("deploys", { type: "deploy.started", actor: "ada", data: {} });
  const month = at.slice(0, 7);
  const page = await open(t, "#shards?topic=deploys");
  const map = page.getByRole("grid");
  await map.waitFor();
  const cells = map.getByRole("row", { name: new RegExp(month) }).getByRole("button");
  assert.ok((await cells.count()) >= 4, "a bucket of deploys has at least four shards");
  await cells.first().focus();
  await page.keyboard.press("ArrowRight");
  const focused = await page.evaluate(() => document.activeElement.getAttribute("aria-label"));
  assert.match(focused, new RegExp(`events? in EVENTS#deploys#${month}#SHARD1`));
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "Throttle this partition" }).click();
  await page.getByRole("heading", { level: 1, name: "Stream and faults" }).waitFor();
  assert.equal(await page.getByLabel("Partition", { exact: true }).inputValue(), `EVENTS#deploys#${month}#SHARD1`);
});

test("an event's stored items include timelines and feeds", async (t) => {
  const event = await post("posts", { type: "post.created", actor: "ada", data: { text: "<i>kept</i> as text" } });
  const page = await open(t, "#events?topic=posts");
  await entries(page, { name: /kept/ }).click();
  await page.getByRole("link", { name: "Show stored items" }).click();
  const items = page.getByRole("region", { name: `Items of ${event.id}` });
  await items.waitFor();
  const day = event.at.slice(0, 10);
  await until("fan-out has delivered the event to bob", async () => {
    await page.getByRole("button", { name: "Find", exact: true }).click();
    return (await items.innerText()).includes("FEED#bob");
  });
  const text = await items.innerText();
  assert.match(text, new RegExp(`the event\\s+EVENTS#posts#${day}#SHARD\\d+`));
  assert.match(text, /a source's timeline\s+SOURCE#actor:ada/);
  assert.equal(await page.locator("#panel i").count(), 0);
});

test("a trace shows the calls of a read with partitions and costs", async (t) => {
  const page = await open(t, `#shards?trace=${encodeURIComponent("/topics/posts/events?limit=20")}`);
  const calls = page.getByRole("region", { name: "DynamoDB calls" });
  await calls.waitFor();
  assert.match(await calls.innerText(), /Query\s+EVENTS#posts#\d{4}-\d\d-\d\d#SHARD0/);
  await page.getByLabel("GET").fill("/feeds/bob?limit=10");
  await page.getByRole("button", { name: "Trace" }).click();
  await until("the feed's query is shown", async () => (await calls.innerText()).includes("FEED#bob"));
});

test("of two traces the last request is shown, whichever finishes first", async (t) => {
  const page = await open(t, "#system");
  let answer = null;
  const held = new Promise((resolve) => (answer = resolve));
  let traces = 0;
  await page.route("**/local/trace", async (route) => {
    traces += 1;
    if (traces > 1) return route.continue();
    const response = await route.fetch();
    await held;
    // The page may have aborted the request.
    await route.fulfill({ response }).catch(() => {});
  });
  await page.evaluate(() => (location.hash = "storage"));
  await page.getByLabel("GET").fill("/feeds/bob?limit=10");
  await until("the panel's own trace is under way", () => traces === 1);
  await page.getByRole("button", { name: "Trace" }).click();
  const calls = page.getByRole("region", { name: "DynamoDB calls" });
  await until("the feed's query is shown", async () => (await calls.innerText()).includes("FEED#bob"));
  answer();
  await page.waitForTimeout(500);
  assert.match(await calls.innerText(), /FEED#bob/);
});

test("a trace of another route is refused with an error", async (t) => {
  const page = await open(t, "#shards", { refused: [422] });
  await page.getByLabel("GET").fill("/local/state");
  await page.getByRole("button", { name: "Trace" }).click();
  await page.locator(".trace .problem").getByText("422").waitFor();
});

test("a cell of the map leads to its events, and they to their items", async (t) => {
  const name = await topic({ min_shards: 4 });
  const event = await post(name, { type: "note.added", actor: "ada", data: { text: "in a shard" } });
  const page = await open(t, `#shards?topic=${name}`);
  const map = page.getByRole("grid");
  await map.getByRole("button", { name: /^1 event in/ }).click();
  const events = page.getByRole("region", { name: /^Events of EVENTS#/ });
  await events.getByText("in a shard").waitFor();
  await map.getByRole("button", { name: /^0 events in/ }).first().click();
  await page.getByText("This partition has no events.").waitFor();
  await page.goBack();
  await page.goForward();
  await page.getByText("This partition has no events.").waitFor();
  await map.getByRole("button", { name: /^1 event in/ }).click();
  await page.getByRole("link", { name: `Stored items of ${event.id}` }).click();
  await page.getByRole("region", { name: `Items of ${event.id}` }).waitFor();
});

test("a refused trace shows its problem and nothing of the trace before", async (t) => {
  const page = await open(t, `#shards?trace=${encodeURIComponent("/topics/posts/events?limit=20")}`, { refused: [404, 422] });
  const calls = page.getByRole("region", { name: "DynamoDB calls" });
  await calls.waitFor();
  await page.getByLabel("GET").fill("/topics/posts/events?limit=0");
  await page.getByRole("button", { name: "Trace" }).click();
  await page.locator(".trace .problem").getByText("400").waitFor();
  assert.equal(await calls.count(), 0);
  await page.getByLabel(/^Event of/).fill("01a20483-30f7-7fc8-8014-22e648eeb216");
  await page.getByRole("button", { name: "Find", exact: true }).click();
  await page.locator(".behind .problem").waitFor();
  assert.equal(await page.getByRole("region", { name: /^Items of/ }).count(), 0);
});

test("topics beyond a page of the list can be chosen", async (t) => {
  const page = await open(t, "#system");
  await page.route(/\/topics\?/, (route) => {
    const more = !new URL(route.request().url()).searchParams.has("cursor");
    const body = { topics: [{ topic: more ? "first" : "beyond" }], next: more ? "there" : null };
    return route.fulfill({ contentType: "application/json", body: JSON.stringify(body) });
  });
  await page.evaluate(() => (location.hash = "shards?topic=posts"));
  await until("both pages are in the list", async () =>
    (await page.getByLabel("Topic").locator("option").allInnerTexts()).includes("beyond"),
  );
});
