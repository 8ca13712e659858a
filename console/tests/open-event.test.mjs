import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import { api, entries, open, post, topic, until, url } from "./stage.mjs";

const detail = (page) => page.getByRole("complementary", { name: "The event" });

const note = (text) => ({ type: "note.added", actor: "ada", data: { text } });

test("the open event is in the address, and is found by its id", async (t) => {
  const name = await topic();
  const { events } = await post(name, Array.from({ length: 130 }, (_, at) => note(`number ${at}.`)));
  const page = await open(t, `#events?topic=${name}`, { refused: [404] });
  await entries(page, { name: /number 129\./ }).click();
  await detail(page).getByText(events[129].id).waitFor();
  assert.equal(new URL(page.url()).hash, `#events?topic=${name}&event=${events[129].id}`);
  await page.reload();
  await detail(page).getByText(events[129].id).waitFor();
  await page.locator('.row[aria-selected="true"]', { hasText: "number 129." }).waitFor();
  await page.keyboard.press("Escape");
  assert.equal(new URL(page.url()).hash, `#events?topic=${name}`);

  // This event is not on the page that the list has.
  const find = async (id) => {
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Find" }).fill(id);
    await page.keyboard.press("Enter");
  };
  await find(events[3].id);
  await detail(page).getByText("number 3.").waitFor();
  await page.getByRole("link", { name: "Show stored items" }).click();
  await page.getByRole("heading", { level: 1, name: "Shards" }).waitFor();
  await page.goBack();
  await detail(page).getByText("number 3.").waitFor();

  await page.goto(`${url}/#events?topic=posts`);
  await find(events[3].id);
  await detail(page).getByText("number 3.").waitFor();
  assert.match(page.url(), new RegExp(`topic=${name}&event=`), "the topic is found too");
  await find("019aa0b7-9a40-7000-8000-5f3c9e1d2a77");
  await page.getByText(/None of \d+ topics has this event\./).waitFor();
});

test("an id is looked for as soon as the topics are known, until the dialog is closed", async (t) => {
  const name = await topic();
  const { id } = await post(name, note("found"));
  const page = await open(t, "#system", { refused: [404] });
  const before = page.url();
  const asked = [];
  let answer = null;
  // The list of topics comes late, and so does the event of the first search.
  await page.route(/\/topics\?limit=200/, async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 500));
    await route.fulfill({ json: { topics: [{ topic: name }, { topic: "posts" }] } }).catch(() => {});
  });
  await page.route(/\/topics\/.*\/events\//, async (route) => {
    asked.push(route.request().url());
    if (asked.length === 1) await new Promise((resolve) => (answer = resolve));
    await route.fallback();
  });
  const find = async () => {
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Find" }).fill(id);
    await page.keyboard.press("Enter");
  };
  await find();
  await until("the first topic is asked", () => answer);
  await page.keyboard.press("Escape");
  answer();
  await page.waitForTimeout(500);
  assert.equal(asked.length, 1, "the search has ended");
  assert.equal(page.url(), before);
  await find();
  await detail(page).getByText("found").waitFor();
});

test("j and k go to the next and the previous event", async (t) => {
  const name = await topic();
  await post(name, [note("oldest"), note("middle"), note("newest")]);
  const page = await open(t, `#events?topic=${name}`);
  await entries(page, { name: /newest/ }).click();
  for (const [key, text] of [["j", "middle"], ["j", "oldest"], ["j", "oldest"], ["k", "middle"]]) {
    await page.keyboard.press(key);
    await detail(page).getByText(text).waitFor();
  }
  await page.getByRole("button", { name: "Previous" }).click();
  await detail(page).getByText("newest").waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await detail(page).getByText("middle").waitFor();
  await page.getByRole("listbox").focus();
  await page.keyboard.press("k");
  await detail(page).getByText("newest").waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("role")), "listbox");
});

test("an event and a list can be copied for other programs", async (t) => {
  const name = await topic();
  const { id } = await post(name, { type: "note.added", actor: "ada", data: { text: "it's 1.50", amount: 1.5 } });
  const page = await open(t, `#events?topic=${name}&type=note.added`);
  await page.evaluate(() => {
    navigator.clipboard.writeText = (text) => Promise.resolve((globalThis.copied_ = text));
  });
  const copied = async (label) => {
    const button = page.getByRole("button", { name: label });
    await button.last().click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    await page.getByRole("button", { name: "Copied" }).waitFor({ state: "detached" });
    return page.evaluate(() => globalThis.copied_);
  };
  await entries(page, { name: /it's/ }).click();
  assert.equal(await copied("Copy link"), page.url());
  assert.equal(JSON.parse(await copied("Copy as JSON")).id, id);
  assert.equal(
    await copied("Copy as curl"),
    `curl -s ${url}/topics/${name}/events/${id} -H "Authorization: Bearer dev"`,
  );
  assert.equal(
    await copied("Copy as lately post"),
    `lately post ${name} --type=note.added --actor=ada --data='{"text":"it'\\''s 1.50","amount":1.5}' --url=${url}`,
  );
  await page.keyboard.press("Escape");
  await page.getByText("Copy, save", { exact: true }).click();
  assert.equal(
    await copied("Copy as curl"),
    `curl -s '${url}/topics/${name}/events?type=note.added&limit=100' -H "Authorization: Bearer dev"`,
  );
  assert.equal(await copied("Copy as lately latest"), `lately latest ${name} --type=note.added -n=100 --url=${url}`);
});

test("a list is saved as NDJSON and as CSV", async (t) => {
  const name = await topic();
  await post(name, [{ type: "a", actor: "ada", data: { text: 'a "quote", and\na line' } }, { type: "b", actor: "bob", subject: "s:1" }]);
  const page = await open(t, `#events?topic=${name}`);
  await entries(page, { name: /quote/ }).waitFor();
  await page.getByText("Copy, save", { exact: true }).click();
  const saved = async (label) => {
    const coming = page.waitForEvent("download");
    await page.getByRole("button", { name: label }).click();
    const file = await coming;
    return [file.suggestedFilename(), await readFile(await file.path(), "utf8")];
  };
  const { events } = (await api("GET", `/topics/${name}/events`)).data;
  const [json, lines] = await saved("Save as NDJSON");
  assert.equal(json, `${name}.ndjson`);
  assert.deepEqual(lines.trimEnd().split("\n").map((line) => JSON.parse(line).id), events.map(({ id }) => id));
  const [csv, table] = await saved("Save as CSV");
  assert.equal(csv, `${name}.csv`);
  const [b, a] = events;
  assert.equal(
    table,
    `id,at,topic,type,actor,subject,data\r\n${b.id},${b.at},${name},b,bob,s:1,\r\n${a.id},${a.at},${name},a,ada,,"{""text"":""a \\""quote\\"", and\\na line""}"\r\n`,
  );
});

test("the type, actor and subject of an event lead to their events", async (t) => {
  const name = await topic();
  await post(name, [{ type: "a.seen", actor: "ada", subject: "s:1" }, { type: "b.seen", actor: "bob" }]);
  const page = await open(t, `#events?topic=${name}`);
  await entries(page, { name: /a\.seen/ }).click();
  for (const [text, hash] of [["ada", "#events?source=actor%3Aada"], ["s:1", "#events?source=subject%3As%3A1"]])
    assert.equal(await detail(page).getByRole("link", { name: text, exact: true }).getAttribute("href"), hash);
  await detail(page).getByRole("link", { name: "a.seen" }).click();
  await page.getByText("1 event in all").waitFor();
  assert.equal(await entries(page).count(), 1);
});

test("an event is deleted only after a question, and its detail says when others delete it", async (t) => {
  const name = await topic();
  const { events } = await post(name, [note("first"), note("by keyboard"), note("second")]);
  const page = await open(t, `#events?topic=${name}`, { refused: [404] });
  await entries(page, { name: /second/ }).click();
  await page.getByRole("button", { name: "Delete…" }).click();
  await page.getByText(/Delete this note.added of .*\? This cannot be undone\./).first().waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Delete…" }).click();
  assert.equal((await api("GET", `/topics/${name}/events`)).data.events.length, 3);
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await detail(page).waitFor({ state: "detached" });
  await page.mouse.move(0, 0);
  await entries(page, { name: /second/ }).waitFor({ state: "detached" });
  assert.equal((await api("GET", `/topics/${name}/events`)).data.events.length, 2);

  await page.getByRole("listbox").focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("Enter");
  await detail(page).getByText("by keyboard").waitFor();
  await page.getByRole("button", { name: "Delete…" }).press("Enter");
  await page.getByRole("button", { name: "Delete", exact: true }).press("Enter");
  await entries(page, { name: /by keyboard/ }).waitFor({ state: "detached" });
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("role")), "listbox");

  await entries(page, { name: /first/ }).click();
  await api("DELETE", `/topics/${name}/events/${events[0].id}`);
  await detail(page).getByText("This event was deleted.").waitFor();
  assert.equal(await page.getByRole("button", { name: "Delete…" }).count(), 0);
  await page.mouse.move(0, 0);
  await page.getByRole("button", { name: "Close" }).click();
  await until("the list is empty", async () => (await entries(page).count()) === 0);
});
