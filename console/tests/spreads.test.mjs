import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import { api, open, post, topic, until } from "./stage.mjs";

afterEach(() => api("DELETE", "/local/faults"));

const stored = async (name) => (await api("GET", `/local/storage/topics/${name}`)).data.buckets;
const note = { type: "note.added", actor: "ada", data: {} };

/** The texts of a table's rows, cell by cell. */
const cells = (page, region) =>
  page
    .getByRole("region", { name: region })
    .locator("tbody tr")
    .evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.innerText.trim())));

test("a throttled bucket shows its spreads over time, and the widest spread's slices", async (t) => {
  const name = await topic();
  await post(name, note);
  await api("PUT", "/local/faults", { throttles: [{ partition: `EVENTS#${name}#`, chance: 0.5, seconds: 2 }] });
  await Promise.allSettled(Array.from({ length: 20 }, () => post(name, note)));
  await api("DELETE", "/local/faults");
  const [{ label, base, shards, spreads }] = await stored(name);
  assert.ok(spreads.length > 0, "the throttle has added a spread");

  const page = await open(t, `#shards?topic=${name}`);
  const card = page.getByRole("region", { name: "Shards over time" });
  await card.getByText(`${base} shard at all times; up to ${shards} in ${spreads.length} spread`).waitFor();
  const drawn = card.getByRole("img", { name: `Shards of ${label} over time` });
  const bars = drawn.first().locator("rect");
  assert.equal(await bars.count(), 1 + spreads.length, "the base and each spread");
  // The line of a spread is as wide on the screen, however short the spread is.
  const line = await bars.last().evaluate((it) => [getComputedStyle(it).strokeWidth, getComputedStyle(it).vectorEffect]);
  assert.deepEqual(line, ["2px", "non-scaling-stroke"]);
  const heights = await bars.evaluateAll((all) => all.map((it) => Number(it.getAttribute("height"))));
  assert.ok(Math.max(...heights.slice(1)) > 3 * heights[0] / 2, "more shards are higher");

  await card.locator("summary").click();
  const rows = await cells(page, `Spreads of ${label}`);
  assert.deepEqual(
    rows.map(([, , , of, slice]) => [of, slice]),
    spreads.map((it) => [String(it.shards), `${512 / it.shards} ms`]),
  );
  const times = await page.getByRole("region", { name: `Spreads of ${label}` }).locator("time").evaluateAll((all) => all.map((it) => it.dateTime));
  assert.deepEqual(times, spreads.flatMap(({ from, to }) => [from, to]));
  const zoomed = await drawn.nth(1).locator("rect").evaluateAll((all) => Math.max(...all.slice(1).map((it) => it.width.baseVal.value)));
  assert.ok(zoomed > 500, "the second drawing is of the spreads' time alone");
  const slices = page.getByRole("region", { name: /^Slices of/ }).getByRole("listitem");
  assert.equal(await slices.count(), shards);
  assert.equal(await slices.first().innerText(), `0 0–${512 / shards - 1} ms`);
  assert.equal(await slices.last().innerText(), `${shards - 1} ${512 - 512 / shards}–511 ms`);

  // The user's choice outlives the next drawing.
  await page.evaluate(() => document.activeElement.blur());
  await drawn.first().evaluate((it) => (it.id = "before"));
  await post(name, note);
  await until("the bucket is drawn again", async () => (await page.locator("#before").count()) === 0);
  await slices.first().waitFor();
});

test("a trace shows which of a bucket's shards a read asks", async (t) => {
  const name = await topic({ bucket: "month", min_shards: 16 });
  // The events lie 2 ms apart and end with a slice, which has 32 ms: the last 5 of them lie in the shard of that slice.
  const end = Math.floor((Date.now() - 20_000) / 512) * 512 + 4 * 32;
  const events = Array.from({ length: 200 }, (_, back) => ({ ...note, at: new Date(end - 2 - 2 * back).toISOString() }));
  await api("POST", `/topics/${name}/events`, events);
  const to = new Date(end).toISOString();
  const page = await open(t, `#shards?topic=${name}&trace=${encodeURIComponent(`/topics/${name}/events?limit=5&to=${to}`)}`);
  await page.getByText(/· 5 events · .* rounds?/).waitFor();
  const asked = async () => {
    const found = (await cells(page, "DynamoDB calls")).map(([, partition]) => /#SHARD(\d+)$/.exec(partition)?.[1]);
    return new Set(found.filter(Boolean));
  };
  const few = await asked();
  assert.ok(few.size < 8, `${[...few]}: few of the shards`);
  assert.ok(few.has("3"), `${[...few]}: the shard of the last slice`);

  await page.getByLabel("GET").fill(`/topics/${name}/events?limit=200&consistent=true`);
  await page.getByRole("button", { name: "Trace" }).click();
  await until("the whole topic is in all its shards", async () => (await asked()).size === 16);
});
