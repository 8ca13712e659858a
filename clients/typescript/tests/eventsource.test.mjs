// A client that knows nothing of Lately reads and resumes a live stream: the library `eventsource`, which implements the
// standard of server-sent events and lets its user send headers. Needs a program at $LATELY_URL.

import assert from "node:assert/strict";
import { once } from "node:events";
import http from "node:http";
import test from "node:test";
import { EventSource } from "eventsource";

const api = process.env.LATELY_URL;
const topic = `es-${Date.now()}`;

async function call(token, method, path, body) {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const response = await fetch(api + path, { method, headers, body: body && JSON.stringify(body) });
  assert.ok(response.ok, `${method} ${path}: ${response.status}`);
  return response.json();
}

const post = async (n) => (await call("ada", "POST", `/topics/${topic}/events`, { type: "n", actor: "ada", data: n })).id;

/** A proxy in front of the program that can cut all connections, and remembers the header of each request. */
async function proxy() {
  const lastIds = [];
  const server = http.createServer((request, response) => {
    lastIds.push(request.headers["last-event-id"]);
    const upstream = http.request(api + request.url, { headers: request.headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    upstream.on("error", () => response.destroy());
    response.on("close", () => upstream.destroy());
    upstream.end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { url: `http://127.0.0.1:${server.address().port}`, lastIds, cut: () => server.closeAllConnections(), server };
}

test("eventsource reads a stream and resumes it after a cut", { timeout: 60_000 }, async () => {
  await call("dev", "PUT", `/topics/${topic}`);
  const between = await proxy();
  const source = new EventSource(`${between.url}/topics/${topic}/live`, {
    fetch: (url, init) =>
      fetch(url, { ...init, headers: { ...init.headers, Authorization: "Bearer ada", Host: new URL(api).host } }),
  });
  const told = [];
  const ids = [];
  const until = async (id) => {
    while (!told.includes(id)) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  source.addEventListener("event", (message) => {
    told.push(JSON.parse(message.data).id);
    ids.push(message.lastEventId);
  });
  try {
    await new Promise((resolve) => source.addEventListener("settled", resolve, { once: true }));
    const first = await post(1);
    await until(first);
    // Events that are written while the connection is cut are there after it, in their order.
    between.cut();
    const away = [await post(2), await post(3), await post(4)];
    await until(away.at(-1));
    assert.deepEqual([...new Set(told)], [first, ...away]);
    assert.ok(ids.every((id) => id.length > 20));
    assert.equal(between.lastIds[0], undefined);
    assert.ok(between.lastIds.length > 1 && between.lastIds.slice(1).every((id) => id?.length > 20), `${between.lastIds}`);
  } finally {
    source.close();
    between.server.close();
    between.cut();
  }
});
