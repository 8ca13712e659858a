import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import { api, fresh, open, processed, topic, until } from "./stage.mjs";

test("a save with an old revision shows both versions and loses neither", async (t) => {
  const repo = fresh("repo");
  const page = await open(t, `#issues?owner=octo&repo=${repo}`, { refused: [412] });
  await page.getByRole("button", { name: "Open three example issues" }).click();
  await page.getByRole("button", { name: "The counter runs backwards" }).click();
  const form = page.locator(".column");
  await form.getByLabel("Title").fill("The counter runs sideways");

  await page.getByRole("button", { name: "Simulate another user's change" }).click();
  await page.getByText(/has just changed the labels/).waitFor();
  await page.getByRole("button", { name: "Save" }).click();

  await page.getByText("Somebody else changed this issue").waitFor();
  const conflict = await page.locator(".conflict").innerText();
  assert.match(conflict, /412 revision-mismatch/);
  assert.match(conflict, /The counter runs backwards\s+The counter runs backwards\s+The counter runs sideways/);
  assert.match(conflict, /critical, ui, seen-by-bob\s+unchanged/);

  await page.getByRole("button", { name: "Apply my changes to the current version" }).click();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved as revision").waitFor();
  const { issues } = (await api("GET", `/repos/octo/${repo}/issues`)).data;
  const issue = issues.find((it) => it.number === 1);
  assert.equal(issue.title, "The counter runs sideways");
  assert.deepEqual(issue.labels, ["critical", "ui", "seen-by-bob"]);
});

test("lists by priority and status show a change at once", async (t) => {
  const repo = fresh("repo");
  await api("POST", `/repos/octo/${repo}/issues`, { title: "Burning", labels: ["critical"] });
  await api("POST", `/repos/octo/${repo}/issues`, { title: "Some day", labels: ["enhancement"] });
  const page = await open(t, `#issues?owner=octo&repo=${repo}`);
  await page.getByRole("button", { name: "Some day" }).waitFor();
  await page.getByLabel("Show").selectOption("high priority");
  await page.getByRole("button", { name: "Some day" }).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Burning" }).click();
  await page.locator(".column").getByLabel("Priority").selectOption("low");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("No issue matches.").waitFor();
});

test("a consumer gets the same batch until it commits it", async (t) => {
  const name = await topic();
  await api(
    "POST",
    `/topics/${name}/events`,
    [1, 2, 3].map((number) => ({ type: "note.added", actor: "ada", data: { number } })),
  );
  await processed();
  const page = await open(t, `#consumers?topic=${name}`);
  await page.getByLabel("Name", { exact: true }).fill("printer");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByRole("heading", { name: `${name} / printer` }).waitFor();
  await api("PUT", `/topics/${name}/consumers/printer`, { settle_seconds: 0 });
  await page.getByLabel("Limit").fill("2");
  await until("there is a batch", async () => {
    await page.getByRole("button", { name: "Poll" }).click();
    await page.getByText(/\d events?.*read units?/).waitFor();
    return page.getByText(/^2 events/).isVisible();
  });
  await page.getByText('{"number":1}').waitFor();
  const batch = async () => {
    const answered = page.waitForResponse((response) => response.url().endsWith("/poll"));
    await page.getByRole("button", { name: "Poll" }).click();
    return (await (await answered).json()).batch;
  };
  const first = await batch();
  assert.ok(first);
  assert.equal(await batch(), first);
  await page.getByText('{"number":1}').waitFor();
  await page.getByRole("button", { name: "Commit" }).click();
  await page.getByRole("button", { name: "Commit" }).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Poll" }).click();
  await page.getByText('{"number":3}').waitFor();
});

test("a report's runs are listed with their files", async (t) => {
  const page = await open(t, "#consumers");
  await page.getByRole("heading", { name: "billing / report" }).waitFor();
  await page
    .getByRole("button", { name: /^summary of the run/ })
    .first()
    .click();
  await page.getByLabel("The file").waitFor();
  assert.match(await page.getByLabel("The file").innerText(), /"events": \d+/);
  await page
    .getByRole("button", { name: /^events of the run/ })
    .last()
    .click();
  await page.getByText(/the first 12 of [\d,]+ lines/).waitFor();
  assert.match(await page.getByLabel("The file").innerText(), /^{"id":"/);
  const coming = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save the file" }).click();
  const file = await coming;
  assert.match(file.suggestedFilename(), /\.ndjson$/);
  const lines = (await readFile(await file.path(), "utf8")).trimEnd().split("\n");
  assert.ok(lines.length > 12 && lines.every((line) => JSON.parse(line).id), `${lines.length} lines`);
});
