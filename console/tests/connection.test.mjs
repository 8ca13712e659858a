import assert from "node:assert/strict";
import http from "node:http";
import { test } from "node:test";

import { open, until, url } from "./stage.mjs";

/** A server that gives every request the same response. Returns its URL. */
async function server(t, body, headers) {
  const serving = http.createServer((_, response) => response.writeHead(200, headers).end(body));
  await new Promise((resolve) => serving.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    serving.closeAllConnections();
    serving.close();
  });
  return `http://localhost:${serving.address().port}`;
}

const CORS = { "Access-Control-Allow-Origin": "*", "Access-Control-Allow-Headers": "authorization" };

/** Fills in the dialog and presses Connect. Returns the dialog. */
async function connect(page, url, token = "ada") {
  const dialog = page.getByRole("dialog");
  if (!(await dialog.isVisible())) await page.getByRole("button", { name: "Connect…" }).click();
  await page.getByLabel("URL", { exact: true }).fill(url);
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Connect", exact: true }).click();
  return dialog;
}

test("a server that is not Lately is named, and the dialog stays usable", async (t) => {
  const html = await server(t, "<!doctype html><p>A page", { ...CORS, "Content-Type": "text/html" });
  const other = await server(t, '{"name":"other"}', { ...CORS, "Content-Type": "application/json" });
  const page = await open(t, "", { origins: [html, other] });
  for (const url of [html, other]) {
    const dialog = await connect(page, url);
    await dialog.getByText("This is not a Lately API").waitFor();
    await dialog.getByText(url).waitFor();
    assert.ok(await page.getByRole("button", { name: "Connect", exact: true }).isEnabled());
  }
  await page.getByRole("button", { name: "Cancel" }).click();
  assert.equal(await page.locator(".where").innerText(), "local");
});

test("a connection that the page cannot make is refused with its reason", async (t) => {
  const silent = await server(t, "{}", {});
  const page = await open(t, "", { origins: [silent], expected: [/CORS policy/, /ERR_/] });
  await (await connect(page, "localhost:3320")).getByText("The URL must begin with https:// or http://.").waitFor();
  await (await connect(page, "http://example.com")).getByText(/uses http:\/\/ only for 127.0.0.1 and localhost/).waitFor();
  await (await connect(page, silent, "tökén")).getByText(/only ASCII/).waitFor();
  await (await connect(page, silent)).getByText(/responds, but does not allow requests from http:\/\/127.0.0.1.*--allow-origin http:\/\/127.0.0.1/).waitFor();
});

test("an API that has not answered is no longer asked when the user closes the dialog", async (t) => {
  const other = "http://localhost:3999";
  const page = await open(t, "", { origins: [other] });
  await page.route(`${other}/**`, () => {});
  for (const end of ["Use the local program", "Cancel"]) {
    const asked = page.waitForRequest(`${other}/sessions/self`);
    const dialog = await connect(page, other);
    await asked;
    const isOther = (request) => request.url().startsWith(other);
    const aborted = page.waitForEvent("requestfailed", isOther);
    await dialog.getByRole("button", { name: end }).click();
    await aborted;
    assert.equal(await page.locator(".where").innerText(), "local");
  }
});

test("while another API has not answered, the page uses the old one, also after the failure", async (t) => {
  const other = "http://localhost:3999";
  const page = await open(t, "#system", { origins: [other], expected: [/ERR_/] });
  let fail;
  const failed = new Promise((resolve) => (fail = resolve));
  await page.route(`${other}/**`, (route) => failed.then(() => route.abort("connectionrefused")));
  const requests = [];
  page.on("request", (request) => requests.push(request.url()));
  const isState = (response) => response.url() === `${url}/local/state`;
  const dialog = await connect(page, other);
  await until("the other API is asked", () => requests.includes(`${other}/sessions/self`));

  const [listed] = await Promise.all([
    page.waitForResponse(/\/topics\?/),
    page.waitForResponse(isState),
    page.evaluate(() => (location.hash = "topics")),
  ]);
  assert.equal(new URL(listed.url()).origin, url);
  assert.deepEqual(requests.filter((it) => it.startsWith(other)), [`${other}/sessions/self`]);
  assert.equal(await page.locator(".where").innerText(), "local");

  fail();
  await dialog.getByText("unreachable").waitFor();
  await page.waitForResponse(isState);
  assert.equal(await page.locator(".where").innerText(), "local");
  assert.equal(await page.locator("body.offline, .outage:visible").count(), 0);
  assert.equal(await page.evaluate(() => sessionStorage.length), 0);
});
