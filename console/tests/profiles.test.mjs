import assert from "node:assert/strict";
import { test } from "node:test";

import { api, fresh, open } from "./stage.mjs";

const editor = (page) => page.getByLabel("JSON object");
const save = (page) => page.getByRole("button", { name: "Save", exact: true }).click();

test("a profile is created, changed and deleted under its revision", async (t) => {
  const user = fresh("user");
  const page = await open(t, `#profile?user=${user}`, { refused: [404] });
  await page.getByText("This record does not exist.").waitFor();
  await editor(page).fill("[1]");
  await page.getByRole("button", { name: "Create", exact: true }).click();
  assert.match(await editor(page).evaluate((it) => it.validationMessage), /JSON object/);
  await editor(page).fill('{"name":"Ada","balance":661.80}');
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await page.getByText("Saved as revision").waitFor();
  const target = `/users/${user}/profile?consistent=true`;
  const first = await api("GET", target);
  assert.equal(first.data.name, "Ada");

  await page.getByRole("button", { name: "Format" }).click();
  assert.match(await editor(page).inputValue(), /"balance": 661\.80/, "numbers keep their digits");
  await editor(page).fill('{"name":"Ada L."}');
  await save(page);
  await page.getByText("This form holds revision").waitFor();
  await page.getByRole("button", { name: "Delete…" }).waitFor();
  assert.deepEqual((await api("GET", target)).data, { name: "Ada L." });
  assert.notEqual((await api("GET", target)).etag, first.etag);

  await page.getByRole("button", { name: "Delete…" }).click();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByText("This record does not exist.").waitFor();
  await assert.rejects(api("GET", target), /404/);
});

test("a change of an application's settings made elsewhere is shown and not overwritten", async (t) => {
  const app = fresh("app");
  const { etag } = await api("PUT", `/settings/${app}`, { theme: "dark", size: 1, old: true });
  const page = await open(t, `#settings?app=${app}`, { refused: [412] });
  await page.getByText("This form holds revision").waitFor();
  await editor(page).fill('{"theme":"light","size":1}');
  await api("PUT", `/settings/${app}`, { theme: "dark", size: 2, old: true, beta: 1 }, { headers: { "If-Match": etag } });
  await save(page);
  await page.getByText("Somebody else changed this record").waitFor();
  const conflict = await page.locator(".conflict").innerText();
  assert.match(conflict, /412 revision-mismatch/);
  assert.match(conflict, /theme\s+"dark"\s+"dark"\s+"light"\s+"light"/);
  assert.match(conflict, /size\s+1\s+2\s+unchanged\s+2/);
  assert.match(conflict, /old\s+true\s+true\s+absent\s+absent/);
  await page.getByRole("button", { name: "Apply my changes to the current version" }).click();
  await save(page);
  await page.getByText("Saved as revision").waitFor();
  assert.deepEqual((await api("GET", `/settings/${app}`)).data, { theme: "light", size: 2, beta: 1 });
});

test("a text that is not saved survives another panel, and can be discarded", async (t) => {
  const app = fresh("app");
  await api("PUT", `/settings/${app}`, { theme: "dark" });
  const page = await open(t, `#settings?app=${app}`);
  await editor(page).fill('{"theme":');
  await page.getByRole("link", { name: "Issues" }).click();
  await page.getByRole("heading", { level: 1, name: "Issues" }).waitFor();
  await page.getByRole("link", { name: "Settings of applications" }).click();
  await editor(page).waitFor();
  assert.equal(await editor(page).inputValue(), '{"theme":');
  await page.getByRole("button", { name: "Discard changes" }).click();
  await page.getByRole("button", { name: "Discard changes" }).waitFor({ state: "hidden" });
  assert.equal(await editor(page).inputValue(), '{"theme":"dark"}');
});
