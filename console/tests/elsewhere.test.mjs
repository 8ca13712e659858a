import assert from "node:assert/strict";
import { test } from "node:test";

import { elsewhere } from "./proxy.mjs";
import { entries, open, post, topic, url } from "./stage.mjs";

/** Connects the page to another API, and waits until it polls there. */
async function connect(page, origin, token) {
  await page.getByRole("button", { name: "Connect…" }).click();
  await page.getByLabel("URL").fill(origin);
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Connect", exact: true }).click();
  await page.getByText("Polling").waitFor();
}

test("another API is polled, and has no local panels", async (t) => {
  const name = await topic();
  const origin = await elsewhere(t);
  const page = await open(t, `#timeline?topic=${name}`, { origins: [origin], refused: [403] });
  await page.getByRole("button", { name: "Connect…" }).click();
  await page.getByLabel("URL").fill(origin);
  await page.getByLabel("Token").fill("not a token");
  await page.getByRole("button", { name: "Connect", exact: true }).click();
  await page.getByRole("dialog").getByText("403 invalid-token").waitFor();
  await page.getByLabel("Token").fill("ada");
  await page.getByRole("button", { name: "Connect", exact: true }).click();

  await page.getByText("Polling").waitFor();
  const panels = await page.getByRole("navigation", { name: "Panels" }).getByRole("link").allInnerTexts();
  assert.deepEqual(panels, ["Timeline", "Feeds", "Sources", "Issues", "Records", "Topics", "Consumers", "Sessions", "Requests"]);
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

  await page.getByRole("link", { name: "Feeds" }).click();
  await page.evaluate(() => (location.hash = "feeds?user=ada"));
  await entries(page).first().waitFor();

  await page.reload();
  await page.getByText("Polling").waitFor();
  assert.equal(await page.evaluate(() => localStorage.length), 0, "the token is kept only in the tab");
  await page.getByRole("button", { name: "Connect…" }).click();
  await page.getByRole("button", { name: "Use the local program" }).click();
  await page.getByRole("link", { name: "Faults" }).waitFor();
  assert.equal(await page.evaluate(() => sessionStorage.length), 0);
});

test("a link of a connected tab opens the same API in a new tab, and names it", async (t) => {
  const name = await topic();
  const origin = await elsewhere(t);
  const page = await open(t, "", { origins: [origin] });
  await connect(page, origin, "ada");
  await page.evaluate((hash) => (location.hash = hash), `timeline?topic=${name}`);
  const link = page.getByRole("link", { name: "Timeline", exact: true });
  await page.locator("nav a[aria-current]", { hasText: "Timeline" }).waitFor();
  const href = await link.getAttribute("href");
  // A tab that the user opens from a link has no storage of the tab before.
  const other = await page.context().newPage();
  await other.goto(`${url}/${href}`);
  await other.getByText("No events here.").waitFor();
  assert.equal(await other.locator(".where").innerText(), `${new URL(origin).host} as ada`);
  assert.equal(await other.title(), `${name} · Timeline · Lately · ${new URL(origin).host}`);

  await page.close();
  await other.evaluate(() => sessionStorage.clear());
  await other.reload();
  await other.getByRole("dialog").waitFor();
  assert.equal(await other.getByLabel("URL").inputValue(), origin, "no other tab has the token");
});

test("deletion is not offered again after the token was refused", async (t) => {
  const name = await topic();
  const note = (actor, text) => ({ type: "note.added", actor, data: { text } });
  await post(name, [note("bob", "first of bob"), note("bob", "second of bob"), note("ada", "mine")]);
  const origin = await elsewhere(t);
  const page = await open(t, "", { origins: [origin], refused: [403] });
  await connect(page, origin, "ada");
  await page.evaluate((hash) => (location.hash = hash), `timeline?topic=${name}`);
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
  const page = await open(t, "#feeds", { origins: [origin], expected: [/ERR_CONNECTION/] });
  await connect(page, origin, "dev");
  await page.getByText("No user is selected.").waitFor();
  await connect(page, origin, "ada");
  await page.locator(".where", { hasText: " as ada" }).waitFor();
  await page.getByRole("heading", { name: "ada follows" }).waitFor();
  assert.equal(await page.getByRole("link", { name: "bob", exact: true }).count(), 0);
});

test("the sessions' panel shows the user and the scopes of the page's own token", async (t) => {
  const page = await open(t, "#sessions");
  const own = page.getByRole("region", { name: "This page's token" });
  await own.getByText("admin").waitFor();
  assert.match(await own.innerText(), /User\s+none\s+Scopes\s+admin\s+Topics\s+all\s+Until\s+\d/);
});
