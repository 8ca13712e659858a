import assert from "node:assert/strict";
import { test } from "node:test";

import { elsewhere } from "./proxy.mjs";
import { api, compose, entries, fresh, hide, open, post, rows, until, url } from "./stage.mjs";

test("a followed source's post arrives unread, is seen, and leaves on unfollow", async (t) => {
  const [user, author] = [fresh("reader"), fresh("author")];
  await post("posts", { type: "post.created", actor: author, data: { text: "from before" } });
  const page = await open(t, `#events?feed=${user}`);
  await page.getByText("This feed is empty.").waitFor();

  await page.getByRole("button", { name: "Follows…" }).click();
  await page.getByLabel("Source").fill(`actor:${author}`);
  await page.getByRole("button", { name: "Follow", exact: true }).click();
  await entries(page, { name: /from before/ }).waitFor();

  await compose(page, "post.created");
  await page.getByLabel("Actor", { exact: true }).fill(author);
  await page.getByLabel("Text", { exact: true }).fill("just now");
  await page.getByRole("button", { name: "Post", exact: true }).click();
  await until("the post is on top", async () => (await rows(page))[0]?.includes("just now"));
  await page.getByText("2 unread").waitFor();
  const unread = entries(page, { name: /unread$/ });
  await until("the new entries are marked", async () => (await unread.count()) === 2);

  await page.getByRole("button", { name: "Mark all as seen" }).click();
  await page.getByText("All seen").waitFor();
  await until("no entry is marked", async () => (await unread.count()) === 0);
  assert.equal((await api("GET", `/feeds/${user}/unread`)).data.unread, 0);

  await page.getByRole("button", { name: `Unfollow actor:${author}` }).click();
  await page.getByText("Nobody yet.").waitFor();
  await page.getByText("This feed is empty.").waitFor();
});

test("a post made elsewhere arrives without a reload", async (t) => {
  const page = await open(t, "#events?feed=bob");
  await entries(page).first().waitFor();
  const text = fresh("elsewhere");
  await post("posts", { type: "post.created", actor: "ada", data: { text } });
  await entries(page, { name: text }).waitFor();
});

/** Follows an author, and checks that a paused list of the feed holds still and counts a new entry. */
async function pauses(page, user, author) {
  const write = (text) => post("posts", { type: "post.created", actor: author, data: { text } });
  await api("PUT", `/users/${user}/following/actor:${author}`, {});
  await write("before the pause");
  await entries(page, { name: "before the pause" }).waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  await write("during the pause");
  await page.getByRole("button", { name: "1 new" }).waitFor();
  assert.equal(await entries(page).count(), 1);
  await page.getByRole("button", { name: "Resume" }).click();
  await entries(page, { name: "during the pause" }).waitFor();
  await page.getByText("2 unread").waitFor();
}

test("a feed that is polled holds still during a pause, and counts new entries", async (t) => {
  const [user, author] = [fresh("reader"), fresh("author")];
  const page = await open(t, `#events?feed=${user}`);
  await page.getByText("This feed is empty.").waitFor();
  // As if other tabs had all the streams.
  await page.evaluate(() => (navigator.locks.request = (name, options, take) => take(null)));
  await hide(page, true);
  await hide(page, false);
  await page.locator(".link").getByText("Polling").waitFor();
  await pauses(page, user, author);
});

test("a feed with pages that wait holds still during a pause, and counts new entries", async (t) => {
  const [user, author, origin] = [fresh("reader"), fresh("author"), await elsewhere(t, { waits: true })];
  const page = await open(t, "", { origins: [origin], refused: [404], expected: [/ERR_/] });
  const connection = JSON.stringify({ url: origin, token: "dev" });
  await page.evaluate((kept) => sessionStorage.setItem("lately.connection", kept), connection);
  await page.goto(`${url}/#events?feed=${user}`);
  const waits = page.waitForRequest(/wait=/);
  await page.reload();
  await waits;
  await pauses(page, user, author);
});

test("a user can follow with the keyboard alone", async (t) => {
  const user = fresh("typist");
  const page = await open(t, `#events?feed=${user}`);
  await page.getByText("This feed is empty.").waitFor();
  for (let presses = 0; presses < 40; presses += 1) {
    await page.keyboard.press("Tab");
    if (await page.evaluate(() => document.activeElement.textContent === "Follows…")) await page.keyboard.press("Enter");
    if (await page.evaluate(() => document.activeElement.labels?.[0]?.textContent === "Source")) break;
  }
  await page.keyboard.type("actor:carol");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Unfollow actor:carol" }).waitFor();
  await entries(page).first().waitFor();
  const { data } = await api("GET", `/users/${user}/following`);
  assert.deepEqual(
    data.following.map((it) => it.source),
    ["actor:carol"],
  );
});

test("a page of a feed that failed can be read again", async (t) => {
  const [user, author] = [fresh("reader"), fresh("author")];
  await api("PUT", `/users/${user}/following/actor:${author}`, {});
  const events = Array.from({ length: 110 }, (_, at) => ({ type: "post.created", actor: author, data: { text: `${at}.` } }));
  await post("posts", events);
  await until("the feed is full", async () => (await api("GET", `/feeds/${user}?limit=200`)).data.events.length === 110);
  const page = await open(t, "#system", { refused: [503] });
  let [reads, isFailed] = [0, false];
  await page.route(/\/feeds\/[^/]+\?/, (route) => {
    const isNext = route.request().url().includes("cursor=");
    reads += 1;
    if (!isNext || isFailed) return route.continue();
    isFailed = true;
    return route.fulfill({ status: 503, contentType: "application/json", body: '{"title":"Busy","code":"unavailable"}' });
  });
  await page.evaluate((name) => (location.hash = `feeds?user=${name}`), user);
  await entries(page).first().waitFor();
  assert.equal(reads, 1, "opening a feed reads one page");
  const list = page.getByRole("listbox");
  await list.focus();
  await page.keyboard.press("End");
  await page.getByRole("button", { name: "Try again" }).click();
  await until("all entries are in the list", async () => {
    await list.press("End");
    return (await entries(page, { name: /\D0\./ }).count()) > 0;
  });
});

test("a follow adds as many earlier posts as the user wants", async (t) => {
  const [user, author] = [fresh("reader"), fresh("author")];
  for (const text of ["oldest", "older", "newest"]) await post("posts", { type: "post.created", actor: author, data: { text } });
  await until("the author's timeline is written", async () => (await api("GET", `/actors/${author}/events`)).data.events.length === 3);
  const page = await open(t, `#events?feed=${user}`);
  await page.getByRole("button", { name: "Follows…" }).click();
  await page.getByLabel("Source").fill(`actor:${author}`);
  await page.getByLabel("Backfill").fill("2");
  await page.getByRole("button", { name: "Follow", exact: true }).click();
  await until("two entries", async () => (await rows(page)).length === 2);
  assert.match((await rows(page)).join(), /newest.*older/);
});

test("the unread entries beyond the first page are counted when the user asks", async (t) => {
  const [user, author] = [fresh("reader"), fresh("author")];
  await api("PUT", `/users/${user}/following/actor:${author}`, {});
  await post("posts", Array.from({ length: 110 }, () => ({ type: "post.created", actor: author, data: {} })));
  await until("the feed is full", async () => (await api("GET", `/feeds/${user}/unread`)).data.unread === 110);
  const page = await open(t, `#events?feed=${user}`);
  await page.getByText("100+ unread").waitFor();
  await page.getByRole("button", { name: "Count all" }).click();
  await page.locator(".badge", { hasText: /^110 unread$/ }).waitFor();
  await page.getByRole("button", { name: "Count all" }).waitFor({ state: "hidden" });
});

test("all follows can be reached", async (t) => {
  const user = fresh("reader");
  const sources = Array.from({ length: 205 }, (_, number) => `subject:${user}:${String(number).padStart(3, "0")}`);
  await Promise.all(sources.map((source) => api("PUT", `/users/${user}/following/${encodeURIComponent(source)}`, { backfill: 0 })));
  const page = await open(t, `#events?feed=${user}`);
  await page.getByRole("button", { name: "Follows…" }).click();
  const follows = page.getByRole("button", { name: /^Unfollow / });
  await until("a page is listed", async () => (await follows.count()) === 200);
  await page.getByRole("button", { name: "Load more" }).click();
  await until("all are listed", async () => (await follows.count()) === 205);
  await page.getByRole("button", { name: "Load more" }).waitFor({ state: "hidden" });
});
