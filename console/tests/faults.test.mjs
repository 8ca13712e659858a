import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import { api, fresh, open, post, rows, until } from "./stage.mjs";

afterEach(() => api("DELETE", "/local/faults"));

test("a throttled bucket doubles its shards and loses no event", async (t) => {
  const page = await open(t, "#system", { refused: [503] });
  await page.getByRole("button", { name: "Throttle and watch it heal" }).click();
  const bucket = page.locator(".steps").getByText(/^The bucket \S+ has/);
  const [, day] = /^The bucket (\S+) has/.exec(await bucket.innerText());
  await page
    .locator(".steps")
    .getByText(/the bucket has grown from \d+ to \d+ shards/)
    .first()
    .waitFor();
  await page
    .locator(".steps")
    .getByText(/^Healed: all 200 events were accepted and read back, each once/)
    .waitFor({ timeout: 120_000 });
  await page.getByText("Faults are on:").waitFor({ state: "detached" });
  t.diagnostic((await page.locator(".heal .tiles").innerText()).replace(/\s+/g, " "));

  await page.evaluate(() => (location.hash = "shards?topic=posts"));
  const row = page.getByRole("grid").getByRole("row", { name: new RegExp(day) });
  await row.getByRole("button").nth(1).waitFor();
});

test("each post is in a feed once despite crashes and duplicates", async (t) => {
  const [user, author] = [fresh("reader"), fresh("author")];
  await api("PUT", `/users/${user}/following/actor:${author}`, {});
  const page = await open(t, "#system");
  await page.getByRole("button", { name: "Fill in an example" }).click();
  await page.getByRole("button", { name: "Apply" }).click();
  await page.getByText("fan-out crashes before its work (30 %)").first().waitFor();
  await page.evaluate((name) => (location.hash = `feeds?user=${name}`), user);
  await page.getByText("This feed is empty.").waitFor();
  await page.getByText("Faults are on:").waitFor();
  // The list holds still under the pointer.
  await page.mouse.move(0, 0);
  for (let number = 0; number < 10; number += 1)
    await post("posts", { type: "post.created", actor: author, data: { text: `number ${number}.` } });
  await until("all posts have arrived", async () => (await rows(page)).length === 10);
  await page.getByRole("button", { name: "End all" }).click();
  await page.getByText("Faults are on:").waitFor({ state: "detached" });
  assert.equal(new Set(await rows(page)).size, 10);
});

test("a list waits for a delayed index", async (t) => {
  const repo = fresh("repo");
  const page = await open(t, "#system");
  await page.getByLabel("Seconds").nth(1).fill("2");
  await page.getByRole("button", { name: "Delay", exact: true }).click();
  await page.getByText("indexes are delayed by 2 s").first().waitFor();
  await page.evaluate((name) => (location.hash = `issues?repo=${name}&show=status%3Dopen`), repo);
  await page.getByText("No issue matches.").waitFor();
  await page.getByLabel("Title").fill("Seen late");
  const began = Date.now();
  await page.getByRole("button", { name: "Open issue" }).click();
  await page.getByRole("button", { name: "Seen late" }).waitFor();
  assert.ok(Date.now() - began > 1000, "the list waited for the index");
});

test("values out of range are refused with their paths", async (t) => {
  const page = await open(t, "#system", { refused: [422] });
  const chance = page.getByLabel("Chance, %");
  await chance.fill("300");
  await page.getByRole("button", { name: "Throttle", exact: true }).click();
  assert.equal(await chance.evaluate((it) => it === document.activeElement && it.validity.rangeOverflow), true);
  await chance.evaluate((it) => it.removeAttribute("max"));
  await page.getByRole("button", { name: "Throttle", exact: true }).click();
  await page.locator(".problem", { hasText: "422 invalid-body" }).getByText("/throttles/0/chance").waitFor();
});

test("a batch that fan-out gave up on is kept and can be redriven", async (t) => {
  const [user, author] = [fresh("reader"), fresh("author")];
  await api("PUT", `/users/${user}/following/actor:${author}`, {});
  const page = await open(t, "#system");
  await page.getByRole("region", { name: "The stream's shards" }).waitFor();
  await api("PUT", "/local/faults", { stream: { crash_before: 1 } });
  await post("posts", { type: "post.created", actor: author, data: { text: "given up" } });
  const send = page.getByRole("button", { name: "Redrive" });
  await send.first().waitFor({ timeout: 90_000 });
  const named = page.getByRole("link", { name: new RegExp(`posts · post\\.created · .* by ${author}`) });
  assert.match(await named.first().getAttribute("href"), /topic=posts&event=[0-9a-f-]{36}$/);
  await named.first().click();
  await page.getByRole("button", { name: "Why?" }).click();
  const why = page.getByRole("region", { name: "Why?" });
  await why.getByLabel("In the feed of").fill(user);
  await why.getByRole("button", { name: "Why not?" }).click();
  await why.getByText("Fan-out gave up on the batch of this event.").waitFor();
  await why.getByRole("link", { name: "Redrive it" }).click();
  await send.first().waitFor();
  await api("DELETE", "/local/faults");
  await until("all batches were handled", async () => {
    if (
      await send
        .first()
        .isEnabled()
        .catch(() => false)
    )
      await send
        .first()
        .click()
        .catch(() => {});
    return page.getByText("No failed batches.").isVisible();
  });
  await until("the post is in the feed", async () => (await api("GET", `/feeds/${user}`)).data.events.length === 1);
});

const faults = async () => (await api("GET", "/local/faults")).data;

test("only the faults that the form shows are set, and the form shows what is on", async (t) => {
  const page = await open(t, "#system");
  await page.getByLabel("Paused").check();
  await page.getByRole("button", { name: "Apply" }).click();
  await until("the stream is paused", async () => (await faults()).stream.paused);
  const { stream } = await faults();
  assert.deepEqual(stream, { paused: true, delay_seconds: 0, duplicate: 0, crash_before: 0, crash_after: 0 });
  await page.reload();
  await until("the form shows the pause", () => page.getByLabel("Paused").isChecked());
  await page.getByLabel("Crash before, %").fill("20");
  await page.getByRole("button", { name: "Apply" }).click();
  await page.getByText("fan-out crashes before its work (20 %)").first().waitFor();
  assert.equal((await faults()).stream.paused, true);
  await page.getByRole("button", { name: "End all faults" }).click();
  await until("the form shows that nothing is on", async () => !(await page.getByLabel("Paused").isChecked()));
  assert.equal(await page.getByLabel("Crash before, %").inputValue(), "0");
});

test("a second throttle keeps the first, and an empty chance is refused", async (t) => {
  const page = await open(t, "#system");
  const throttle = async (partition) => {
    await page.getByLabel("Partition", { exact: true }).fill(partition);
    await page.getByRole("button", { name: "Throttle", exact: true }).click();
  };
  await throttle("EVENTS#one");
  await page.locator("#panel").getByText(/throttling EVENTS#one/).waitFor();
  await throttle("EVENTS#two");
  await page.locator("#panel").getByText(/throttling EVENTS#two/).waitFor();
  assert.deepEqual((await faults()).throttles.map((it) => it.partition).sort(), ["EVENTS#one", "EVENTS#two"]);
  await page.getByLabel("Chance, %").fill("");
  await throttle("EVENTS#three");
  assert.equal(await page.getByLabel("Chance, %").evaluate((it) => it.validity.valueMissing), true);
  assert.equal((await faults()).throttles.length, 2);
});

test("a guided fault goes on while another panel is shown", async (t) => {
  const page = await open(t, "#system", { refused: [503] });
  await page.getByRole("button", { name: "Throttle and watch it heal" }).click();
  await page.locator(".steps").getByText(/is throttled for/).waitFor();
  await page.getByRole("link", { name: "Records" }).click();
  await page.getByRole("heading", { level: 1, name: "Issues" }).waitFor();
  await page.getByRole("link", { name: "System", exact: true }).click();
  await page.locator(".steps").getByText(/is throttled for/).waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.locator(".steps").getByText(/^Stopped after \d+ accepted events/).waitFor();
  await until("a run can begin again", () => page.getByRole("button", { name: "Throttle and watch it heal" }).isEnabled());
});
