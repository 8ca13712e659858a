import assert from "node:assert/strict";
import { test } from "node:test";

import { entries, fresh, open, post, topic } from "./stage.mjs";

const panel = (page, name) => page.getByRole("navigation", { name: "Panels" }).getByRole("link", { name });

test("the menu keeps the topic and leads back to what a panel showed", async (t) => {
  const name = await topic();
  await post(name, { type: "note.added", actor: "ada", data: { text: "kept" } });
  const page = await open(t, `#timeline?topic=${name}&type=note.added`);
  await entries(page, { name: /kept/ }).waitFor();
  assert.equal(await page.title(), `${name} · Timeline · Lately`);
  await panel(page, "Feeds").click();
  await page.getByRole("heading", { level: 1, name: "Feeds" }).waitFor();
  assert.equal(await page.title(), "Feeds · Lately");
  await panel(page, "Timeline").click();
  await entries(page, { name: /kept/ }).waitFor();
  assert.match(page.url(), new RegExp(`#timeline\\?topic=${name}&type=note.added`));
  await panel(page, "Storage").click();
  await page.getByRole("heading", { level: 1, name: "Storage" }).waitFor();
  assert.match(page.url(), new RegExp(`#storage\\?topic=${name}$`));
});
