import assert from "node:assert/strict";
import http from "node:http";
import { test } from "node:test";

import { entries, open, post, topic, url } from "./stage.mjs";

/** The API at another origin, as API Gateway serves it: with CORS, and without the local routes. */
async function elsewhere(t) {
  const target = new URL(url);
  const server = http.createServer((request, response) => {
    const allow = {
      "Access-Control-Allow-Origin": request.headers.origin ?? "*",
      "Access-Control-Allow-Headers": "authorization, content-type, if-match, idempotency-key",
      "Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE",
      "Access-Control-Expose-Headers": "lately-cost, etag",
    };
    if (request.method === "OPTIONS") return response.writeHead(204, allow).end();
    if (request.url.startsWith("/local/")) return response.writeHead(404, allow).end('{"message":"Not Found"}');
    const { origin, referer, ...headers } = request.headers;
    const onward = http.request(
      {
        host: target.hostname,
        port: target.port,
        path: request.url,
        method: request.method,
        headers: { ...headers, host: target.host },
      },
      (answer) => {
        response.writeHead(answer.statusCode, { ...answer.headers, ...allow });
        answer.pipe(response);
      },
    );
    request.pipe(onward);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://localhost:${server.address().port}`;
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
  assert.deepEqual(panels, ["Timeline", "Feeds", "Sources", "Issues", "Consumers"]);
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
  await page.getByRole("button", { name: "Connect…" }).click();
  await page.getByLabel("URL").fill(origin);
  await page.getByLabel("Token").fill("ada");
  await page.getByRole("button", { name: "Connect", exact: true }).click();
  await page.getByText("Polling").waitFor();
  await page.evaluate((hash) => (location.hash = hash), `timeline?topic=${name}`);
  const link = page.getByRole("link", { name: "Timeline", exact: true });
  await page.locator("nav a[aria-current]", { hasText: "Timeline" }).waitFor();
  const href = await link.getAttribute("href");
  // A tab that the user opens from a link has no storage of the tab before.
  const other = await page.context().newPage();
  await other.goto(`${url}/${href}`);
  await other.getByText("No events here.").waitFor();
  assert.equal(await other.locator(".where").innerText(), new URL(origin).host);
  assert.equal(await other.title(), `${name} · Timeline · Lately · ${new URL(origin).host}`);

  await page.close();
  await other.evaluate(() => sessionStorage.clear());
  await other.reload();
  await other.getByRole("dialog").waitFor();
  assert.equal(await other.getByLabel("URL").inputValue(), origin, "no other tab has the token");
});

test("a feed of another API opens for the token's user, and for nobody else", async (t) => {
  const origin = await elsewhere(t);
  const page = await open(t, "#feeds", { origins: [origin], expected: [/ERR_CONNECTION/] });
  const connect = async (user) => {
    await page.getByRole("button", { name: "Connect…" }).click();
    await page.getByLabel("URL").fill(origin);
    await page.getByLabel("Token").fill("ada");
    await page.getByRole("dialog").getByLabel("User").fill(user);
    await page.getByRole("button", { name: "Connect", exact: true }).click();
    await page.getByText("Polling").waitFor();
  };
  await connect("");
  await page.getByText("No user is selected.").waitFor();
  await connect("ada");
  await page.getByRole("heading", { name: "ada follows" }).waitFor();
  assert.equal(await page.getByRole("link", { name: "bob", exact: true }).count(), 0);
});
