import assert from "node:assert/strict";
import { test } from "node:test";

import { api, open, post, processed, topic, until } from "./stage.mjs";

/** A topic with three events and consumers of these names, which give a batch at once. */
async function topicWith(...names) {
  const name = await topic();
  await post(
    name,
    [1, 2, 3].map((number) => ({ type: "note.added", actor: "ada", data: { number } })),
  );
  await processed();
  for (const consumer of names)
    await api("PUT", `/topics/${name}/consumers/${consumer}`, { start: "earliest", settle_seconds: 0 });
  return name;
}

const heading = (page, text) => page.getByRole("heading", { level: 2, name: text });

test("a consumer that does not exist replaces the one before it, so nothing acts on the wrong one", async (t) => {
  const name = await topicWith("one");
  const page = await open(t, `#consumers?topic=${name}&name=one`, { refused: [404] });
  await page.getByRole("button", { name: "Poll" }).waitFor();
  await page.getByLabel("Name", { exact: true }).fill("no-such");
  await page.getByRole("button", { name: "Open", exact: true }).click();
  await heading(page, `${name} / no-such`).waitFor();
  await page.locator(".problem").getByText("404").waitFor();
  assert.equal(await page.getByRole("button", { name: "Poll" }).count(), 0);
  assert.equal(await heading(page, `${name} / one`).count(), 0);
});

test("a slow poll's batch is not shown under another consumer", async (t) => {
  const name = await topicWith("one", "two");
  const page = await open(t, `#consumers?topic=${name}&name=one`);
  let answer = null;
  const held = new Promise((resolve) => (answer = resolve));
  let polls = 0;
  await page.route("**/one/poll", async (route) => {
    polls += 1;
    const response = await route.fetch();
    await held;
    await route.fulfill({ response }).catch(() => {});
  });
  await page.getByRole("button", { name: "Poll" }).click();
  await until("the poll is under way", () => polls === 1);
  await page.getByRole("button", { name: `${name} / two` }).click();
  await heading(page, `${name} / two`).waitFor();
  await page.getByRole("button", { name: "Poll" }).waitFor();
  answer();
  await page.waitForTimeout(500);
  assert.equal(await page.getByRole("button", { name: "Commit" }).count(), 0);
  assert.match(page.url(), new RegExp(`topic=${name}&name=two`), "the address names the consumer");
});

test("an empty name is refused before it is sent", async (t) => {
  const page = await open(t, "#consumers");
  await page.getByLabel("Name", { exact: true }).fill("");
  const sent = [];
  page.on("request", (request) => request.method() !== "GET" && sent.push(request.url()));
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByRole("button", { name: "Open", exact: true }).click();
  assert.equal(await page.evaluate(() => document.activeElement.validity.valueMissing), true);
  assert.deepEqual(sent, []);
});

test("the lag of a consumer changes without a click", async (t) => {
  const name = await topicWith("one");
  const page = await open(t, `#consumers?topic=${name}&name=one`);
  await page.getByText("at the beginning").waitFor();
  const { data } = await api("POST", `/topics/${name}/consumers/one/poll`, {});
  await api("POST", `/topics/${name}/consumers/one/commit`, { batch: data.batch });
  await page.getByText("at the beginning").waitFor({ state: "detached" });
});

test("a consumer seeks to a time, and is deleted after a question", async (t) => {
  const name = await topicWith("one");
  const page = await open(t, `#consumers?topic=${name}&name=one`);
  await page.getByRole("button", { name: "Seek…" }).click();
  await page.getByLabel("Continue at").fill("latest");
  await page.getByRole("button", { name: "Seek", exact: true }).click();
  await page.getByText("at the beginning").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Delete consumer…" }).click();
  await page.locator("p", { hasText: `Delete one of ${name}?` }).waitFor();
  assert.ok((await api("GET", `/topics/${name}/consumers/one`)).data, "nothing is deleted yet");
  await page.getByRole("button", { name: "Delete consumer", exact: true }).click();
  await page.getByText("No consumer is selected.").waitFor();
  await assert.rejects(api("GET", `/topics/${name}/consumers/one`), /404/);
  await page.getByRole("button", { name: `${name} / one` }).waitFor({ state: "detached" });
});

test("the lag and the late events of a consumer are drawn over time", async (t) => {
  const name = await topicWith("one");
  const { data } = await api("POST", `/topics/${name}/consumers/one/poll`, {});
  await api("POST", `/topics/${name}/consumers/one/commit`, { batch: data.batch });
  const page = await open(t, `#consumers?topic=${name}&name=one`);
  const tile = (title) => page.locator(".tile", { hasText: title });
  await tile("Late events").getByText("0", { exact: true }).waitFor();
  const at = new Date(Date.now() - 3_600_000).toISOString();
  await post(name, { type: "note.added", actor: "ada", at, data: { text: "landed late" } });
  await tile("Late events").getByText("1", { exact: true }).waitFor();
  await page.getByText("Late events arrived behind the position.").waitFor();
  for (const title of ["Lag", "Late events"]) {
    const line = await tile(title).locator(".chart-line").getAttribute("d");
    assert.ok(line.split("L").length >= 2, `${title} has a point for each read: ${line}`);
  }
  await page.getByRole("button", { name: "Poll" }).click();
  await page.getByRole("row", { name: /landed late.*late/ }).waitFor();
});

test("the settle time of a consumer is changed, within its limits", async (t) => {
  const name = await topicWith("one");
  const page = await open(t, `#consumers?topic=${name}&name=one`);
  await page.getByRole("button", { name: "Settle time…" }).click();
  const time = page.getByLabel("Settle time, seconds");
  await time.fill("3601");
  await page.getByRole("button", { name: "Save" }).click();
  assert.equal(await time.evaluate((it) => it.validity.rangeOverflow), true);
  await time.fill("30");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("30 s", { exact: true }).waitFor();
  assert.equal((await api("GET", `/topics/${name}/consumers/one`)).data.settle_seconds, 30);
});
