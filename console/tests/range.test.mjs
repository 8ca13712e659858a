import assert from "node:assert/strict";
import { test } from "node:test";

import { entries, open, post, rows, topic, until } from "./stage.mjs";

const MINUTE = 60_000;

const ago = (minutes) => new Date(Date.now() - minutes * MINUTE).toISOString();

/** A topic with events of so many minutes ago, each with its age as text. */
async function aged(...ages) {
  const name = await topic();
  const events = ages.map((age) => ({ type: "note.added", actor: "ada", at: ago(age), data: { text: `${age} minutes old.` } }));
  return { name, events: (await post(name, events)).events };
}

const refine = (page) => page.getByText("Range, filter, columns").click();
const tally = (page, text) => page.locator(".status").first().getByText(text).waitFor();
const track = (page) => page.getByRole("slider", { name: /^Range of time/ });
const parameters = (page) => new URLSearchParams(new URL(page.url()).hash.split("?")[1]);

test("presets show the last hour, day or all, and are in the address", async (t) => {
  const { name } = await aged(3 * 1440, 300, 30, 1);
  const page = await open(t, `#events?topic=${name}`);
  await tally(page, "4 events in all");
  for (const [preset, last, size] of [
    ["Hour", "1h", "2 events in all"],
    ["15 min", "15m", "1 event in all"],
    ["7 days", "7d", "4 events in all"],
    ["Day", "1d", "3 events in all"],
  ]) {
    await page.getByRole("link", { name: preset, exact: true }).click();
    await tally(page, size);
    assert.equal(parameters(page).get("last"), last);
    assert.equal(await page.locator('nav[aria-label="Time range"] [aria-current]').innerText(), preset);
  }
  await page.reload();
  await tally(page, "3 events in all");
  const text = "landed in the range";
  await post(name, { type: "note.added", actor: "bob", data: { text } });
  await entries(page, { name: text }).waitFor();
  await post(name, { type: "note.added", actor: "bob", at: ago(2000), data: { text: "landed before the range" } });
  await post(name, { type: "note.added", actor: "bob", data: { text: "landed last" } });
  await entries(page, { name: "landed last" }).waitFor();
  await tally(page, "5 events in all");
  await page.getByRole("link", { name: "All", exact: true }).click();
  await tally(page, "7 events in all");
});

test("yesterday is a day of the chosen zone", async (t) => {
  const name = await topic();
  const midnight = Math.floor(Date.now() / 86_400_000) * 86_400_000;
  const at = (hours) => new Date(midnight + hours * 3_600_000).toISOString();
  await post(name, [-25, -23, -1].map((hours) => ({ type: "note.added", actor: "ada", at: at(hours), data: { text: `${hours} h` } })));
  const page = await open(t, `#events?topic=${name}`, { timezoneId: "Etc/GMT-2" });
  await tally(page, "3 events in all");
  await page.getByRole("link", { name: "Yesterday" }).click();
  await tally(page, "2 events in all");
  await refine(page);
  await page.getByLabel("Times in").selectOption("local");
  await page.getByRole("link", { name: "Yesterday" }).click();
  await until("the day of the zone", async () => (await rows(page)).some((row) => row.includes("-25 h")) === new Date().getUTCHours() < 22);
});

test("yesterday is a whole day also when the clocks change", async (t) => {
  const page = await open(t, "", { timezoneId: "Europe/Berlin", isPlain: true });
  const yesterday = (now) =>
    page.evaluate(async (at) => {
      localStorage.setItem("lately.zone", "local");
      const { rangeOf } = await import("/console/range.js");
      return rangeOf(new URLSearchParams("last=yesterday"), Date.parse(at));
    }, now);
  for (const [now, from, to] of [
    ["2026-10-25T22:30:00Z", "2026-10-23T22:00:00Z", "2026-10-24T22:00:00Z"],
    ["2026-10-26T22:30:00Z", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"],
    ["2026-03-29T22:30:00Z", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"],
  ])
    assert.deepEqual(await yesterday(now), { from, to }, now);
});

test("from and before choose a range, and a reversed range is refused", async (t) => {
  const { name } = await aged(300, 200, 100);
  const page = await open(t, `#events?topic=${name}`);
  await tally(page, "3 events in all");
  await refine(page);
  const [from, before] = [page.getByLabel("From (UTC)"), page.getByLabel("Before (UTC)")];
  await from.fill(ago(250).slice(0, 19));
  await before.fill(ago(290).slice(0, 19));
  await page.getByRole("button", { name: "Set range" }).click();
  assert.equal(await before.getAttribute("aria-invalid"), "true");
  await before.fill(ago(150).slice(0, 19));
  await page.getByRole("button", { name: "Set range" }).click();
  await tally(page, "1 event in all");
  assert.match((await rows(page))[0], /200 minutes old/);
  assert.match(parameters(page).get("from"), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  await page.getByRole("button", { name: "Back to now" }).click();
  await tally(page, "2 events in all");
});

test("times are shown in UTC or in the browser's zone, and the choice is kept", async (t) => {
  const name = await topic();
  const at = "2026-07-01T23:30:15.500Z";
  await post(name, { type: "note.added", actor: "ada", at, data: { text: "at night" } });
  const page = await open(t, `#events?topic=${name}&from=2026-07-01T23:30:00Z`, { timezoneId: "Europe/Berlin" });
  await entries(page, { name: /07-01 23:30:15/ }).waitFor();
  await refine(page);
  assert.equal(await page.getByLabel("From (UTC)").inputValue(), "2026-07-01T23:30");
  await page.getByLabel("Times in").selectOption("local");
  await entries(page, { name: /07-02 01:30:15/ }).waitFor();
  assert.equal(await page.getByLabel("From (local)").inputValue(), "2026-07-02T01:30");
  await page.getByLabel("From (local)").fill("2026-07-02T01:31");
  await page.getByRole("button", { name: "Set range" }).click();
  await page.getByText("No events here.").waitFor();
  assert.equal(parameters(page).get("from"), "2026-07-01T23:31:00Z");
  await page.reload();
  assert.equal(await page.getByLabel("From (local)").inputValue(), "2026-07-02T01:31");
});

test("a click and a drag on the histogram choose a range", async (t) => {
  const { name } = await aged(50, 30, 10);
  const page = await open(t, `#events?topic=${name}&last=1h`);
  await page.locator(".histogram").getByText(/^20\d\d-.* to 20\d\d-.*, 5 min a bar: the 3 events in the list\. Click/).waitFor();
  const { x, y, width, height } = await track(page).boundingBox();
  const middle = y + height / 2;
  await page.mouse.move(x + width * 0.02, middle);
  await page.mouse.down();
  await page.mouse.move(x + width * 0.3, middle);
  await page.mouse.move(x + width * 0.65, middle);
  await page.locator(".histogram").getByText(/: 2 note\.added$/).waitFor();
  await page.mouse.up();
  await tally(page, "2 events in all");
  assert.equal(parameters(page).get("last"), null);
  const [from, to] = ["from", "to"].map((it) => Date.parse(parameters(page).get(it)));
  assert.equal((to - from) % (5 * MINUTE), 0);
  assert.ok(!(await rows(page)).some((row) => row.includes("10 minutes old")));
  await page.locator(".histogram").getByText(/the 2 events/).waitFor();
  await track(page).click({ position: { x: width - 20, y: 20 } });
  await until("the address has one bar", () => Date.parse(parameters(page).get("from")) > from);
});

test("the keyboard chooses a range on the histogram", async (t) => {
  const { name } = await aged(50, 30, 10, 0);
  const page = await open(t, `#events?topic=${name}&last=1h`);
  await page.locator(".histogram").getByText(/the 4 events/).waitFor();
  await track(page).focus();
  assert.match(await track(page).getAttribute("aria-valuetext"), /^20\d\d-.* to 20\d\d-.*: 1 note\.added$/);
  await page.keyboard.press("ArrowLeft");
  await until("a bar without events", async () => /no event/.test(await track(page).getAttribute("aria-valuetext")));
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("Shift+End");
  await until("two events", async () => / 2 note\.added/.test(await track(page).getAttribute("aria-valuetext")));
  await page.keyboard.press("Enter");
  await tally(page, "2 events in all");
});

test("the histogram says which part was not read", async (t) => {
  const name = await topic();
  const event = { type: "note.added", actor: "ada", data: {} };
  await post(name, Array.from({ length: 120 }, (_, at) => ({ ...event, at: ago(1440 - at) })));
  const page = await open(t, `#events?topic=${name}&last=7d`);
  await page.locator(".histogram").getByText(/the 100 events in the list\. Grey: not read yet\./).waitFor();
  await page.getByRole("button", { name: "Load older" }).click();
  await page.locator(".histogram").getByText(/3 h a bar: the 120 events in the list\. Click/).waitFor();
});
