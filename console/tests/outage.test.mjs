import assert from "node:assert/strict";
import { test } from "node:test";

import { elsewhere } from "./proxy.mjs";
import { api, entries, hide, open, post, topic, until, url } from "./stage.mjs";

/** Drops all requests of the page to the API, as if its server were down, until the returned function is called. */
async function down(page) {
  const isApi = (target) => target.pathname !== "/" && !target.pathname.startsWith("/console/");
  const drop = (route) => route.abort("connectionrefused");
  await page.route(isApi, drop);
  return () => page.unroute(isApi, drop);
}

const outage = (page) => page.locator(".outage");

const expected = [/ERR_/];

test("a panel that was opened without a server shows its data when the server is back", async (t) => {
  const name = await topic();
  await post(name, { type: "note.added", actor: "ada", data: { text: "there" } });
  const page = await open(t, "#system", { expected });
  const up = await down(page);
  await page.evaluate((hash) => (location.hash = hash), `events?topic=${name}`);
  await outage(page).getByText(/No connection since \d\d:\d\d:\d\d UTC/).waitFor();
  await page.locator("#panel .problem").getByText("unreachable").first().waitFor();
  assert.ok(await page.locator("body.offline").isVisible());
  // The attempt by the user is long before the next one.
  await outage(page).getByText(/The next attempt is in [6-8] s\./).waitFor();
  await up();
  await outage(page).getByRole("button", { name: "Try now" }).click();
  await entries(page, { name: /there/ }).waitFor();
  await outage(page).waitFor({ state: "hidden" });
  assert.equal(await page.locator(".problem").count(), 0);
});

test("a problem that may pass can be tried again", async (t) => {
  const name = await topic();
  await post(name, { type: "note.added", actor: "ada", data: { text: "there" } });
  const page = await open(t, "#system", { refused: [503] });
  let left = 2;
  const problem = { title: "Unavailable", status: 503, code: "unavailable", detail: "Try again later." };
  await page.route(/\/topics\?limit=200/, (route) =>
    (left -= 1) >= 0
      ? route.fulfill({ status: 503, contentType: "application/problem+json", body: JSON.stringify(problem) })
      : route.continue(),
  );
  await page.evaluate((hash) => (location.hash = hash), `events?topic=${name}`);
  const again = page.locator(".problem").getByRole("button", { name: "Try again" });
  await until("the user tries until it works", async () => {
    if (await again.isVisible()) await again.click({ timeout: 2000 }).catch(() => {});
    return entries(page, { name: /there/ }).isVisible();
  });
  assert.equal(await page.getByRole("heading", { level: 1 }).count(), 1);
  assert.equal(await page.getByRole("listbox").count(), 1);
});

test("an older page that failed to load can be loaded again", async (t) => {
  const name = await topic();
  await post(
    name,
    Array.from({ length: 150 }, (_, at) => ({ type: "note.added", actor: "ada", data: { text: `old ${at}.` } })),
  );
  const page = await open(t, `#events?topic=${name}`, { expected });
  await entries(page, { name: /old 149\./ }).waitFor();
  await page.route(/limit=200&cursor/, (route) => route.abort("connectionreset"));
  await page.getByRole("button", { name: "Load older" }).click();
  const again = page.getByRole("alert").getByRole("button", { name: "Try again" });
  await again.waitFor();
  await page.unroute(/limit=200&cursor/);
  await again.click();
  await page.getByText("150 events in all").waitFor();
});

test("an API that is polled and gone is an outage too", async (t) => {
  const name = await topic();
  const origin = await elsewhere(t);
  const page = await open(t, "", { expected, origins: [origin], refused: [400, 404] });
  await page.evaluate(
    (there) => sessionStorage.setItem("lately.connection", JSON.stringify({ url: there, token: "dev" })),
    origin,
  );
  await page.goto(`${url}/#events?topic=${name}`);
  await page.reload();
  await page.locator(".link").getByText("Polling").waitFor();
  await page.getByText("No events here.").waitFor();
  const up = await down(page);
  await page.locator(".link").getByText("Reconnecting").waitFor();
  await outage(page).getByText(/No connection since/).waitFor();
  await post(name, { type: "note.added", actor: "ada", data: { text: "meanwhile" } });
  await up();
  await entries(page, { name: /meanwhile/ }).waitFor();
  await page.locator(".link").getByText("Polling").waitFor();
  await outage(page).waitFor({ state: "hidden" });
});

test("during an outage the charts have a gap, and live figures are greyed out", async (t) => {
  const page = await open(t, "#system", { expected });
  const line = page.locator(".chart-line").first();
  const drawn = async () => (await line.getAttribute("d")) ?? "";
  const points = async () => (await drawn()).split(/[ML]/).length - 1;
  const colour = () => page.locator(".tile .figure").first().evaluate((it) => getComputedStyle(it).color);
  await until("the chart has a line", async () => (await points()) >= 3);
  const bright = await colour();
  const up = await down(page);
  // A page that becomes visible opens its stream anew.
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  await outage(page).getByText(/No connection since/).waitFor();
  const before = await points();
  await page.waitForTimeout(3500);
  assert.equal(await points(), before, "nothing is drawn");
  assert.notEqual(await colour(), bright);
  await up();
  await outage(page).getByRole("button", { name: "Try now" }).click();
  await until("the line goes on after a gap", async () => (await drawn()).split("M").length === 3 && (await points()) > before);
  assert.equal(await colour(), bright);
});

test("a restart of the server during a pause keeps the list, and resuming reads what is new", async (t) => {
  const name = await topic();
  await post(name, { type: "note.added", actor: "ada", data: { text: "before" } });
  const page = await open(t, `#events?topic=${name}`, { expected });
  await entries(page, { name: /before/ }).waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  await hide(page, true);
  await post(name, { type: "note.added", actor: "ada", data: { text: "meanwhile" } });
  await hide(page, false);
  await page.waitForTimeout(1000);
  assert.equal(await entries(page).count(), 1);
  await page.getByRole("button", { name: "Resume" }).click();
  await entries(page, { name: /meanwhile/ }).waitFor();
});

test("the focus moves to the content when the banner's button is gone", async (t) => {
  t.after(() => api("DELETE", "/local/faults"));
  const page = await open(t);
  await api("PUT", "/local/faults", { index_delay_seconds: 1 });
  await page.getByRole("button", { name: "End all" }).focus();
  await page.keyboard.press("Enter");
  await page.getByText("Faults are on:").waitFor({ state: "detached" });
  await until("the focus is on the content", () =>
    page.evaluate(() => ["main", "banner"].includes(document.activeElement.id)),
  );
});
