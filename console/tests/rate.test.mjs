// The timeline at rates that no server limits.

import assert from "node:assert/strict";
import { test } from "node:test";

import { fed, first } from "./fed.mjs";
import { entries, until } from "./stage.mjs";

const send = (page, ...texts) => page.evaluate((all) => globalThis.stream_.send(all), texts);

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
