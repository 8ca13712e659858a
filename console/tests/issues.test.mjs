import assert from "node:assert/strict";
import { test } from "node:test";

import { api, fresh, open, PHONE, until } from "./stage.mjs";

/** A repository with issues. Returns its name and its path. */
async function repository(...issues) {
  const repo = fresh("repo");
  const base = `/repos/octo/${repo}/issues`;
  for (const issue of issues) await api("POST", base, issue);
  return { repo, base };
}

const form = (page) => page.locator(".column");
const choose = (page, title) => page.getByRole("button", { name: title, exact: true }).click();

test("unsaved text is there again after another issue and another panel", async (t) => {
  const { repo } = await repository({ title: "First" }, { title: "Second" });
  const page = await open(t, `#issues?owner=octo&repo=${repo}`);
  await choose(page, "First");
  await form(page).getByLabel("Body").fill("half a sent");
  await choose(page, "Second");
  await page.getByRole("heading", { name: "Issue #2" }).waitFor();
  await page.getByText("not saved").waitFor();
  await choose(page, "First");
  await page.getByRole("heading", { name: "Issue #1" }).waitFor();
  assert.equal(await form(page).getByLabel("Body").inputValue(), "half a sent");
  await page.getByRole("link", { name: "People" }).click();
  await page.getByRole("heading", { level: 1, name: "Follows" }).waitFor();
  await page.goBack();
  await page.getByRole("heading", { name: "Issue #1" }).waitFor();
  assert.equal(await form(page).getByLabel("Body").inputValue(), "half a sent");
  await page.getByRole("button", { name: "Discard changes" }).click();
  await page.getByText("not saved").waitFor({ state: "detached" });
  await until("the form is empty", async () => (await form(page).getByLabel("Body").inputValue()) === "");
});

test("labels of both writers are kept, and a field that both changed is chosen", async (t) => {
  const { repo, base } = await repository({ title: "Old", labels: ["critical", "ui"] });
  const page = await open(t, `#issues?owner=octo&repo=${repo}&issue=1`, { refused: [412] });
  await page.getByRole("heading", { name: "Issue #1" }).waitFor();
  await form(page).getByLabel("Labels").fill("critical, mine");
  await form(page).getByLabel("Title").fill("My title");
  const { etag } = await api("GET", `${base}/1`);
  const theirs = { labels: ["critical", "ui", "seen-by-bob"], title: "Their title" };
  await api("PATCH", `${base}/1`, theirs, { headers: { "If-Match": etag } });
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Somebody else changed this issue").waitFor();
  await page.getByLabel("Keep title").selectOption("current");
  await page.getByRole("button", { name: "Apply my changes to the current version" }).click();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved as revision").waitFor();
  const { data } = await api("GET", `${base}/1?consistent=true`);
  assert.deepEqual([data.title, data.labels], ["Their title", ["critical", "seen-by-bob", "mine"]]);
});

test("an untouched issue is not written, whatever its line ends and labels", async (t) => {
  const issue = { title: "Pasted", body: "one\r\ntwo\r\n", labels: ["a, b", 'say "c"'] };
  const { repo, base } = await repository(issue);
  const page = await open(t, `#issues?owner=octo&repo=${repo}&issue=1`);
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("There are no changes to save.").waitFor();
  await form(page).getByLabel("Labels").press("End");
  await form(page).getByLabel("Labels").pressSequentially(", d");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved as revision").waitFor();
  const { data } = await api("GET", `${base}/1?consistent=true`);
  assert.deepEqual(data.labels, [...issue.labels, "d"]);
  assert.equal(data.body, issue.body);
});

test("all issues can be reached, also while the list is read again", async (t) => {
  const { repo, base } = await repository(...Array.from({ length: 103 }, (_, number) => ({ title: `Number ${number}.` })));
  const page = await open(t, `#issues?owner=octo&repo=${repo}`);
  await page.getByText("100 issues, the newest").waitFor();
  await page.locator(".link").getByText("Live").waitFor();
  let release;
  const released = new Promise((resolve) => (release = resolve));
  await page.route(/issues\?limit=100$/, (route) => released.then(() => route.continue()));
  const again = page.waitForRequest(/issues\?limit=100$/);
  await api("POST", base, { title: "From outside" });
  await again;
  await page.getByRole("button", { name: "Load older" }).click();
  await page.getByText("103 issues in all").waitFor();
  await page.getByRole("button", { name: "Number 0." }).waitFor();
  release();
  await page.getByText("104 issues in all").waitFor();
  await page.getByRole("button", { name: "Number 0." }).waitFor();
});

test("an issue that another tab or client changes is listed anew", async (t) => {
  const { repo, base } = await repository({ title: "Before" });
  const page = await open(t, `#issues?owner=octo&repo=${repo}`);
  await page.getByRole("button", { name: "Before" }).waitFor();
  await page.locator(".link").getByText("Live").waitFor();
  await api("POST", base, { title: "From outside" });
  await page.getByRole("button", { name: "From outside" }).waitFor();
});

test("on a phone a chosen issue opens in sight", async (t) => {
  const { repo } = await repository(...Array.from({ length: 12 }, (_, number) => ({ title: `Number ${number}.` })));
  const page = await open(t, `#issues?owner=octo&repo=${repo}`, { viewport: PHONE });
  await choose(page, "Number 11.");
  const head = page.getByRole("heading", { name: "Issue #12" });
  await head.waitFor();
  const inSight = () => head.evaluate((it) => it.getBoundingClientRect().top < innerHeight);
  await until("the issue is in sight", inSight);
  const below = await page.getByRole("heading", { name: "Open an issue" }).boundingBox();
  assert.ok(below.y > (await head.boundingBox()).y);
});
