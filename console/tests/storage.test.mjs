import assert from "node:assert/strict";
import { test } from "node:test";

import { entries, open, post, until } from "./stage.mjs";

test("the heat map shows the number of events of each shard", async (t) => {
  // The topic's buckets are months, and a new month may have no events yet.
  const { at } = await post("deploys", { type: "deploy.started", actor: "ada", data: {} });
  const month = at.slice(0, 7);
  const page = await open(t, "#storage?topic=deploys");
  const map = page.getByRole("grid");
  await map.waitFor();
  const cells = map.getByRole("row", { name: new RegExp(month) }).getByRole("link");
  assert.ok((await cells.count()) >= 4, "a bucket of deploys has at least four shards");
  await cells.first().focus();
  await page.keyboard.press("ArrowRight");
  const focused = await page.evaluate(() => document.activeElement.getAttribute("aria-label"));
  assert.match(focused, new RegExp(`events? in EVENTS#deploys#${month}#SHARD1`));
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "Faults" }).waitFor();
  assert.equal(await page.getByLabel("Partition", { exact: true }).inputValue(), `EVENTS#deploys#${month}#SHARD1`);
});

test("an event's stored items include timelines and feeds", async (t) => {
  const event = await post("posts", { type: "post.created", actor: "ada", data: { text: "<i>kept</i> as text" } });
  const page = await open(t, "#timeline?topic=posts");
  await entries(page, { name: /kept/ }).click();
  await page.getByRole("link", { name: "Show stored items" }).click();
  const items = page.getByRole("region", { name: `Items of ${event.id}` });
  await items.waitFor();
  const day = event.at.slice(0, 10);
  await until("fan-out has delivered the event to bob", async () => {
    await page.getByRole("button", { name: "Find" }).click();
    return (await items.innerText()).includes("FEED#bob");
  });
  const text = await items.innerText();
  assert.match(text, new RegExp(`the event\\s+EVENTS#posts#${day}#SHARD\\d+`));
  assert.match(text, /a source's timeline\s+SOURCE#actor:ada/);
  assert.equal(await page.locator("#panel i").count(), 0);
});

test("a trace shows the calls of a read with partitions and costs", async (t) => {
  const page = await open(t, `#storage?trace=${encodeURIComponent("/topics/posts/events?limit=20")}`);
  const calls = page.getByRole("region", { name: "DynamoDB calls" });
  await calls.waitFor();
  assert.match(await calls.innerText(), /Query\s+EVENTS#posts#\d{4}-\d\d-\d\d#SHARD0/);
  await page.getByLabel("GET").fill("/feeds/bob?limit=10");
  await page.getByRole("button", { name: "Trace" }).click();
  await until("the feed's query is shown", async () => (await calls.innerText()).includes("FEED#bob"));
});

test("of two traces the last request is shown, whichever finishes first", async (t) => {
  const page = await open(t, "#faults");
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
  const page = await open(t, "#storage", { refused: [422] });
  await page.getByLabel("GET").fill("/local/state");
  await page.getByRole("button", { name: "Trace" }).click();
  await page.locator(".trace .problem").getByText("422").waitFor();
});

test("six designs are compared with the same events", async (t) => {
  const page = await open(t, "#storage");
  await page.getByRole("button", { name: "Compare" }).click();
  const designs = page.getByRole("region", { name: "Designs compared" });
  await designs.waitFor();
  assert.equal(await designs.getByRole("row").count(), 7);
  const details = page.locator("details.design");
  assert.equal(await details.count(), 6);
  await details.first().locator("summary").click();
  await details
    .first()
    .getByRole("region", { name: /^Keys of/ })
    .waitFor();
});
