// The timeline at rates that no server limits: the page's stream of new events is made in the page.

import assert from "node:assert/strict";
import { test } from "node:test";

import { entries, open, topic, until } from "./stage.mjs";

/** The aim is a 95th percentile of 50 ms and 500 ms until an event is shown. A busy machine gets more. */
const FRAME = 150;
const SHOWN = 1500;

const SECONDS = 5;

/** Opens a timeline whose events come from the page: `stream_.send(texts)` lands events with these texts. */
async function fed(t, options) {
  const name = await topic();
  const page = await open(t, "#system", options);
  await page.evaluate((wanted) => {
    const real = globalThis.fetch;
    const encoder = new TextEncoder();
    let number = 0;
    const fed = { time: [] };
    fed.send = (texts) => {
      const blocks = texts.map((text) => {
        number += 1;
        const id = `0${String(Date.now())}-${String(number).padStart(9, "0")}`;
        const event = { id, at: new Date().toISOString(), type: "note.added", actor: "ada", data: { text } };
        return `id: here\nevent: event\ndata: ${JSON.stringify(event)}\n\n`;
      });
      fed.controller.enqueue(encoder.encode(blocks.join("")));
    };
    globalThis.stream_ = fed;
    globalThis.fetch = (target, sent) => {
      if (!String(target).includes(`/topics/${wanted}/live`))
        return real(target, sent);
      return Promise.resolve(new Response(new ReadableStream({ start: (controller) => (fed.controller = controller) })));
    };
    location.hash = `events?topic=${wanted}`;
  }, name);
  await page.getByText("No events here.").waitFor();
  return page;
}

const send = (page, ...texts) => page.evaluate((all) => globalThis.stream_.send(all), texts);

/** The texts of the list's first rows, and of the row that flashes. */
const first = (page) => page.locator('.row[aria-posinset="1"]:not([hidden]) .row-data').innerText();

for (const rate of [200, 1000, 2000])
  test(`frames stay short at ${rate} events a second`, async (t) => {
    const page = await fed(t);
    const { frames, waits, sent } = await page.evaluate(
      ([rate, seconds]) =>
        new Promise((resolve) => {
          const [frames, waits, times] = [[], [], []];
          const began = performance.now();
          let last = began;
          const feeding = setInterval(() => {
            const due = Math.floor(((performance.now() - began) / 1000) * rate);
            const texts = [];
            for (let number = times.length; number < due; number += 1) {
              texts.push(String(number));
              times.push(performance.now());
            }
            if (texts.length > 0) globalThis.stream_.send(texts);
          }, 4);
          const tick = (now) => {
            frames.push(now - last);
            last = now;
            // The age of the oldest event that is not shown yet, if there is one.
            const shown = Number(
              document.querySelector('.row[aria-posinset="1"]:not([hidden]) .row-data')?.textContent ?? -1,
            );
            waits.push(times.length > shown + 1 ? performance.now() - times[shown + 1] : 0);
            if (now - began < seconds * 1000) return requestAnimationFrame(tick);
            clearInterval(feeding);
            resolve({ frames: frames.slice(2), waits: waits.slice(2), sent: times.length });
          };
          requestAnimationFrame(tick);
        }),
      [rate, SECONDS],
    );
    const at = (all, share) => Math.round([...all].sort((a, b) => a - b)[Math.floor((all.length - 1) * share)]);
    t.diagnostic(
      `${sent} events, ${frames.length} frames: median ${at(frames, 0.5)} ms, p95 ${at(frames, 0.95)} ms, max ${at(frames, 1)} ms; shown after p95 ${at(waits, 0.95)} ms, max ${at(waits, 1)} ms`,
    );
    await until("the newest event is on top", async () => (await first(page)) === String(sent - 1), 5);
    assert.ok(sent > rate * SECONDS * 0.9, `${sent} events were sent`);
    assert.ok(at(frames, 0.95) <= FRAME, `p95 ${at(frames, 0.95)} ms`);
    assert.ok(at(waits, 0.95) <= SHOWN, `shown after ${at(waits, 0.95)} ms`);
  });

test("the list keeps 20,000 events, the newest ones", async (t) => {
  const page = await fed(t);
  for (let batch = 0; batch < 45; batch += 1)
    await send(page, ...Array.from({ length: 500 }, (_, at) => `number ${batch * 500 + at}`));
  await page.locator(".status").getByText("20,000 events: choose an earlier time").waitFor();
  await until("the newest event is on top", async () => (await first(page)) === "number 22499", 5);
});

test("a click opens the event under the pointer, at any rate", async (t) => {
  const page = await fed(t);
  await send(page, ...Array.from({ length: 30 }, (_, at) => `before ${at}`));
  await entries(page, { name: /before 29$/ }).waitFor();
  await page.evaluate(() => {
    let number = 0;
    setInterval(() => globalThis.stream_.send([`rate ${(number += 1)}`]), 30);
  });
  await page.getByRole("listbox").evaluate((it) => it.scrollIntoView({ block: "end" }));
  const list = await page.getByRole("listbox").boundingBox();
  for (let row = 2; row < 8; row += 1) {
    const [x, y] = [list.x + 300, list.y + row * 42 + 20];
    await page.mouse.move(x, list.y - 200);
    await page.waitForTimeout(200);
    await page.mouse.move(x, y);
    const aimed = await page.evaluate(
      ([x, y]) => document.elementFromPoint(x, y).closest(".row").querySelector(".row-data").textContent,
      [x, y],
    );
    await page.waitForTimeout(300);
    await page.mouse.down();
    await page.mouse.up();
    const opened = await page.locator(".detail .data").innerText();
    assert.equal(JSON.parse(opened).text, aimed);
    await page.getByRole("button", { name: "Close" }).click();
  }
  await until("events wait while the pointer is on the list", async () => {
    await page.mouse.move(list.x + 300, list.y + 100);
    return page.getByRole("button", { name: /^\d+ new$/ }).isVisible();
  });
  await page.mouse.move(list.x + 300, list.y - 200);
  await page.getByRole("button", { name: /^\d+ new$/ }).waitFor({ state: "hidden" });
});

test("a paused list counts new events and shows them when it goes on", async (t) => {
  const page = await fed(t);
  await send(page, "one", "two");
  await entries(page, { name: /two$/ }).waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  await send(page, "three", "four", "five");
  await page.getByRole("button", { name: "3 new" }).waitFor();
  assert.equal(await first(page), "two");
  await page.getByRole("button", { name: "3 new" }).click();
  await until("they are shown", async () => (await first(page)) === "five");
  await send(page, "six");
  await page.getByRole("button", { name: "1 new" }).waitFor();
  await page.getByRole("button", { name: "Resume" }).click();
  await until("it goes on", async () => (await first(page)) === "six");
  await send(page, "seven");
  await until("it follows", async () => (await first(page)) === "seven");
});

test("the row that just landed flashes, and no other", async (t) => {
  const page = await fed(t, { reducedMotion: "no-preference" });
  for (let number = 0; number < 5; number += 1) {
    await send(page, `live ${number}`);
    const flashing = () =>
      page.evaluate(() =>
        document
          .getAnimations()
          .filter((it) => it.animationName === "land")
          .map((it) => it.effect.target.querySelector(".row-data").textContent),
      );
    await until("it flashes", async () => (await flashing()).length === 1);
    assert.deepEqual(await flashing(), [`live ${number}`]);
    await until("the flash ends", async () => (await flashing()).length === 0);
  }
});
