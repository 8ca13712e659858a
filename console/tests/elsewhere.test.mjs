import assert from "node:assert/strict";
import { test } from "node:test";

import { elsewhere } from "./proxy.mjs";
import { api, entries, open, post, topic, url } from "./stage.mjs";

/** What a browser logs of an API that has neither streams nor pages that wait. */
const EARLIER = [400, 404];

const link = (page) => page.locator(".link");

/** Connects the page to another API, and waits until it follows there in this way. */
async function connect(page, origin, token, { live = "", how = /Polling|Connected/ } = {}) {
  await page.getByRole("button", { name: "Connect…" }).click();
  await page.getByLabel("URL", { exact: true }).fill(origin);
  await page.getByLabel("Token").fill(token);
  await page.getByLabel(/^URL of live streams/).fill(live);
  await page.getByRole("button", { name: "Connect", exact: true }).click();
  await link(page).getByText(how).waitFor();
  // A list holds still under the pointer, which is where the dialog was.
  await page.mouse.move(0, 0);
}

test("another API is polled, and has no local panels", async (t) => {
  const name = await topic();
  const origin = await elsewhere(t);
  const page = await open(t, `#events?topic=${name}`, { origins: [origin], refused: [403, ...EARLIER] });
  await page.getByRole("button", { name: "Connect…" }).click();
  await page.getByLabel("URL", { exact: true }).fill(origin);
  await page.getByLabel("Token").fill("not a token");
  await page.getByRole("button", { name: "Connect", exact: true }).click();
  await page.getByRole("dialog").getByText("403 invalid-token").waitFor();
  await page.getByLabel("Token").fill("ada");
  await page.getByRole("button", { name: "Connect", exact: true }).click();

  await page.getByText("Polling").waitFor();
  // A list holds still under the pointer, which is where the dialog was.
  await page.mouse.move(0, 0);
  const panels = await page.getByRole("navigation", { name: "Panels" }).getByRole("link").allInnerTexts();
  assert.deepEqual(panels, ["Events", "Topics", "People", "System", "Records"]);
  // The first page has loaded, so a later event is found by polling.
  await page.getByText("No events here.").waitFor();
  const requests = [];
  page.on("request", (request) => requests.push(new URL(request.url())));
  await post(name, { type: "note.added", actor: "bob", data: { text: "polled for" } });
  await entries(page, { name: /polled for/ }).waitFor();
  assert.ok(
    requests.some((it) => it.origin === origin && it.searchParams.has("cursor")),
    "with the cursor newer",
  );
  assert.ok(
    requests.every((it) => it.origin === origin),
    "no other origin gets a request",
  );
  await page.getByText(/last read: .*read units?/).waitFor();

  await page.evaluate(() => (location.hash = "events?feed=ada"));
  await entries(page).first().waitFor();

  await page.reload();
  await page.getByText("Polling").waitFor();
  assert.equal(await page.evaluate(() => localStorage.length), 0, "the token is kept only in the tab");
  await page.getByRole("button", { name: "Connect…" }).click();
  await page.getByRole("button", { name: "Use the local program" }).click();
  await page.getByRole("link", { name: "System", exact: true }).click();
  await page.getByRole("link", { name: "Stream and faults" }).waitFor();
  assert.equal(await page.evaluate(() => sessionStorage.length), 0);
});

test("a link of a connected tab opens the same API in a new tab, and names it", async (t) => {
  const name = await topic();
  const origin = await elsewhere(t);
  const page = await open(t, "", { origins: [origin], refused: EARLIER });
  await connect(page, origin, "ada");
  await page.evaluate((hash) => (location.hash = hash), `events?topic=${name}`);
  const link = page.getByRole("link", { name: "Events", exact: true });
  await page.locator("#nav a[aria-current]", { hasText: "Events" }).waitFor();
  const href = await link.getAttribute("href");
  // A tab that the user opens from a link has no storage of the tab before.
  const other = await page.context().newPage();
  await other.goto(`${url}/${href}`);
  await other.getByText("No events here.").waitFor();
  assert.equal(await other.locator(".where").innerText(), `${new URL(origin).host} as ada`);
  assert.equal(await other.title(), `${name} · Events · Lately · ${new URL(origin).host}`);

  await page.close();
  await other.evaluate(() => sessionStorage.clear());
  await other.reload();
  await other.getByRole("dialog").waitFor();
  assert.equal(await other.getByLabel("URL", { exact: true }).inputValue(), origin, "no other tab has the token");
});

test("a stack's streams have an address of their own, which a link in a new tab knows too", async (t) => {
  const name = await topic();
  const [origin, live] = [await elsewhere(t, { waits: true }), await elsewhere(t, { streams: true })];
  const page = await open(t, `#events?topic=${name}`, { origins: [origin, live], expected: [/ERR_/] });
  const requests = [];
  page.context().on("request", (request) => requests.push(new URL(request.url())));
  await connect(page, origin, "ada", { live: `${live}/`, how: "Live" });
  await page.getByText("No events here.").waitFor();
  await post(name, { type: "note.added", actor: "bob", data: { text: "streamed" } });
  await entries(page, { name: /streamed/ }).waitFor();
  const other = await page.context().newPage();
  await other.goto(`${url}/${await page.getByRole("link", { name: "Events", exact: true }).getAttribute("href")}`);
  await entries(other, { name: /streamed/ }).waitFor();
  await link(other).getByText("Live", { exact: true }).waitFor();
  for (const { pathname, origin: at, search } of requests.filter(({ port }) => port !== new URL(url).port)) {
    assert.equal(at, pathname.endsWith("/live") ? live : origin, pathname);
    assert.doesNotMatch(search, /token|ada/);
  }
  assert.ok(requests.some(({ pathname }) => pathname.endsWith("/live")));
  assert.ok(!requests.some(({ searchParams }) => searchParams.has("wait")));
});

test("without streams a page waits for events, also if the address of the streams does not respond", async (t) => {
  const name = await topic();
  const origin = await elsewhere(t, { waits: true });
  const page = await open(t, `#events?topic=${name}`, { origins: [origin, "http://localhost:9"], refused: [404], expected: [/ERR_/] });
  for (const live of ["", "http://localhost:9"]) {
    await connect(page, origin, "ada", { live, how: "Live, by pages" });
    await post(name, { type: "note.added", actor: "bob", data: { text: `waited for, ${live}.` } });
    await entries(page, { name: `waited for, ${live}.` }).waitFor();
    const waits = (request) => request.url().includes("wait=15");
    const next = page.waitForRequest(waits);
    await post(name, { type: "note.added", actor: "bob", data: { text: `and again, ${live}.` } });
    await entries(page, { name: `and again, ${live}.` }).waitFor();
    await next;
    assert.equal(await page.locator(".outage:visible, .problem").count(), 0);
  }
  await page.evaluate(() => (location.hash = "requests"));
  await page.getByText("Median latency").waitFor();
});

test("a stream whose token is revoked ends, and the page says that it is not live", async (t) => {
  const name = await topic();
  const origin = await elsewhere(t, { streams: true });
  const page = await open(t, `#events?topic=${name}`, { origins: [origin], refused: [403], expected: [/ERR_/] });
  const session = { user: "ada", scopes: ["read"], ttl_seconds: 3600 };
  const { id, token } = (await api("POST", "/sessions", session)).data;
  await connect(page, origin, token, { how: "Live" });
  await post(name, { type: "note.added", actor: "bob", data: { text: "before" } });
  await entries(page, { name: /before/ }).waitFor();
  await api("DELETE", `/sessions/${id}`);
  // A list that is read again just then has the problem, too.
  await page.locator(".problem").getByText("403 invalid-token").first().waitFor({ timeout: 120_000 });
  await link(page).getByText("Not live").waitFor();
  const requests = [];
  page.on("request", (request) => requests.push(request.url()));
  await page.waitForTimeout(5000);
  assert.deepEqual(requests, [], "a refused request is not repeated");
});

test("deletion is not offered again after the token was refused", async (t) => {
  const name = await topic();
  const note = (actor, text) => ({ type: "note.added", actor, data: { text } });
  await post(name, [note("bob", "first of bob"), note("bob", "second of bob"), note("ada", "mine")]);
  const origin = await elsewhere(t);
  const page = await open(t, "", { origins: [origin], refused: [403, ...EARLIER] });
  await connect(page, origin, "ada");
  await page.evaluate((hash) => (location.hash = hash), `events?topic=${name}`);
  const ask = page.getByRole("button", { name: "Delete…" });
  const refusal = page.getByText(`This token may not delete events of bob in ${name}.`);
  await entries(page, { name: /first of bob/ }).click();
  await ask.click();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("alert").getByText("403 forbidden").waitFor();
  await refusal.waitFor();
  await entries(page, { name: /second of bob/ }).click();
  await page.getByRole("complementary", { name: "The event" }).getByText("second of bob").waitFor();
  await refusal.waitFor();
  assert.equal(await ask.count(), 0);
  await entries(page, { name: /mine/ }).click();
  await ask.click();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await entries(page, { name: /mine/ }).waitFor({ state: "detached" });
});

test("a feed of another API opens for the token's user, and for nobody else", async (t) => {
  const origin = await elsewhere(t);
  const page = await open(t, "#events?feed=~", { origins: [origin], expected: [/ERR_CONNECTION/], refused: EARLIER });
  await connect(page, origin, "dev");
  await page.getByText("No name is chosen.").waitFor();
  await connect(page, origin, "ada");
  await page.locator(".where", { hasText: " as ada" }).waitFor();
  await page.getByRole("listbox", { name: "Feed of ada" }).or(page.getByText("This feed is empty.")).first().waitFor();
});

test("the sessions' panel shows the user and the scopes of the page's own token", async (t) => {
  const page = await open(t, "#sessions");
  const own = page.getByRole("region", { name: "This page's token" });
  await own.getByText("admin").waitFor();
  assert.match(await own.innerText(), /User\s+none\s+Scopes\s+admin\s+Topics\s+all\s+Until\s+\d/);
});
