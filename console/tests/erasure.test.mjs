import assert from "node:assert/strict";
import { test } from "node:test";

import { api, fresh, open, post, topic, until } from "./stage.mjs";

test("a person is erased after a question, and the progress is shown", async (t) => {
  const name = fresh("gus");
  const log = await topic();
  await post(log, { type: "door.opened", actor: name });
  await api("PUT", `/users/${name}/profile`, { name: "Gus" });
  const page = await open(t, "#erasure", { refused: [422] });
  const card = page.getByRole("region", { name: "Erase a person" });
  await card.getByRole("button", { name: "Erase…" }).click();
  assert.equal(await card.getByLabel("Actor").evaluate((it) => it.validationMessage), "Name an actor, a user, or both.");
  await card.getByLabel("Actor").fill(name);
  await card.getByLabel("User").fill(name);
  await card.getByRole("button", { name: "Erase…" }).click();
  await card.getByText(`Erase the actor ${name} and the user ${name}?`).waitFor();
  await card.getByRole("button", { name: "Cancel" }).click();
  assert.equal(await card.getByLabel("User").inputValue(), name);
  assert.equal((await api("GET", `/users/${name}/profile`)).data.name, "Gus", "nothing is erased yet");

  await card.getByRole("button", { name: "Erase…" }).click();
  await card.getByLabel("Type the name again").fill("somebody");
  await card.getByRole("button", { name: "Erase", exact: true }).click();
  await card.locator("input[aria-invalid]").waitFor();
  await card.getByLabel("Type the name again").fill(name);
  await card.getByRole("button", { name: "Erase", exact: true }).click();
  await card.getByText("The erasure is under way.").waitFor();
  // An erasure begins its search after ten seconds.
  await card.getByText("Everything is erased.").waitFor({ timeout: 60_000 });
  assert.match(await card.innerText(), /profile\s+1/);
  await assert.rejects(api("GET", `/users/${name}/profile`), /404/);
  assert.match(page.url(), /erasure=[0-9a-f-]{36}/);
  assert.ok(!page.url().includes(name), "the address has no name");

  // A page that is opened later shows the erasure, too.
  await page.reload();
  await until("the counts are shown again", async () => /events of the actor\s+1/.test(await card.innerText()));
});

test("the receipt of an erasure is saved with the names", async (t) => {
  const name = fresh("eve");
  await api("PUT", `/users/${name}/profile`, {});
  const page = await open(t, "#erasure");
  const card = page.getByRole("region", { name: "Erase a person" });
  await card.getByLabel("User").fill(name);
  await card.getByRole("button", { name: "Erase…" }).click();
  await card.getByLabel("Type the name again").fill(name);
  await card.getByRole("button", { name: "Erase", exact: true }).click();
  await card.getByText("Everything is erased.").waitFor({ timeout: 60_000 });
  await card.getByText("report files", { exact: true }).waitFor();
  const [download] = await Promise.all([page.waitForEvent("download"), card.getByRole("button", { name: "Save the receipt" }).click()]);
  const chunks = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk);
  const receipt = JSON.parse(Buffer.concat(chunks).toString());
  assert.deepEqual([receipt.user, receipt.state], [name, "done"]);
  assert.match(receipt.ids_sha256, /^[0-9a-f]{64}$/);
  assert.equal(download.suggestedFilename(), `erasure-${receipt.id}.json`);
  await card.getByRole("button", { name: "Erase another" }).click();
  assert.ok(!page.url().includes("erasure="));
});
