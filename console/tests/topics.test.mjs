import assert from "node:assert/strict";
import { test } from "node:test";

import { elsewhere } from "./proxy.mjs";
import { api, fresh, open, post, topic, until } from "./stage.mjs";

const card = (page, name) => page.getByRole("region", { name, exact: true });

test("the list has every topic with its settings, also beyond the first page", async (t) => {
  // The names sort last, so the other tests' lists of topics have their own on the first page.
  const prefix = fresh("zz-many");
  const names = Array.from({ length: 210 }, (_, number) => `${prefix}-${String(number).padStart(3, "0")}`);
  await Promise.all(names.map((name) => api("PUT", `/topics/${name}`, { bucket: "hour", retention_days: 30, fan_out: false })));
  const page = await open(t, "#topics");
  await page.getByLabel("Filter by name").fill(prefix);
  await page.getByText(/^210 topics of/).waitFor();
  await page.getByLabel("Filter by name").fill(names.at(-1));
  const row = page.getByRole("row", { name: names.at(-1) });
  await row.waitFor();
  assert.equal((await row.innerText()).replace(/\s+/g, " "), `${names.at(-1)} actor, subject no hour 1 to 64 30 days`);
});

test("a topic's overview has its newest event, its rate, its shards and the price of a page", async (t) => {
  const name = await topic({ min_shards: 4 });
  await post(name, Array.from({ length: 60 }, () => ({ type: "door.opened", actor: "ada", data: {} })));
  const page = await open(t, "#topics");
  await page.getByLabel("Filter by name").fill(name);
  await page.getByRole("button", { name, exact: true }).click();
  const overview = card(page, name);
  await overview.getByRole("link", { name: "door.opened" }).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.textContent), name, "the focus is at the overview");
  const text = await overview.innerText();
  assert.match(text, /4 in the bucket \d{4}-/);
  assert.match(text, /a page of 50\s+[\d.]+ read units/);
  assert.match(text, /[\d,.]+ a second, in the last/);
  assert.doesNotMatch(text, /\s0 a second/);
  assert.match(page.url(), new RegExp(`#topics\\?topic=${name}$`));

  await post(name, { type: "door.closed", actor: "ada" });
  await overview.getByRole("link", { name: "door.closed" }).waitFor();
  for (const panel of ["Events", "Shards", "Consumers"])
    assert.match(await overview.getByRole("link", { name: panel }).getAttribute("href"), new RegExp(`topic=${name}$`));
});

test("a topic is created, and a name that exists is refused at its field", async (t) => {
  const name = fresh("topic");
  const page = await open(t, "#topics");
  await page.getByRole("button", { name: "posts", exact: true }).waitFor();
  const form = card(page, "Create a topic");
  await form.getByLabel("Name").fill("posts");
  await form.getByRole("button", { name: "Create topic" }).click();
  assert.match(await form.getByLabel("Name").evaluate((it) => it.validationMessage), /^This topic exists/);
  await form.getByLabel("Name").fill("a topic");
  assert.equal(await form.getByLabel("Name").evaluate((it) => it.validity.patternMismatch), true);
  await form.getByLabel("Name").fill(name);
  await form.getByLabel("Bucket").selectOption("hour");
  await form.getByLabel("Retention, days").fill("7");
  await form.getByLabel("type", { exact: true }).check();
  await form.getByRole("button", { name: "Create topic" }).click();
  await page.getByRole("heading", { level: 2, name, exact: true }).waitFor();
  await page.getByRole("button", { name, exact: true }).waitFor();
  const { bucket, retention_days: days, views, max_shards: most } = (await api("GET", `/topics/${name}`)).data;
  assert.deepEqual([bucket, days, views, most], ["hour", 7, ["actor", "subject", "type"], 64]);
});

test("settings are changed, and a refused one says why at its field", async (t) => {
  const name = await topic({ retention_days: 30 });
  const page = await open(t, `#topics?topic=${name}`, { refused: [422] });
  const form = card(page, "Settings");
  const bodies = [];
  page.on("request", (request) => request.method() === "PUT" && bodies.push(request.postDataJSON()));
  await form.getByRole("button", { name: "Save settings" }).click();
  await form.getByText("There are no changes to save.").waitFor();
  assert.equal(await form.getByLabel("Bucket").isDisabled(), true);

  await form.getByLabel("Least shards").selectOption("128");
  await form.getByLabel("subject", { exact: true }).uncheck();
  await form.getByRole("button", { name: "Save settings" }).click();
  await form.getByText("422 invalid-topic").waitFor();
  const least = form.getByLabel("Least shards");
  assert.equal(await least.getAttribute("aria-invalid"), "true");
  const fault = await least.evaluate((it) => document.getElementById(it.getAttribute("aria-describedby")).textContent);
  assert.equal(fault, "must not be more than max_shards");
  assert.match(await form.getByRole("group", { name: "Views" }).innerText(), /must include actor and subject/);

  await form.getByLabel("Least shards").selectOption("2");
  assert.equal(await form.getByLabel("Least shards").getAttribute("aria-invalid"), null, "a change removes the mark");
  await form.getByLabel("to feeds").uncheck();
  await form.getByLabel("Retention, days").fill("");
  await form.getByRole("button", { name: "Save settings" }).click();
  await form.getByText("Saved.").waitFor();
  assert.deepEqual(bodies.at(-1), { min_shards: 2, retention_days: null, fan_out: false, views: ["actor"] }, "only changes are sent");
  await page.getByLabel("Filter by name").fill(name);
  await until("the list has the new settings", async () =>
    /actor\s+no\s+day\s+2 to 64\s+for ever/.test(await page.getByRole("row", { name }).innerText()),
  );
});

test("an unknown topic and a token without the scope are problems, on another API too", async (t) => {
  const origin = await elsewhere(t);
  const page = await open(t, "#topics?topic=no-such", { origins: [origin], refused: [403, 404], expected: [/ERR_CONNECTION/] });
  await page.getByText("404 topic-not-found").waitFor();
  await page.getByRole("button", { name: "Connect…" }).click();
  await page.getByLabel("URL", { exact: true }).fill(origin);
  await page.getByLabel("Token").fill("ada");
  await page.getByRole("button", { name: "Connect", exact: true }).click();
  await page.getByText("Connected").waitFor();
  await page.getByRole("button", { name: "posts", exact: true }).click();
  const form = card(page, "Settings");
  assert.equal(await card(page, "posts").getByRole("link", { name: "Shards" }).count(), 0);
  await form.getByLabel("Retention, days").fill("9");
  await form.getByRole("button", { name: "Save settings" }).click();
  await form.getByText("403 forbidden").waitFor();
});

test("a topic is deleted after its name is entered, and its progress is shown", async (t) => {
  const name = await topic();
  await post(name, Array.from({ length: 3 }, () => ({ type: "door.opened", actor: "ada" })));
  const page = await open(t, `#topics?topic=${name}`, { refused: [404] });
  const deletion = card(page, "Delete this topic");
  await deletion.getByRole("button", { name: "Delete…" }).click();
  await until("the preview has the buckets", async () => /buckets\s+1, with 1 shard\s/.test(await deletion.innerText()));
  await deletion.getByRole("button", { name: "Cancel" }).click();
  await deletion.getByRole("button", { name: "Delete…" }).click();
  const confirm = deletion.getByLabel("Name of the topic");
  await confirm.fill("posts");
  await deletion.getByRole("button", { name: "Delete topic" }).click();
  assert.equal(await confirm.evaluate((it) => it.validationMessage), "Enter the name of this topic.");
  assert.equal((await api("GET", `/topics/${name}`)).data.topic, name, "nothing is deleted yet");

  await page.getByLabel("Filter by name").fill(name);
  await page.getByText("1 topic of").waitFor();
  await confirm.fill(name);
  await deletion.getByRole("button", { name: "Delete topic" }).click();
  await deletion.getByText("The topic is being deleted.").waitFor();
  await page.getByText("0 topics of").waitFor();
  await until("the events are deleted", async () => /deleted events\s+3\s+deleted buckets\s+1/.test(await deletion.innerText()));
  assert.equal(await card(page, "Settings").count(), 0);

  // A page that is opened later shows the progress, too.
  const later = await open(t, `#topics?topic=${name}`, { refused: [404] });
  await card(later, "Delete this topic").getByText("The topic is being deleted.").waitFor();
  await until("the events are shown", async () => /deleted events\s+3/.test(await card(later, "Delete this topic").innerText()));
});
