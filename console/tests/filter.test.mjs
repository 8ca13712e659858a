import assert from "node:assert/strict";
import { test } from "node:test";

import { entries, open, post, rows, topic, until } from "./stage.mjs";

/** A topic with so many events, whose amounts are 0, 1, 2 and so on. */
async function paid(size) {
  const name = await topic();
  const types = ["bill.paid", "bill.sent", "bill.lost"];
  const events = Array.from({ length: size }, (_, amount) => ({
    type: types[amount % 3],
    actor: amount % 2 ? "ada" : "bob",
    subject: `repo:octo:${amount % 5}`,
    data: { amount, words: `number ${amount}.` },
  }));
  await post(name, events);
  return name;
}

const where = (page) => page.getByLabel("Words or conditions");
const tally = (page, text) => page.locator(".status").first().getByText(text).waitFor();
const parameters = (page) => new URLSearchParams(new URL(page.url()).hash.split("?")[1]);
const refine = (page) => page.getByText("Range, filter, columns").click();

test("a filter shows the matches of what was read, and is in the address", async (t) => {
  const name = await paid(50);
  const page = await open(t, `#events?topic=${name}`);
  await tally(page, "50 events in all");
  await refine(page);
  await where(page).fill("data.amount>=38");
  await tally(page, "12 of 50 read match");
  assert.equal((await rows(page)).length, 12);
  await page.getByLabel("Actor is").fill("ada");
  await tally(page, "6 of 50 read match");
  await page.getByLabel("Subject is").fill("repo:octo:*");
  await tally(page, "6 of 50 read match");
  await page.getByLabel("Subject is").fill("repo:octo:1");
  await tally(page, "1 of 50 read match");
  await page.reload();
  await tally(page, "1 of 50 read match");
  assert.equal(await where(page).inputValue(), "data.amount>=38");
  assert.equal(parameters(page).get("actor"), "ada");
  await where(page).fill("no such word");
  await page.getByText("No event matches.").waitFor();
  for (const label of ["Actor is", "Subject is", "Words or conditions"]) await page.getByLabel(label).fill("");
  await tally(page, "50 events in all");
  assert.equal(page.url().split("?")[1], `topic=${name}`);
});

test("several types are chosen with the histogram's buttons", async (t) => {
  const name = await paid(50);
  const page = await open(t, `#events?topic=${name}`);
  await page.getByRole("button", { name: "bill.paid 17" }).click();
  await tally(page, "17 of 50 read match");
  await page.getByRole("button", { name: "bill.lost 16" }).click();
  await tally(page, "33 of 50 read match");
  assert.equal(parameters(page).get("types"), "bill.paid,bill.lost");
  await page.locator(".histogram").getByText(/the 33 events/).waitFor();
  await page.reload();
  await tally(page, "33 of 50 read match");
  assert.equal(await page.getByRole("button", { name: "bill.paid 17" }).getAttribute("aria-pressed"), "true");
  await page.getByRole("button", { name: "bill.paid 17" }).click();
  await page.getByRole("button", { name: "bill.lost 16" }).click();
  await tally(page, "50 events in all");
});

test("with a filter, only a button reads on, and it has the price so far", async (t) => {
  const name = await paid(330);
  const reads = [];
  const page = await open(t, `#events?topic=${name}&where=data.amount%3C40`);
  page.on("request", (request) => request.url().includes("cursor=") && reads.push(request.url()));
  await tally(page, "0 of 100 read match");
  await page.waitForTimeout(500);
  assert.deepEqual(reads, []);
  await page.getByRole("button", { name: /^Load older \([\d.]+ read units? so far\)$/ }).click();
  await tally(page, "10 of 300 read match");
  await page.getByText(/2 reads: [\d.]+ read units so far/).waitFor();
  await page.getByRole("button", { name: "Load older" }).click();
  await tally(page, "40 of 330 read match");
  await page.getByRole("button", { name: "Load older" }).waitFor({ state: "hidden" });
  assert.equal(reads.length, 2);
});

test("new events pass the filter or are only counted as read", async (t) => {
  const name = await paid(5);
  const page = await open(t, `#events?topic=${name}&actor=ada`);
  await tally(page, "2 of 5 read match");
  await post(name, { type: "bill.paid", actor: "bob", data: { words: "hidden" } });
  await post(name, { type: "bill.paid", actor: "ada", data: { words: "visible" } });
  await entries(page, { name: /visible/ }).waitFor();
  await tally(page, "3 of 7 read match");
  await page.getByRole("button", { name: "Pause" }).click();
  await post(name, { type: "bill.paid", actor: "bob", data: {} });
  await page.waitForTimeout(500);
  assert.equal(await page.getByRole("button", { name: /\d new$/ }).count(), 0);
  await post(name, { type: "bill.paid", actor: "ada", data: {} });
  await page.getByRole("button", { name: "1 new" }).click();
  await tally(page, "4 of 9 read match");
});

test("conditions compare numbers, texts and missing fields", async (t) => {
  const page = await open(t, "", { isPlain: true });
  const matches = (text) =>
    page.evaluate(async (condition) => {
      const { matcher } = await import("/console/filter.js");
      const { exactly } = await import("/console/api.js");
      const data = exactly('{"amount":12.50,"big":12345678901234567890,"tags":["a","b"],"on":true,"word":"Two words","deep":{"er":1}}');
      return matcher({ where: condition })({ id: "1", at: "2026-11-22T10:00:00Z", type: "a.b", actor: "ada", data });
    }, text);
  for (const condition of [
    "data.amount=12.5", "data.amount>12 data.amount<13", "amount >= 12.50", "data.amount!=13", "data.big=12345678901234567890",
    "data.big>12345678901234567889", "data.on=true", 'data.word="Two words"', '"two WORDS"', "two words", "data.tags.1=b",
    "data.deep.er<=1", "data.none!=1", "subject=", "type=a.b", "at>2026-11-22", "data.word>Tw",
  ])
    assert.equal(await matches(condition), true, condition);
  for (const condition of [
    "data.amount>12.5", "data.big=12345678901234567891", "data.word>1", "data.none=1", "data.none<1", "data.none>a",
    '"words two"', "three", "data.amount.rawJSON=9", "data.__proto__!=", "actor!=ada",
  ])
    assert.equal(await matches(condition), false, condition);
});

test("columns are chosen, named above the list, and in the address", async (t) => {
  const name = await paid(5);
  const page = await open(t, `#events?topic=${name}`);
  await entries(page).first().waitFor();
  await refine(page);
  await page.getByLabel("Add a column").selectOption("data.amount");
  await page.getByRole("button", { name: "Remove the column data", exact: true }).click();
  assert.equal(parameters(page).get("columns"), "time,type,who,data.amount");
  await until("the row has the amount", async () => / bill\.sent bob → repo:octo:4 4$/.test((await rows(page))[0]));
  await page.reload();
  await until("the row has the amount", async () => / bill\.sent bob → repo:octo:4 4$/.test((await rows(page))[0]));
  await page.getByRole("button", { name: "Remove the column who" }).click();
  await until("it has no actor", async () => / bill\.sent 4$/.test((await rows(page))[0]));
  for (const column of ["time", "type", "data.amount"]) await page.getByRole("button", { name: `Remove the column ${column}` }).click();
  await until("all usual columns are back", async () => / bill\.sent bob → repo:octo:4 .*number 4/.test((await rows(page))[0]));
  assert.equal(parameters(page).has("columns"), false);
});
