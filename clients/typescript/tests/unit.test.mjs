// The parts that no case of the conformance suite can see: chunks of bytes, signals, tokens, sizes, generated code.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { build } from "esbuild";

import { batchesOf } from "../dist/batches.js";
import { Seen } from "../dist/follow.js";
import { Lately, LatelyProblem } from "../dist/index.js";
import { frames } from "../dist/sse.js";

const file = (path) => fileURLToPath(new URL(path, import.meta.url));
const MOST_BYTES = 8 * 1024;

/** An id of an event, from its time in milliseconds. */
const idAt = (time, n = 0) => {
  const hex = time.toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${String(n).padStart(12, "0")}`;
};

const json = (body, init) => new Response(JSON.stringify(body), init);

test("the generated code is that of the OpenAPI document", () => {
  execFileSync("python3", [file("../../generate"), "--check"], { stdio: "inherit" });
});

test("the console has this client's code", () => {
  execFileSync(process.execPath, [file("../bundle.mjs"), "--check"], { stdio: "inherit" });
});

for (const entry of ["index", "react"]) {
  test(`the entry ${entry} has at most 8 KB, minified and compressed`, async () => {
    const { outputFiles } = await build({
      entryPoints: [file(`../dist/${entry}.js`)],
      bundle: true,
      minify: true,
      format: "esm",
      external: ["react"],
      write: false,
    });
    const size = gzipSync(outputFiles[0].contents, { level: 9 }).length;
    console.log(`${entry}: ${size} bytes`);
    assert.ok(size <= MOST_BYTES, `${size} bytes`);
  });
}

test("types compile under strict, and mistakes do not", () => {
  execFileSync(process.execPath, [file("../node_modules/typescript/bin/tsc"), "--project", file(".")], {
    stdio: "inherit",
  });
});

test("a stream is parsed however its bytes are cut", async () => {
  const text = 'event: event\r\nid: c1\r\ndata: {"text":"ü€😀"}\r\n\r\n: comment\n\nevent: settled\nid: c2\n\nid: lost';
  const bytes = new TextEncoder().encode(text);
  for (const step of [1, 2, 3, 7, bytes.length]) {
    const stream = new ReadableStream({
      start(controller) {
        for (let at = 0; at < bytes.length; at += step) controller.enqueue(bytes.slice(at, at + step));
        controller.close();
      },
    });
    const found = [];
    for await (const frame of frames(stream)) found.push(frame);
    assert.deepEqual(found, [
      { event: "event", id: "c1", data: '{"text":"ü€😀"}' },
      { event: "settled", id: "c2", data: "" },
    ]);
  }
});

test("follow remembers the last 65,536 ids, and at most twice as many", () => {
  const seen = new Seen();
  for (let n = 0; n < 200_000; n += 1) assert.ok(seen.add(idAt(1, n)));
  for (let n = 200_000 - 65_536; n < 200_000; n += 1) assert.ok(!seen.add(idAt(1, n)));
  assert.ok(seen.add(idAt(1, 200_000 - 2 * 65_536)));
});

test("batches have at most 500 events and 3 MiB as they are sent", () => {
  const events = (count, data) => Array.from({ length: count }, () => ({ type: "a", actor: "b", data }));
  assert.deepEqual(
    [...batchesOf(events(1001, 0))].map((batch) => batch.length),
    [500, 500, 1],
  );
  for (const batch of batchesOf(events(400, "ü".repeat(20_000)))) {
    assert.ok(Buffer.byteLength(JSON.stringify(batch)) <= 3 * 1024 * 1024);
  }
  assert.deepEqual(
    [...batchesOf(events(400, "ü".repeat(20_000)))].map((batch) => batch.length),
    [78, 78, 78, 78, 78, 10],
  );
  assert.deepEqual([...batchesOf([])], []);
});

test("a token may come from a function, which every attempt calls", async () => {
  const sent = [];
  const tokens = ["old", "new"];
  const fetch = async (_, { headers }) => {
    sent.push(headers.get("Authorization"));
    return sent.length === 1 ? json({ message: "busy" }, { status: 429 }) : json({ status: "ok" });
  };
  const lately = new Lately({ url: "http://x", token: async () => tokens.shift(), backoff: 0, fetch });
  await lately.health();
  assert.deepEqual(sent, ["Bearer old", "Bearer new"]);
});

test("another function may parse JSON, also of a stream", async () => {
  const event = `{"id":"${idAt(1)}","data":{"amount":0.10}}`;
  const fetch = async (target) =>
    new Response(String(target).endsWith("/live") ? `id: c\nevent: event\ndata: ${event}\n\n` : `{"events":[${event}]}`);
  const parse = (text) => JSON.parse(text, (name, value) => (name === "amount" ? /"amount":([\d.]+)/.exec(text)[1] : value));
  const topic = new Lately({ url: "http://x", fetch, parse }).topic("t");
  assert.equal((await topic.page()).events[0].data.amount, "0.10");
  for await (const { event } of topic.follow()) {
    assert.equal(event.data.amount, "0.10");
    break;
  }
});

test("a problem of the gateway has the request's id of the header", async () => {
  const fetch = async () => json({ message: "Not Found" }, { status: 404, headers: { "apigw-requestid": "r1" } });
  const problem = await new Lately({ url: "http://x", fetch }).health().catch((error) => error);
  assert.deepEqual([problem.code, problem.request_id], ["route-not-found", "r1"]);
});

test("a token that is refused is asked for once more, also by a stream", async () => {
  const invalid = () => json({ code: "invalid-token", title: "Invalid token" }, { status: 403 });
  for (const refusal of [
    () => json({ code: "missing-token", title: "Missing token" }, { status: 401 }),
    invalid,
    // The gateway of AWS.
    () => json({ message: "Forbidden" }, { status: 403 }),
  ]) {
    let tokens = 0;
    const token = () => `${(tokens += 1)}`;
    const fetch = async (_, { headers }) =>
      headers.get("Authorization") === "Bearer 1" ? refusal() : json({ status: "ok" });
    const lately = new Lately({ url: "http://x", token, backoff: 0, fetch });
    assert.deepEqual(await lately.health(), { status: "ok" });
    assert.equal(tokens, 2);
  }
  const refusals = { a: invalid, b: () => json({ code: "forbidden", title: "Forbidden" }, { status: 403 }) };
  for (const [name, asked] of [
    ["a", 2],
    ["b", 1],
  ]) {
    let tokens = 0;
    const token = () => `${(tokens += 1)}`;
    const lately = new Lately({ url: "http://x", token, backoff: 0, fetch: async () => refusals[name]() });
    await assert.rejects(lately.health(), LatelyProblem);
    assert.equal(tokens, asked);
    tokens = 0;
    await assert.rejects(lately.topic("t").follow().next(), LatelyProblem);
    assert.equal(tokens, asked);
    await assert.rejects(lately.using({ token: "fixed", onCall: () => (tokens += 10) }).health(), LatelyProblem);
    assert.equal(tokens, asked + 10);
  }
  let tokens = 0;
  const frame = `event: event\nid: c1\ndata: {"id": "${idAt(1)}"}\n\n`;
  const streams = [invalid, () => new Response(frame), invalid, () => new Response(frame.replaceAll("1", "2"))];
  const options = { token: () => `${(tokens += 1)}`, backoff: 0, fetch: async () => streams.shift()() };
  const follow = new Lately({ url: "http://x", ...options }).topic("t").follow();
  assert.equal((await follow.next()).value.cursor, "c1");
  assert.equal((await follow.next()).value.cursor, "c2");
  assert.equal(tokens, 4);
  await follow.return();
});

test("a time may be a Date, in a query and in a body", async () => {
  const sent = [];
  const fetch = async (url, { body }) => (sent.push([url.search, body]), json({ id: idAt(1) }));
  const topic = new Lately({ url: "http://x", fetch }).topic("t");
  const at = new Date(Date.UTC(2026, 10, 26, 1, 2, 3, 4));
  await topic.page({ from: at });
  await topic.post({ type: "note", actor: "ada", at });
  await topic.consumer("c").seek(at);
  assert.deepEqual(sent, [
    ["?from=2026-11-26T01%3A02%3A03.004Z", null],
    ["", '{"type":"note","actor":"ada","at":"2026-11-26T01:02:03.004Z"}'],
    ["", '{"to":"2026-11-26T01:02:03.004Z"}'],
  ]);
});

test("a URL without a scheme is refused when the client is made", () => {
  for (const url of ["127.0.0.1:3000", "localhost:3000", "", "ftp://x", "http://"]) {
    assert.throws(() => new Lately({ url }), { name: "TypeError", message: /must begin with http:\/\/ or https:\/\// });
    assert.throws(() => new Lately({ url: "http://x", liveUrl: url }), TypeError);
  }
});

test("mistakes of the caller are no problems of the API, and are not repeated", async () => {
  let tokens = 0;
  const token = () => {
    tokens += 1;
    throw new RangeError("no token");
  };
  const lately = new Lately({ url: "http://x", token, fetch: async () => json({}) });
  await assert.rejects(lately.health(), RangeError);
  await assert.rejects(lately.topic("t").follow().next(), RangeError);
  assert.equal(tokens, 2);
  const event = { type: "note", actor: "ada", data: 1n };
  await assert.rejects(lately.using({ token: "dev" }).topic("t").post(event), TypeError);
});

test("a signal ends a call, its pauses and follow with the signal's reason", async () => {
  const reason = new Error("The page was left.");
  const never = (_, { signal }) =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
  const busy = async () => json({ message: "busy" }, { status: 429, headers: { "Retry-After": "50" } });
  for (const [fetch, call] of [
    [never, (lately) => lately.health()],
    [busy, (lately) => lately.health()],
    [never, (lately) => lately.topic("t").follow().next()],
    [busy, (lately) => lately.topic("t").follow().next()],
  ]) {
    const end = new AbortController();
    const waiting = call(new Lately({ url: "http://x", fetch, signal: end.signal }));
    setTimeout(() => end.abort(reason), 20);
    await assert.rejects(waiting, reason);
  }
});

test("clients that using makes share the sum of costs, and options of their own", async () => {
  const calls = [];
  const fetch = async () => json({ status: "ok" }, { headers: { "Lately-Cost": "read_units=1.5, calls=2" } });
  const lately = new Lately({ url: "http://x/", fetch });
  await lately.health();
  await lately.using({ onCall: (call) => calls.push(call) }).health();
  assert.deepEqual(lately.cost, { read_units: 3, calls: 4 });
  assert.deepEqual(calls, [
    { method: "GET", path: "/health", status: 200, attempt: 1, cost: { read_units: 1.5, calls: 2 } },
  ]);
});

test("a problem is an error with a message and a cause", async () => {
  const cause = new TypeError("no route");
  const lately = new Lately({ url: "http://x", attempts: 1, fetch: async () => Promise.reject(cause) });
  const problem = await lately.health().catch((error) => error);
  assert.ok(problem instanceof LatelyProblem && problem instanceof Error);
  assert.equal(problem.cause, cause);
  assert.match(problem.message, /^0 unreachable: /);
});

test("a problem's message has the first fault, or the code of the cause", async () => {
  const errors = [
    { path: "/type", message: "event type: must start with a letter" },
    { path: "/actor", message: "actor: is empty" },
  ];
  const detail = "The request has 2 faults to correct.";
  const fetch = async () => json({ code: "invalid-event", title: "Invalid", detail, errors }, { status: 422 });
  await assert.rejects(new Lately({ url: "http://x", fetch }).health(), {
    message: "422 invalid-event: The request has 2 faults to correct. /type: event type: must start with a letter",
    detail,
  });
  await assert.rejects(new Lately({ url: "http://127.0.0.1:2", attempts: 1 }).health(), {
    detail: "TypeError: fetch failed (ECONNREFUSED)",
  });
});
