// The base of all tests: a browser with a fresh context, a page that must not misbehave, and the API beside it.
//
// A page fails its test if it logs an error, throws, breaks its Content-Security-Policy or sends a request to another
// origin.

import assert from "node:assert/strict";
import { after } from "node:test";
import { fileURLToPath } from "node:url";

import { api, DESKTOP, launch, url } from "./browser.mjs";

export { api, axeSource, DESKTOP, PHONE, post, url } from "./browser.mjs";

/** The longest wait in seconds, long enough for a slow machine. */
const PATIENCE = 60;

let browser = null;

after(async () => browser?.close());

/**
 * Opens a page for a test. `refused` are error statuses that the test provokes and the browser logs, `expected` other lines
 * of the log. `origins` are further origins that the page may send requests to, and `url` is the URL of another program. A
 * plain page runs the modules of `console/` instead of the one script, so that the test can import them in the page.
 */
export async function open(
  t,
  hash = "",
  { viewport = DESKTOP, colorScheme = "light", refused = [], expected = [], origins = [], url: at = url, isPlain = false, ...options } = {},
) {
  browser ??= await launch();
  const context = await browser.newContext({ viewport, colorScheme, reducedMotion: "reduce", ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE * 1000);
  const wrong = [];
  page.on("pageerror", (error) => wrong.push(`threw ${error.stack}`));
  page.on("dialog", (dialog) => wrong.push(`opened a dialog: ${dialog.message()}`));
  page.on("console", (message) => {
    const text = message.text();
    const provoked =
      refused.some((status) => text.includes(`status of ${status}`)) || expected.some((line) => line.test(text));
    if (["error", "warning"].includes(message.type()) && !provoked) wrong.push(`logged ${text}`);
  });
  const allowed = [new URL(at).origin, ...origins];
  context.on("request", (request) => {
    if (!allowed.includes(new URL(request.url()).origin)) wrong.push(`asked for ${request.url()}`);
  });
  t.after(async () => {
    await context.close();
    assert.deepEqual(wrong, []);
  });
  if (isPlain) await page.route("**/console/*.js*", (route) => route.fulfill({ path: moduleOf(route.request().url()) }));
  await page.goto(`${at}/${hash}`);
  await page
    .getByRole("heading", { level: 1 })
    .waitFor()
    .catch((error) => assert.deepEqual(wrong, [], error.message));
  return page;
}

/** The path of a module, by its URL. */
const moduleOf = (address) => fileURLToPath(new URL(`..${new URL(address).pathname.replace("/console", "")}`, import.meta.url));

let names = 0;

/** A name that no other test uses. */
export const fresh = (what) => `${what}-${process.pid}-${(names += 1)}`;

/** Creates a topic for a test. */
export async function topic(settings = {}) {
  const name = fresh("topic");
  await api("PUT", `/topics/${name}`, settings);
  return name;
}

/** Hides the page, as if the user changed to another tab, or shows it again. */
export const hide = (page, hidden) =>
  page.evaluate((value) => {
    Object.defineProperty(document, "hidden", { value, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, hidden);

/** Waits until `ask` returns a truthy value. A failure names `what` was expected. */
export async function until(what, ask, seconds = PATIENCE) {
  const latest = Date.now() + seconds * 1000;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    assert.ok(Date.now() < latest, `not within ${seconds} s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/**
 * Waits until fan-out has processed all records of before. An event that it processes after a poll returned it counts as
 * late.
 */
export function processed() {
  const began = performance.now();
  return until("fan-out has processed all records", async () => {
    const waited = (performance.now() - began) / 1000;
    const { stream } = (await api("GET", "/local/state")).data;
    // Reported in tenths of a second.
    return Math.max(...stream.map((shard) => shard.lag_seconds)) + 0.1 < waited;
  });
}

/** Opens the form that posts an event, and fills its type. Returns the form. */
export async function compose(page, type = "note.added") {
  const form = page.locator(".composer");
  if (!(await form.isVisible())) await page.getByRole("button", { name: "Post…" }).click();
  await form.getByLabel("Type").fill(type);
  return form;
}

/** The entries of a list, found by their accessible roles. */
export const entries = (page, which) => page.getByRole("listbox").getByRole("option", which);

/** The texts of the rows that a list shows, from the top. */
export const rows = (page) =>
  page
    .locator(".row:not([hidden])")
    .evaluateAll((all) =>
      all.sort((a, b) => a.ariaPosInSet - b.ariaPosInSet).map((row) => row.innerText.replace(/\s+/g, " ")),
    );
