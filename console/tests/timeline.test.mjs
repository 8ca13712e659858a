import assert from "node:assert/strict";
import { test } from "node:test";

import { api, compose, entries, fresh, hide, open, post, rows, topic, until, url } from "./stage.mjs";

test("it opens with the posts, newest first, and shows the cost of the read", async (t) => {
  const page = await open(t);
  await page.getByRole("heading", { level: 1, name: "Events" }).waitFor();
  assert.equal(await page.getByLabel("Topic", { exact: true }).inputValue(), "posts");
  await page.getByText(/last read: [\d.,]+ read units? · \d+ calls?/).waitFor();
  const shown = await page
    .locator(".row-time")
    .evaluateAll((all) => all.filter((it) => it.title).map((it) => it.title));
  assert.ok(shown.length > 5);
  assert.deepEqual(shown, [...shown].sort().reverse());
});

test("a new post is on top at once, with its cost", async (t) => {
  // The first post of a day creates the day's bucket, which costs more.
  await post("posts", { type: "post.created", actor: "ada", data: {} });
  const page = await open(t);
  const text = fresh("hello");
  await compose(page, "post.created");
  await page.getByLabel("Text", { exact: true }).fill(text);
  await page.getByRole("button", { name: "Post", exact: true }).click();
  // Four calls: two for the idempotency key, the event, and its entry in ada's own feed, whose cost is not known if fan-out
  // has written it already. Two further calls read the topic's settings and the list of erasures if the cached ones are old.
  await page.locator(".composer .price", { hasText: /[2-4] write units · [4-6] calls/ }).waitFor();
  await until("the post is on top", async () => (await rows(page))[0].includes(text));
});

test("JSON data is sent unchanged, and its numbers keep their digits", async (t) => {
  const name = await topic();
  const page = await open(t, `#events?topic=${name}`);
  await compose(page);
  await page.getByText("Subject and data").click();
  await page.getByLabel("Subject", { exact: true }).fill("repo:octo:hello");
  await page.getByLabel(/^Data/).fill('{"amount": 661.80, "big": 12345678901234567890}');
  await page.getByRole("button", { name: "Post", exact: true }).click();
  await entries(page).first().click();
  assert.match(await page.locator(".detail .data").innerText(), /"amount": 661\.80,\s+"big": 12345678901234567890/);
  assert.match(await page.locator(".detail").innerText(), /repo:octo:hello/);
});

test("other clients' posts, and deletions in other tabs, show without a reload", async (t) => {
  const name = await topic();
  const page = await open(t, `#events?topic=${name}`);
  await page.getByText("No events here.").waitFor();
  const event = await post(name, { type: "note.added", actor: "bob", data: { text: "from outside" } });
  await entries(page, { name: /from outside/ }).waitFor();
  const other = await page.context().newPage();
  await other.goto(`${url}/#events?topic=${name}&event=${event.id}`);
  await other.getByRole("button", { name: "Delete…" }).click();
  await other.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByText("No events here.").waitFor();
});

test("an event that lands while the first page loads is not lost", async (t) => {
  const name = await topic();
  await post(name, { type: "note.added", actor: "ada", data: { text: "on the page" } });
  const page = await open(t, "#system");
  let answer = null;
  const landed = new Promise((resolve) => (answer = resolve));
  await page.route(/\/events\?limit=100/, async (route) => {
    const response = await route.fetch();
    await post(name, { type: "note.added", actor: "bob", data: { text: "beside it" } });
    await landed;
    await route.fulfill({ response });
  });
  await page.evaluate((hash) => (location.hash = hash), `events?topic=${name}`);
  await page.waitForTimeout(1500);
  assert.equal(await entries(page).count(), 0, "rows would move under a click when the page comes");
  answer();
  await entries(page, { name: /beside it/ }).waitFor();
  await entries(page, { name: /on the page/ }).waitFor();
  assert.equal((await rows(page)).length, 2);
});

test("new events are counted while the user reads further down", async (t) => {
  const name = await topic();
  await post(
    name,
    Array.from({ length: 150 }, (_, number) => ({ type: "note.added", actor: "ada", data: { text: `old ${number}` } })),
  );
  const page = await open(t, `#events?topic=${name}`);
  await entries(page, { name: /old 149/ }).waitFor();
  const list = page.getByRole("listbox");
  await list.evaluate((it) => (it.scrollTop = 1500));
  // The price of both pages may need a line of its own.
  await page.getByText(/ 2 reads: /).waitFor();
  const before = await until(
    "it has scrolled",
    async () => !(await rows(page)).some((row) => row.includes("old 149")) && rows(page),
  );
  const shown = await list.evaluate((it) => it.scrollTop);
  await post(name, [
    { type: "note.added", actor: "bob", data: { text: "new 1" } },
    { type: "note.added", actor: "bob", data: { text: "new 2" } },
  ]);
  const pill = page.getByRole("button", { name: "2 new" });
  await pill.waitFor();
  // A row that is not laid out yet has no spaces between its columns.
  const dense = (texts) => texts.map((text) => text.replace(/\s/g, ""));
  assert.deepEqual(dense(await rows(page)), dense(before), "the visible rows do not move");
  assert.equal(await list.evaluate((it) => it.scrollTop), shown);
  await pill.click();
  await until("the newest is on top", async () => (await rows(page))[0].includes("new"));
  await pill.waitFor({ state: "hidden" });
});

test("a page that was hidden catches up with posts and deletions", async (t) => {
  const name = await topic();
  const old = await post(
    name,
    Array.from({ length: 150 }, (_, number) => ({
      type: "note.added",
      actor: "ada",
      data: { text: `old ${number}.` },
    })),
  );
  const page = await open(t, `#events?topic=${name}`);
  await entries(page, { name: /old 149\./ }).waitFor();
  await page.getByRole("button", { name: "Older" }).click();
  await page.getByText("150 events in all").waitFor();
  const ended = page.waitForEvent("requestfailed", (request) => request.url().endsWith("/live"));
  await hide(page, true);
  await ended;
  await post(name, [{ type: "note.added", actor: "bob", data: { text: "meanwhile" } }]);
  await api("DELETE", `/topics/${name}/events/${old.events[148].id}`);
  await page.waitForTimeout(500);
  assert.ok((await rows(page))[0].includes("old 149."), "a hidden page gets no events");
  await hide(page, false);
  await entries(page, { name: /meanwhile/ }).waitFor();
  await entries(page, { name: /old 148\./ }).waitFor({ state: "detached" });
  await page.getByText("150 events in all").waitFor();
});

test("a list has no gap after more events than a page holds landed unseen", async (t) => {
  const notes = (text, size) => Array.from({ length: size }, (_, at) => ({ type: "note.added", actor: "ada", data: { text: `${text} ${at}.` } }));
  for (const isHeld of [false, true]) {
    const name = await topic();
    await post(name, notes("seen", 5));
    const page = await open(t, `#events?topic=${name}`);
    await page.getByText("5 events in all").waitFor();
    await page.locator(".link").getByText("Live").waitFor();
    if (isHeld) await page.getByRole("button", { name: "Pause" }).click();
    const ended = page.waitForEvent("requestfailed", (request) => request.url().endsWith("/live"));
    await hide(page, true);
    await ended;
    await post(name, notes("missed", 150));
    // A new stream begins with the events of the last two seconds.
    await page.waitForTimeout(2500);
    const streamed = entries(page, { name: /streamed/ });
    await page.route(/limit=100/, async (route) => {
      await streamed.waitFor();
      await route.continue();
    });
    const begun = page.waitForResponse((response) => response.url().endsWith("/live"));
    await hide(page, false);
    await begun;
    await post(name, { type: "note.added", actor: "ada", data: { text: "streamed" } });
    if (isHeld) {
      await page.getByRole("button", { name: "1 new" }).waitFor();
      await page.getByRole("button", { name: "Resume" }).click();
    }
    await page.getByText("100 events", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Load older" }).click();
    await page.getByText("156 events in all").waitFor();
  }
});

test("a deleted event at the end of a list disappears from a page that was hidden", async (t) => {
  const name = await topic();
  const { events } = await post(name, ["oldest", "newest"].map((text) => ({ type: "note.added", actor: "ada", data: { text } })));
  const page = await open(t, `#events?topic=${name}`);
  for (const [left, { id }] of [["1 event in all", events[0]], ["No events here.", events[1]]]) {
    await page.locator(".link").getByText("Live").waitFor();
    await entries(page, { name: "newest" }).waitFor();
    await hide(page, true);
    await api("DELETE", `/topics/${name}/events/${id}`);
    await hide(page, false);
    await page.getByText(left).waitFor();
  }
});

test("scrolling reads all older pages, each event once", async (t) => {
  const name = await topic();
  const all = Array.from({ length: 330 }, (_, number) => ({
    type: "note.added",
    actor: "ada",
    data: { text: `number ${number}.` },
  }));
  await post(name, all);
  const page = await open(t, `#events?topic=${name}`);
  const list = page.getByRole("listbox");
  await list.focus();
  await until("all pages are read", async () => {
    await page.keyboard.press("End");
    return (await page.locator(".status").innerText()).startsWith("330 events in all");
  });
  await page.keyboard.press("End");
  await entries(page, { name: /number 0\./ }).waitFor();
  const last = page.locator('.row[aria-selected="true"]');
  assert.equal(await last.getAttribute("aria-posinset"), "330");
  assert.equal(await last.getAttribute("aria-setsize"), "330");
});

test("events are filtered by type and time, and the filters can be removed", async (t) => {
  const page = await open(t);
  await entries(page).first().waitFor();
  await page.getByLabel("Type").first().fill("post.liked");
  await page.getByRole("button", { name: "Show" }).click();
  await page.getByRole("button", { name: "All types" }).waitFor();
  await until(
    "only likes are shown",
    async () => (await rows(page)).length > 3 && (await rows(page)).every((row) => row.includes("post.liked")),
  );
  const before = new Date(Date.now() - 24 * 3600 * 1000).toISOString().slice(0, 19);
  await page.getByText("Range, filter, columns").click();
  await page.getByLabel("Before (UTC)").fill(before);
  await page.getByRole("button", { name: "Set range" }).click();
  await page.getByRole("button", { name: "Back to now" }).waitFor();
  await entries(page).first().waitFor();
  const newest = await page.locator(".row-time").first().getAttribute("title");
  assert.ok(newest < `${before}Z`, newest);
  const text = fresh("meanwhile");
  await post("posts", { type: "post.liked", actor: "bob", data: { text } });
  await page.getByRole("button", { name: "Back to now" }).click();
  await entries(page, { name: text }).waitFor();
});

test("an error is shown with its code, its fields and its request's id", async (t) => {
  const page = await open(t, "", { refused: [422] });
  await compose(page);
  await page.getByLabel("Text", { exact: true }).fill("hello");
  const type = page.locator(".composer").getByLabel("Type");
  await type.fill("NO TYPE");
  await page.getByRole("button", { name: "Post", exact: true }).click();
  const problem = page.locator(".composer").getByRole("alert");
  await problem.waitFor();
  assert.equal(await type.getAttribute("aria-invalid"), "true");
  assert.ok(await type.evaluate((it) => it === document.activeElement));
  assert.match(await problem.innerText(), /\/type[\s\S]*422 invalid-event · request [0-9a-f]{32}/);
});

test("hostile data is shown as text", async (t) => {
  const name = await topic();
  const hostile = [
    '<img src=x onerror="alert(1)">',
    "</script><script>document.title='taken'</script>",
    "\u202Eright to left\u2066 and \u0000\u001b[31m\u200b control",
    `long ${"x".repeat(10_000)}`,
    "javascript:alert(1)",
  ];
  await post(
    name,
    hostile.map((text) => ({ type: "note.added", actor: "eve", data: { text, "<b>key</b>": [text] } })),
  );
  const page = await open(t, `#events?topic=${name}`);
  await entries(page).nth(4).waitFor();
  for (const text of hostile) {
    const shown = text.slice(0, 240);
    const found = await page
      .locator(".row-data")
      .evaluateAll((all, wanted) => all.some((it) => it.textContent === wanted), shown);
    assert.ok(found, shown);
  }
  for (let row = 0; row < hostile.length; row += 1) {
    await entries(page).nth(row).click();
    assert.match(await page.locator(".detail .data").textContent(), /<b>key<\/b>/);
  }
  assert.equal(await page.locator("#panel img, #panel b, #panel script").count(), 0);
  assert.equal(await page.title(), `${name} · Events · Lately`);
  const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wider <= 0, `the page is ${wider} px wider than the screen`);
});

test("a user can post and read with the keyboard alone", async (t) => {
  const name = await topic();
  const page = await open(t, `#events?topic=${name}`);
  await page.getByText("No events here.").waitFor();
  const tabTo = async (label) => {
    for (let presses = 0; presses < 40; presses += 1) {
      await page.keyboard.press("Tab");
      const focused = await page.evaluate(
        () =>
          document.activeElement.labels?.[0]?.textContent ??
          document.activeElement.getAttribute("aria-label") ??
          document.activeElement.textContent,
      );
      if (focused === label) return;
    }
    assert.fail(`no Tab leads to ${label}`);
  };
  await tabTo("Post…");
  await page.keyboard.press("Enter");
  await tabTo("Type");
  await page.keyboard.type("note.added");
  await tabTo("Text");
  await page.keyboard.type("typed, not clicked");
  await page.keyboard.press("Enter");
  await entries(page, { name: /typed, not clicked/ }).waitFor();
  await tabTo(`Events of ${name}`);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.getByRole("complementary", { name: "The event" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("complementary", { name: "The event" }).waitFor({ state: "detached" });
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("role")), "listbox");
});
