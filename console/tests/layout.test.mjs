import assert from "node:assert/strict";
import { test } from "node:test";

import { api, DESKTOP, entries, open, PHONE, post, topic, until } from "./stage.mjs";

const wider = (page) => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);

/** A topic whose older bucket has 64 shards and whose newest has one. */
async function manyShards() {
  const name = await topic();
  const event = { type: "note.added", actor: "ada", data: { text: "one" } };
  await post(name, event);
  await api("PUT", `/topics/${name}`, { min_shards: 64 });
  await post(name, { ...event, at: new Date(Date.now() - 3 * 86_400_000).toISOString() });
  return name;
}

for (const [size, viewport] of [
  ["desktop", DESKTOP],
  ["phone", PHONE],
]) {
  test(`a map of 64 shards scrolls and does not widen the page: ${size}`, async (t) => {
    const page = await open(t, `#shards?topic=${await manyShards()}`, { viewport });
    const map = page.getByRole("grid");
    await map.waitFor();
    assert.equal(await map.getByRole("columnheader").count(), 66);
    assert.ok((await wider(page)) <= 0, `the page is ${await wider(page)} px wider than the screen`);
  });
}

test("at 320 px no part of the header covers another", async (t) => {
  const page = await open(t, "", { viewport: { width: 320, height: 640 } });
  await page.locator(".link").getByText("Live").waitFor();
  const brand = await page.locator(".brand").boundingBox();
  const link = await page.locator(".link").boundingBox();
  assert.ok(brand.x + brand.width <= link.x, `${brand.x + brand.width} is right of ${link.x}`);
  assert.ok((await wider(page)) <= 0);
});

test("a card has no empty space below its form", async (t) => {
  const page = await open(t, "#system");
  // One step in the page: between the two steps of a locator, an empty part can get its content.
  const shown = await page.evaluate(() =>
    Array.from(document.querySelectorAll(".card > div:empty"), (it) => getComputedStyle(it).display),
  );
  assert.ok(shown.length > 0);
  assert.deepEqual(new Set(shown), new Set(["none"]));
});

test("the dialog's text starts where its fields do", async (t) => {
  const page = await open(t);
  await page.getByRole("button", { name: "Connect…" }).click();
  const left = await page
    .locator("dialog p, dialog h2, dialog label")
    .evaluateAll((all) => all.map((it) => it.getBoundingClientRect().left + Number.parseFloat(getComputedStyle(it).paddingLeft)));
  assert.equal(new Set(left).size, 1, left.join(" "));
});

test("a filled time is not cut", async (t) => {
  const page = await open(t);
  await page.getByText("Range, filter, columns").click();
  const before = page.locator('input[type="datetime-local"]').first();
  await before.fill("2026-11-22T22:22:22");
  const [needs, has] = await before.evaluate((it) => {
    const copy = it.cloneNode();
    copy.style.width = "max-content";
    it.after(copy);
    const widths = [copy.getBoundingClientRect().width, it.getBoundingClientRect().width];
    copy.remove();
    return widths;
  });
  assert.ok(has >= needs, `${has} px of ${needs}`);
});

test("a list that cannot be read takes no space below its problem", async (t) => {
  // No event of another test may come by the stream.
  const name = await topic();
  const page = await open(t, "#system", { refused: [503] });
  await page.route(/\/topics\/[^/]*\/events\?/, (route) =>
    route.fulfill({ status: 503, contentType: "application/json", body: '{"title":"Busy","code":"unavailable"}' }),
  );
  await page.evaluate((hash) => (location.hash = hash), `events?topic=${name}`);
  await page.locator(".list-holder .problem").waitFor();
  const low = async () => (await page.locator(".list-holder").boundingBox()).height < 250;
  await until("the list is low", low, 5);
});

test("a wide screen is used", async (t) => {
  const page = await open(t, "", { viewport: { width: 2560, height: 1200 } });
  await entries(page).first().waitFor();
  const { width } = await page.locator(".list").boundingBox();
  assert.ok(width > 1800, `${width} px`);
});

test("forced colours keep the status, the map and the selected row visible", async (t) => {
  const page = await open(t, "", { forcedColors: "active" });
  await entries(page).first().click();
  const outline = await page.locator('.row[aria-selected="true"]').evaluate((it) => getComputedStyle(it).outlineStyle);
  assert.equal(outline, "solid");
  const dot = () => page.locator(".link").evaluate((it) => getComputedStyle(it, "::before").backgroundColor);
  assert.equal(await dot(), "rgb(15, 107, 99)");
  await page.evaluate(() => (location.hash = "shards?topic=posts"));
  await page.getByRole("grid").waitFor();
  const shades = await page
    .locator(".legend span")
    .evaluateAll((all) => new Set(all.map((it) => getComputedStyle(it).backgroundColor)).size);
  assert.ok(shades >= 5, `${shades} shades`);
});
