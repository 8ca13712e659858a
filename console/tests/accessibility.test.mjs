import assert from "node:assert/strict";
import { test } from "node:test";

import { api, axeSource, DESKTOP, entries, open, PHONE, post, topic } from "./stage.mjs";

const PANELS = [
  ...["events", "events?feed=bob", "events?source=actor%3Aada", "topics", "consumers", "shards", "follows", "profile?user=ada", "sessions"],
  ...["erasure", "system", "requests", "issues", "settings"],
];
const OPTIONS = {
  runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
  resultTypes: ["violations"],
  // axe takes the panels' links for skip links, because a narrow screen scrolls them.
  rules: { "skip-link": { enabled: false } },
};

/** Fails for violations that axe calls more than minor, and prints the others. */
async function check(t, page, where) {
  // The script comes through the debugger, so the page's policy does not apply to it.
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axeSource);
  const { violations } = await page.evaluate((options) => globalThis.axe.run(document, options), OPTIONS);
  const told = violations.map(
    ({ id, impact, nodes }) =>
      `${where}: ${impact} ${id}: ${nodes
        .map((node) => `${node.html.slice(0, 120)} ${node.failureSummary}`)
        .slice(0, 3)
        .join(" | ")}`,
  );
  const grave = told.filter((_, at) => violations[at].impact !== "minor");
  told.filter((text) => !grave.includes(text)).forEach((text) => t.diagnostic(text));
  assert.deepEqual(grave, []);
}

async function settled(page, name) {
  const signs = {
    events: entries(page).first(),
    follows: page.getByText(/\d+ followers?\./),
    profile: page.getByLabel("JSON object"),
    erasure: page.getByRole("heading", { name: "Erase a person" }),
    issues: page.getByText(/\d+ issues/),
    settings: page.getByText("No record is selected."),
    topics: page.getByRole("region", { name: "Topics, by name" }),
    consumers: page.getByRole("heading", { name: "billing / report" }),
    sessions: page.getByRole("heading", { name: "All sessions" }),
    shards: page.getByRole("region", { name: "DynamoDB calls" }),
    system: page.getByRole("region", { name: "The stream's shards" }),
    requests: page.getByRole("region", { name: "Log of requests" }),
  };
  await signs[name.split("?")[0]].waitFor();
}

for (const [size, viewport] of [
  ["desktop", DESKTOP],
  ["phone", PHONE],
]) {
  for (const colorScheme of ["light", "dark"]) {
    test(`every panel is accessible: ${size}, ${colorScheme}`, async (t) => {
      const page = await open(t, "", { viewport, colorScheme, refused: [404] });
      for (const name of PANELS) {
        await page.evaluate((hash) => (location.hash = hash), name);
        await settled(page, name);
        await check(t, page, name);
        const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(wider <= 0, `${name} is ${wider} px wider than the screen`);
      }
      await page.evaluate(() => (location.hash = "events"));
      await entries(page).first().click();
      await page.getByRole("complementary", { name: "The event" }).waitFor();
      await check(t, page, "an open event");
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: /last read/ }).click();
      await page.getByRole("region", { name: "DynamoDB calls" }).waitFor();
      await check(t, page, "a traced price");
      await page.keyboard.press("Control+k");
      await page.getByRole("option", { name: "People: Erasure" }).waitFor();
      await check(t, page, "the way by name");
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Connect…" }).click();
      await check(t, page, "the connection's dialog");
    });
  }
}

test("an open topic, a record and a new token are accessible", async (t) => {
  for (const viewport of [DESKTOP, PHONE]) {
    const page = await open(t, "#topics?topic=posts", { viewport, colorScheme: "dark", refused: [404, 422] });
    const narrow = async () => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);
    const save = page.getByRole("button", { name: "Save settings" });
    // Before the topic is read, the only form is the one that creates a topic.
    await save.waitFor();
    await page.getByLabel("Least shards").first().selectOption("256");
    await save.click();
    await page.getByText("422 invalid-topic").waitFor();
    await check(t, page, "a topic");
    assert.ok(await narrow());
    await page.evaluate(() => (location.hash = "profile?user=nobody"));
    await page.getByText("This record does not exist.").waitFor();
    await check(t, page, "a record");
    await page.evaluate(() => (location.hash = "sessions"));
    await page.getByRole("button", { name: "Create session" }).click();
    await page.getByText("Copy the token now").waitFor();
    await page.getByRole("button", { name: "Revoke…" }).first().click();
    await check(t, page, "a token");
    assert.ok(await narrow());
  }
});

test("a timeline with a range, a filter and columns is accessible", async (t) => {
  for (const [viewport, colorScheme] of [[DESKTOP, "light"], [PHONE, "dark"]]) {
    const page = await open(t, "#events?last=7d&where=post&columns=time,type,data.text", { viewport, colorScheme });
    await entries(page).first().waitFor();
    await page.locator(".histogram .mark").first().click();
    await page.getByRole("slider").focus();
    // The head of a narrow page covers what is scrolled below it.
    await page.evaluate(() => scrollTo(0, 0));
    await check(t, page, "a timeline");
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  }
});

test("spreads and slices are accessible", async (t) => {
  const [from, to] = ["2026-11-20T10:00:00.000Z", "2026-11-20T10:01:00.000Z"];
  const spreads = [2, 256].map((shards) => ({ from, to, shards }));
  const bucket = { label: "2026-11-20", base: 1, shards: 256, spreads, counts: Array(256).fill(1) };
  for (const [viewport, colorScheme] of [[DESKTOP, "light"], [PHONE, "dark"]]) {
    const page = await open(t, "#system", { viewport, colorScheme });
    await page.route("**/local/storage/topics/posts", (route) => route.fulfill({ json: { bucket: "day", buckets: [bucket] } }));
    await page.evaluate(() => (location.hash = "shards"));
    await page.getByText("Spreads of 2026-11-20", { exact: true }).first().click();
    await page.evaluate(() => scrollTo(0, 0));
    await check(t, page, "spreads");
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  }
});

test("a screen reader finds the panels, the form, the list with its rows, and the open event", async (t) => {
  const name = await topic();
  await post(name, [
    { type: "note.added", actor: "ada", data: { text: "first" } },
    { type: "note.added", actor: "bob", subject: "s:1", data: { text: "second" } },
  ]);
  const page = await open(t, `#events?topic=${name}`);
  await entries(page, { name: /first/ }).click();
  await page.getByRole("complementary", { name: "The event" }).getByText("first").waitFor();
  await page.getByRole("button", { name: "Post…" }).click();
  const tree = await page.locator("body").ariaSnapshot();
  const parts = [
    /- navigation "Panels":\n\s+- link "Events"/,
    /- main:\n\s+- heading "Events" \[level=1\]/,
    /- form "Filters":/,
    /- form "Post an event":/,
    /- textbox "Text"/,
    new RegExp(`- listbox "Events of ${name}":\\n\\s+- option ".* note.added bob → s:1 second"\\n\\s+- option ".* note.added ada first" \\[selected\\]`),
    /- complementary "The event":\n\s+- heading "Event" \[level=2\]/,
    /- term: actor\n\s+- definition:\n\s+- link "ada"/,
  ];
  let rest = tree;
  for (const part of parts) {
    const found = rest.match(part);
    assert.ok(found, `${part} is not in its place in\n${tree}`);
    rest = rest.slice(found.index);
  }
});

test("a problem and a banner are accessible", async (t) => {
  t.after(() => api("DELETE", "/local/faults"));
  for (const colorScheme of ["light", "dark"]) {
    const page = await open(t, "#system", { colorScheme, refused: [422] });
    await page.getByLabel("Chance, %").evaluate((it) => it.removeAttribute("max"));
    await page.getByLabel("Chance, %").fill("300");
    await page.getByRole("button", { name: "Throttle", exact: true }).click();
    await page.locator(".problem").waitFor();
    await api("PUT", "/local/faults", { index_delay_seconds: 1 });
    await page.getByText("Faults are on:").waitFor();
    await check(t, page, `${colorScheme}: faults`);
    await api("DELETE", "/local/faults");
    await page.getByText("Faults are on:").waitFor({ state: "detached" });
  }
});

test("the theme follows the system until the user chooses one", async (t) => {
  const page = await open(t, "", { colorScheme: "dark" });
  const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
  assert.equal(await theme(), "dark");
  await page.getByRole("button", { name: "Light theme" }).click();
  assert.equal(await theme(), "light");
  await page.reload();
  assert.equal(await theme(), "light");
});

test("the skip link leads to the content of the same panel", async (t) => {
  const page = await open(t, "#follows");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "main");
  await page.getByRole("heading", { level: 1, name: "Follows" }).waitFor();
});
