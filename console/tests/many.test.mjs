import assert from "node:assert/strict";
import { test } from "node:test";

import { entries, open, post, topic, until } from "./stage.mjs";

const EVENTS = 10_000;
const BATCH = 500;

/** The most elements of the page, however many events it has. */
const ELEMENTS = 600;

test("ten thousand events scroll with few elements", async (t) => {
  const name = await topic({ fan_out: false, views: [] });
  for (let first = 0; first < EVENTS; first += BATCH) {
    await post(
      name,
      Array.from({ length: BATCH }, (_, at) => ({
        type: "note.added",
        actor: "ada",
        data: { text: `number ${first + at}.` },
      })),
    );
  }
  const page = await open(t, `#events?topic=${name}`);
  const list = page.getByRole("listbox");
  const elements = () => page.evaluate(() => document.querySelectorAll("*").length);
  await entries(page).first().waitFor();
  const before = await elements();
  await until(
    "all events are on the page",
    async () => {
      await list.evaluate((it) => (it.scrollTop = it.scrollHeight));
      return (await page.locator(".status").innerText()).startsWith(`${EVENTS.toLocaleString("en")} events`);
    },
    90,
  );
  assert.ok(
    (await elements()) <= Math.max(before, ELEMENTS) && (await elements()) <= before + 20,
    `${before} elements became ${await elements()}`,
  );

  await list.evaluate((it) => (it.scrollTop = 0));
  const box = await list.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.evaluate(() => {
    globalThis.frames_ = [];
    let last = performance.now();
    const tick = (now) => {
      globalThis.frames_.push(now - last);
      last = now;
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  });
  const scrolled = () => list.evaluate((it) => it.scrollTop);
  const began = Date.now();
  do {
    await page.mouse.wheel(0, 700);
  } while (Date.now() - began < 4000 || ((await scrolled()) <= 5000 && Date.now() - began < 60_000));
  const frames = (await page.evaluate(() => globalThis.frames_.slice(2))).sort((a, b) => a - b);
  const at = (share) => frames[Math.floor((frames.length - 1) * share)].toFixed(1);
  const pixels = await scrolled();
  assert.ok(pixels > 5000, `scrolled ${pixels} px`);
  t.diagnostic(
    `${EVENTS} events, ${await elements()} elements, ${frames.length} frames while scrolling ${Math.round(pixels)} px: median ${at(0.5)} ms, p95 ${at(0.95)} ms, max ${at(1)} ms`,
  );

  await list.focus();
  await page.keyboard.press("End");
  await entries(page, { name: /number 0\./ }).waitFor();
});
