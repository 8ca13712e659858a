import assert from "node:assert/strict";
import { test } from "node:test";

import { api, compose, entries, open, rows, topic, until } from "./stage.mjs";

const post = (page) => page.getByRole("button", { name: "Post", exact: true }).click();

const eventsOf = async (name) => (await api("GET", `/topics/${name}/events`)).data.events;

test("JSON is posted once, and never instead of a text", async (t) => {
  const name = await topic();
  const page = await open(t, `#events?topic=${name}`);
  await compose(page);
  await page.getByText("Subject and data").click();
  await page.getByLabel(/^Data/).fill('{"amount":12.50}');
  await post(page);
  await entries(page, { name: /12\.50/ }).waitFor();
  await page.getByText("Subject and data").click();
  await page.getByLabel("Text", { exact: true }).fill("a text");
  await post(page);
  await entries(page, { name: /a text/ }).waitFor();

  await page.getByText("Subject and data").click();
  await page.getByLabel(/^Data/).fill('{"amount":1}');
  await page.getByLabel("Text", { exact: true }).fill("both");
  await page.getByText("Subject and data: has JSON").click();
  await post(page);
  const json = page.getByLabel(/^Data/);
  assert.equal(await json.evaluate((it) => it.validationMessage), "Enter a text or JSON, not both.");
  assert.ok(await json.isVisible(), "the closed part opens");
  assert.equal(await page.getByLabel("Text", { exact: true }).inputValue(), "both");
  assert.equal((await rows(page)).length, 2);
});

test("types and subjects are suggested from what was read in the topic", async (t) => {
  const name = await topic();
  await api("POST", `/topics/${name}/events`, [
    { type: "door.opened", actor: "ada", subject: "house:1" },
    { type: "door.closed", actor: "ada", subject: "house:2" },
  ]);
  const page = await open(t, `#events?topic=${name}`);
  await entries(page).first().waitFor();
  const form = await compose(page, "");
  const type = form.getByLabel("Type");
  const suggested = (input) => input.evaluate((it) => [...it.list.options].map(({ value }) => value));
  assert.deepEqual(await suggested(type), ["door.closed", "door.opened"]);
  await form.getByText("Subject and data").click();
  assert.deepEqual(await suggested(form.getByLabel("Subject")), ["house:1", "house:2"]);

  await type.fill("door.painted");
  await api("POST", `/topics/${name}/events`, { type: "door.locked", actor: "ada" });
  await entries(page, { name: /door.locked/ }).waitFor();
  assert.equal(await type.inputValue(), "door.painted", "a typed value stays");
});

test("an empty post and invalid JSON are refused before they are sent", async (t) => {
  const name = await topic();
  const page = await open(t, `#events?topic=${name}`);
  await page.getByText("No events here.").waitFor();
  const sent = [];
  page.on("request", (request) => request.method() === "POST" && sent.push(request.url()));
  await compose(page);
  await post(page);
  assert.equal(await page.getByLabel("Text", { exact: true }).getAttribute("aria-invalid"), "true");
  await page.getByText("Subject and data").click();
  for (const wrong of ['{"a":1},"subject":"s:1"', '{"a": }']) {
    await page.getByLabel(/^Data/).fill(wrong);
    await post(page);
    assert.match(await page.getByLabel(/^Data/).evaluate((it) => it.validationMessage), /This is not valid JSON: .*JSON/);
    assert.equal(await page.getByLabel(/^Data/).getAttribute("aria-invalid"), "true");
  }
  assert.deepEqual(sent, []);
});

test("a post whose response was lost is written once, however often it is repeated", async (t) => {
  const name = await topic();
  const page = await open(t, `#events?topic=${name}`, { expected: [/ERR_/] });
  await page.getByText("No events here.").waitFor();
  await compose(page);
  await page.route("**/events", async (route) => {
    await route.fetch();
    await route.abort("connectionreset");
  });
  await page.getByLabel("Text", { exact: true }).fill("only once");
  await post(page);
  const problem = page.locator(".composer").getByRole("alert");
  await problem.getByText("unreachable").waitFor();
  await problem.getByRole("button", { name: "Try again" }).click();
  await problem.getByText("unreachable").waitFor();
  await page.unroute("**/events");
  await problem.getByRole("button", { name: "Try again" }).click();
  await page.locator(".price", { hasText: "The first request had already written the event." }).waitFor();
  await problem.waitFor({ state: "detached" });
  assert.equal((await eventsOf(name)).length, 1);
  await page.getByLabel("Text", { exact: true }).fill("only once");
  await post(page);
  await until("the same text is another event", async () => (await eventsOf(name)).length === 2);
});

test("an event is posted again after a change, and its JSON is checked as one types and formatted", async (t) => {
  const name = await topic();
  await api("POST", `/topics/${name}/events`, { type: "bill.paid", actor: "bob", subject: "bill:1", data: { amount: 12.5, n: [1] } });
  const page = await open(t, `#events?topic=${name}`);
  await entries(page, { name: /bill.paid/ }).click();
  await page.getByRole("button", { name: "Post again…" }).click();
  const form = page.getByRole("form", { name: "Post an event" });
  const json = form.getByLabel(/^Data/);
  for (const [label, value] of [["To topic", name], ["Actor", "bob"], ["Type", "bill.paid"], ["Subject", "bill:1"], ["Text", ""]])
    assert.equal(await form.getByLabel(label, { exact: true }).inputValue(), value, label);
  assert.ok(await json.evaluate((it) => it === document.activeElement && it.rows > 3));

  await json.fill('{"amount":12.50,');
  await form.getByText(/This is not valid JSON/).waitFor();
  assert.equal(await json.getAttribute("aria-invalid"), "true");
  await json.fill('{"amount":12.50,"n":[2]}');
  assert.equal(await json.getAttribute("aria-invalid"), null);
  await form.getByRole("button", { name: "Format" }).click();
  assert.equal(await json.inputValue(), '{\n  "amount": 12.50,\n  "n": [\n    2\n  ]\n}');
  await post(page);
  await until("the event is there", async () => (await eventsOf(name)).length === 2);
  const [again] = await eventsOf(name);
  assert.deepEqual([again.type, again.actor, again.subject, again.data], ["bill.paid", "bob", "bill:1", { amount: 12.5, n: [2] }]);
});
