import assert from "node:assert/strict";
import { test } from "node:test";

import { api, axeSource, DESKTOP, entries, open, PHONE } from "./stage.mjs";

const PANELS = ["timeline", "feeds", "sources", "issues", "consumers", "storage", "stream", "faults"];
const OPTIONS = {
  runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
  resultTypes: ["violations"],
  // axe takes the panels' links for skip links, because a narrow screen scrolls them.
  rules: { "skip-link": { enabled: false } },
};

/** Fails for violations that axe calls serious or critical, and prints the others. */
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
  const grave = told.filter((_, at) => ["serious", "critical"].includes(violations[at].impact));
  told.filter((text) => !grave.includes(text)).forEach((text) => t.diagnostic(text));
  assert.deepEqual(grave, []);
}

async function settled(page, name) {
  const signs = {
    timeline: entries(page).first(),
    feeds: entries(page).first(),
    sources: page.getByText(/\d+ followers?\./),
    issues: page.getByText(/\d+ issues/),
    consumers: page.getByRole("heading", { name: "billing / report" }),
    storage: page.getByRole("region", { name: "DynamoDB calls" }),
    stream: page.getByRole("region", { name: "The stream's shards" }),
    faults: page.getByRole("heading", { name: "Active faults" }),
  };
  await signs[name].waitFor();
}

for (const [size, viewport] of [
  ["desktop", DESKTOP],
  ["phone", PHONE],
]) {
  for (const colorScheme of ["light", "dark"]) {
    test(`every panel is accessible: ${size}, ${colorScheme}`, async (t) => {
      const page = await open(t, "", { viewport, colorScheme });
      for (const name of PANELS) {
        await page.evaluate((hash) => (location.hash = hash), name);
        await settled(page, name);
        await check(t, page, name);
        const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(wider <= 0, `${name} is ${wider} px wider than the screen`);
      }
      await page.evaluate(() => (location.hash = "timeline"));
      await entries(page).first().click();
      await page.getByRole("complementary", { name: "The event" }).waitFor();
      await check(t, page, "an open event");
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Connect…" }).click();
      await check(t, page, "the connection's dialog");
    });
  }
}

test("a problem and a banner are accessible", async (t) => {
  t.after(() => api("DELETE", "/local/faults"));
  for (const colorScheme of ["light", "dark"]) {
    const page = await open(t, "#faults", { colorScheme, refused: [422] });
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
  const page = await open(t, "#feeds");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "main");
  await page.getByRole("heading", { level: 1, name: "Feeds" }).waitFor();
});
