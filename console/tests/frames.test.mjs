// How smooth the timeline is while new events land. `scripts/console` runs these tests alone.

import assert from "node:assert/strict";
import { test } from "node:test";

import { fed, first } from "./fed.mjs";
import { until } from "./stage.mjs";

/** The aim is a 95th percentile of 50 ms and 500 ms until an event is shown. A busy machine gets more. */
const FRAME = 150;
const SHOWN = 1500;

const SECONDS = 5;

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
