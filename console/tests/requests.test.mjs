import assert from "node:assert/strict";
import { test } from "node:test";

import { elsewhere } from "./proxy.mjs";
import { compose, entries, open, post, topic, until } from "./stage.mjs";

const go = (page, hash) => page.evaluate((to) => (location.hash = to), hash);

/** The numbers of a line of the table of costs, by the heads of their columns. */
async function line(page, kind) {
  const [heads, cells] = await page.getByRole("region", { name: "Cost by kind of request" }).evaluate((region, name) => {
    const texts = (row) => [...row.cells].map((cell) => cell.innerText);
    const [head, ...rows] = [...region.querySelectorAll("tr")].map(texts);
    return [head, rows.find(([first]) => first === name)];
  }, kind);
  return Object.fromEntries(heads.map((head, at) => [head, Number.parseFloat(cells[at].replace(/[^\d.]/g, ""))]));
}

const log = (page) => page.getByRole("region", { name: "Log of requests" }).locator("tbody tr");

/** The dollars of a million units, as the page has them. */
const prices = (page) => page.evaluate(async () => (await import("/console/meter.js")).PRICES);

test("the costs of all requests are added up by kind", async (t) => {
  const name = await topic();
  const page = await open(t, "#system");
  // The sums are taken from what the browser received, and not from the page.
  const received = { pages: [], writes: [] };
  page.on("response", (response) => {
    const kind = response.request().method() === "POST" ? "writes" : "pages";
    if (new URL(response.url()).pathname === `/topics/${name}/events`) received[kind].push(response.headers()["lately-cost"]);
  });
  await go(page, `events?topic=${name}`);
  await page.getByText("No events here.").waitFor();
  await compose(page);
  await page.getByLabel("Text", { exact: true }).fill("costs");
  await page.getByRole("button", { name: "Post", exact: true }).click();
  await entries(page, { name: /costs/ }).waitFor();
  await page.locator(".composer .price").getByText("write units").waitFor();
  const units = (kind, what) =>
    received[kind].reduce((sum, header) => sum + Number(header.match(new RegExp(`${what}=([\\d.]+)`))[1]), 0);
  assert.match(await page.locator(".meter").innerText(), /^[\d.]+ read · [\d.]+ write units$/);
  await page.locator(".meter").click();
  await page.getByRole("heading", { level: 1, name: /^Requests/ }).waitFor();
  const [pages, writes, all] = [await line(page, "Pages"), await line(page, "Writes"), await line(page, "All")];
  assert.deepEqual([pages.Requests, writes.Requests], [received.pages.length, 1]);
  assert.deepEqual([pages["Read units"], pages.Calls], [units("pages", "read_units"), units("pages", "calls")]);
  assert.deepEqual([writes["Write units"], writes.Calls], [units("writes", "write_units"), units("writes", "calls")]);
  assert.ok(all["Write units"] === writes["Write units"] && all["Read units"] >= pages["Read units"]);
  await page.getByText(/us-east-1/).waitFor();
  await page.getByText(/95 % within \d+ ms/).waitFor();
  assert.ok((await page.getByRole("region", { name: "Requests by latency" }).locator("tbody tr").count()) > 0);

  await page.getByRole("button", { name: "Start at zero" }).click();
  assert.equal((await line(page, "All"))["Write units"], 0);
});

test("a month is the cost of the last minute, extrapolated", async (t) => {
  const page = await open(t, "#system", { isPlain: true });
  await page.clock.install();
  await page.reload();
  const answer = (route) => route.fulfill({ json: { topics: [], next: null }, headers: { "Lately-Cost": "read_units=60, calls=1" } });
  await page.route(/\/topics\?limit=200/, answer);
  await go(page, "topics");
  await page.getByText("There are no topics yet.").waitFor();
  await go(page, "requests");
  await page.clock.runFor(50_000);
  // 60 units a minute, at most 60 s ago; 2,592,000 units cost 32 cents.
  await until("the rate falls with time", async () => (await line(page, "All"))["Units a second"] <= 1.3);
  const { "Units a second": rate, "30 days": dollars } = await line(page, "All");
  assert.ok(Math.abs(dollars - rate * 2.592 * (await prices(page)).read) < 0.03, `${rate} units a second are ${dollars}`);
  await page.clock.runFor(30_000);
  await until("nothing was sent for a minute", async () => (await line(page, "All"))["Units a second"] === 0);
  assert.equal((await line(page, "All"))["Read units"], 60);
});

test("failures are marked and can be shown alone, and their ids copied", async (t) => {
  const page = await open(t, "#events?topic=none-such", { refused: [404] });
  await page.locator(".problem").first().waitFor();
  const id = await page.locator(".problem .hint code").nth(1).innerText();
  await go(page, "requests");
  const failed = log(page).filter({ hasText: "404 topic-not-found" }).filter({ hasText: id.slice(0, 8) });
  assert.equal(await failed.locator(".bad").count(), 1);
  const before = await log(page).count();
  await page.getByLabel("Show").selectOption("failures");
  await until("only failures are shown", async () => (await log(page).count()) < before);
  assert.equal(await log(page).locator(".bad").count(), await log(page).count());
  assert.equal(new URL(page.url()).hash, "#requests?show=failures");
  await page.evaluate(() => {
    navigator.clipboard.writeText = (text) => Promise.resolve((globalThis.copied_ = text));
  });
  await page.getByRole("button", { name: `Copy ${id.slice(0, 8)}…` }).click();
  await page.getByText("Copied").first().waitFor();
  assert.equal(await page.evaluate(() => globalThis.copied_), id);
  await page.getByLabel("Show").selectOption("all");
  await until("all are shown", async () => (await log(page).count()) >= before);
});

test("the log keeps 200 requests, newest first", async (t) => {
  const name = await topic();
  const page = await open(t, `#events?topic=${name}`, { isPlain: true });
  await page.getByText("No events here.").waitFor();
  await page.evaluate(async (of) => {
    const { call } = await import("/console/api.js");
    for (let number = 0; number < 230; number += 1) 
      await call("GET", `/topics/${of}/events?limit=${1 + (number % 200)}`);
  }, name);
  await go(page, "requests");
  await until("200 rows", async () => (await log(page).count()) === 200);
  await page.getByText("200 requests").first().waitFor();
});

test("polls are counted as polls, and the panel sends no request", async (t) => {
  const name = await topic();
  await post(name, { type: "note.added", actor: "ada", data: { text: "first" } });
  const origin = await elsewhere(t);
  const page = await open(t, `#events?topic=${name}`, { origins: [origin], refused: [400, 404] });
  await page.getByRole("button", { name: "Connect…" }).click();
  await page.getByLabel("URL", { exact: true }).fill(origin);
  await page.getByLabel("Token").fill("ada");
  await page.getByRole("button", { name: "Connect", exact: true }).click();
  await page.getByText("Polling").waitFor();
  await page.waitForResponse((response) => response.url().includes("cursor="));
  await page.waitForResponse((response) => response.url().includes("cursor="));
  await go(page, "requests");
  await page.getByRole("heading", { level: 1, name: /^Requests/ }).waitFor();
  await until("no request of the timeline is under way", async () => (await line(page, "Polls")).Requests >= 2);
  const requests = [];
  page.on("request", (request) => requests.push(request.url()));
  await page.waitForTimeout(4000);
  assert.deepEqual(requests, []);
  const polls = await line(page, "Polls");
  assert.ok(polls["Read units"] > 0 && polls["Write units"] === 0);
});

test("a consumer that is read again by itself is polled", async (t) => {
  const page = await open(t, "#consumers?topic=billing&name=report");
  const read = (response) => new URL(response.url()).pathname === "/topics/billing/consumers/report";
  await page.waitForResponse(read);
  await page.waitForResponse(read);
  await go(page, "requests");
  await until("the second read is a poll", async () => (await line(page, "Polls")).Requests >= 1);
});

test("at 320 px and with forced colours the panel can be read", async (t) => {
  const page = await open(t, "#events?topic=none-such", {
    viewport: { width: 320, height: 640 },
    forcedColors: "active",
    refused: [404],
  });
  await page.locator(".problem").first().waitFor();
  await page.getByRole("link", { name: "System", exact: true }).click();
  await page.getByRole("link", { name: "Requests and prices" }).click();
  await log(page).first().waitFor();
  const wider = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok((await wider()) <= 0, `${await wider()} px wider than the screen`);
  const cut = await page
    .locator(".requests :is(p, h2, select, button)")
    .evaluateAll((all) => all.filter((it) => it.getBoundingClientRect().right > innerWidth && !it.closest(".scrolls")).length);
  assert.equal(cut, 0);
  const fill = page.locator(".bar-fill").first();
  assert.equal(await fill.evaluate((it) => getComputedStyle(it).backgroundColor), "rgb(15, 107, 99)");
});
