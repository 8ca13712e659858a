import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { api, entries, fresh, open, post, rows, topic, until } from "./stage.mjs";

/** A port below the ephemeral ports, so that no other process gets it while the program is down. */
async function portOfItsOwn() {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const server = net.createServer();
    const free = await new Promise((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
    });
    if (free) return port;
  }
}

/** A program for one test, which can stop and start again at the same port with the same data. */
async function program(t) {
  const data = await mkdtemp(join(tmpdir(), "lately-console-"));
  const port = await portOfItsOwn();
  const url = `http://127.0.0.1:${port}`;
  let child = null;
  const stop = async () => {
    if (child === null) return;
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    await ended;
    child = null;
  };
  const start = async () => {
    const options = ["--no-demo", "--data", data, "--port", String(port), "--dynamodb-port", "0"];
    child = spawn(process.env.CONSOLE_PROGRAM, options, { stdio: "ignore" });
    await until("the program answers", () =>
      fetch(`${url}/health`).then(
        (answer) => answer.ok,
        () => false,
      ),
    );
  };
  t.after(async () => {
    await stop();
    await rm(data, { recursive: true, force: true });
  });
  await start();
  return { url, start, stop };
}

test("a page reconnects to a restarted server and misses nothing", async (t) => {
  const { url, start, stop } = await program(t);
  await api("PUT", "/topics/notes", {}, { url });
  const page = await open(t, "#events?topic=notes", { url, expected: [/ERR_/] });
  const link = page.locator(".link");
  await page.getByText("No events here.").waitFor();
  await post("notes", { type: "note.added", actor: "ada", data: { text: "before" } }, { url });
  await entries(page, { name: /before/ }).waitFor();
  await link.getByText("Live").waitFor();

  await stop();
  await link.getByText("Reconnecting").waitFor();
  const outage = page.locator(".outage");
  await outage.getByText(/No connection since .* The next attempt is in \d s\./).waitFor();
  await entries(page, { name: /before/ }).waitFor();

  await start();
  await post("notes", { type: "note.added", actor: "ada", data: { text: "meanwhile" } }, { url });
  await entries(page, { name: /meanwhile/ }).waitFor();
  await link.getByText("Live").waitFor();
  await outage.waitFor({ state: "hidden" });
  await post("notes", { type: "note.added", actor: "ada", data: { text: "after" } }, { url });
  await entries(page, { name: /after/ }).waitFor();
  assert.equal(await entries(page).count(), 3);
});

/** Makes the streams of a topic in the page: `stream_.opened` are their targets, and `send` and `end` use the last one. */
const streams = (page, name) =>
  page.evaluate((wanted) => {
    const [real, encoder] = [globalThis.fetch, new TextEncoder()];
    const made = { opened: [], send: (text) => made.last.enqueue(encoder.encode(text)), end: () => made.last.close() };
    globalThis.stream_ = made;
    globalThis.fetch = (target, options) => {
      if (!String(target).includes(`/topics/${wanted}/live`)) return real(target, options);
      made.opened.push(String(target));
      const start = (stream) => {
        made.last = stream;
        options.signal.addEventListener("abort", () => stream.error(options.signal.reason));
      };
      return Promise.resolve(new Response(new ReadableStream({ start })));
    };
    location.hash = `events?topic=${wanted}`;
  }, name);

const opened = (page) => page.evaluate(() => globalThis.stream_.opened);

test("a stream that ends continues at its last position, and shows a repeated event once", async (t) => {
  const name = await topic();
  const page = await open(t, "#system");
  let pages = 0;
  page.on("request", (request) => (pages += request.url().includes(`/topics/${name}/events`)));
  await streams(page, name);
  await page.getByText("No events here.").waitFor();
  const tell = (text, id, kind = "event") =>
    page.evaluate(
      ([text, id, kind]) => {
        const event = { id: `019aa0b7-9a40-7000-8000-5f3c9e1d2a7${text}`, at: new Date().toISOString(), type: "a", actor: "ada", data: { text } };
        globalThis.stream_.send(`id: ${id}\r\nevent: ${kind}\r\ndata: ${JSON.stringify(event)}\r\n\r\n`);
      },
      [text, id, kind],
    );
  await tell("1", "one");
  await tell("2", "two");
  await page.evaluate(() => globalThis.stream_.send(": a comment\n\nid: three\nevent: settled\ndata: {}\n\n"));
  await entries(page, { name: /2$/ }).waitFor();
  await page.evaluate(() => globalThis.stream_.end());
  await until("it is opened again", async () => (await opened(page)).length === 2);
  assert.deepEqual(await opened(page), [`/topics/${name}/live`, `/topics/${name}/live?cursor=three`]);
  await tell("2", "three");
  await tell("0", "three", "late");
  await entries(page, { name: /0$/ }).waitFor();
  assert.deepEqual((await rows(page)).map((row) => row.at(-1)), ["2", "1", "0"]);
  assert.equal(pages, 1, "the first page is read once");
});

test("a page that slept, or whose stream fell silent, shows what it missed", async (t) => {
  const name = await topic();
  const page = await open(t, `#events?topic=${name}`);
  await page.getByText("No events here.").waitFor();
  const session = await page.context().newCDPSession(page);
  await session.send("Page.setWebLifecycleState", { state: "frozen" });
  await post(name, { type: "note.added", actor: "ada", data: { text: "while it slept" } });
  await session.send("Page.setWebLifecycleState", { state: "active" });
  await entries(page, { name: /while it slept/ }).waitFor();

  await page.clock.install();
  await page.evaluate(() => (location.hash = "system"));
  const other = await topic();
  await streams(page, other);
  await page.clock.fastForward(1000);
  await page.getByText("No events here.").waitFor();
  await page.evaluate(() => globalThis.stream_.send("id: one\nevent: settled\ndata: {}\n\n"));
  await page.clock.fastForward(31_000);
  await page.clock.fastForward(1000);
  await until("a silent stream is opened again", async () => (await opened(page)).length === 2);
  assert.match((await opened(page))[1], /cursor=one$/);
});

/** Counts the streams that a page opens from now on. */
function counted(page) {
  const found = { streams: 0 };
  page.on("request", (request) => (found.streams += request.url().endsWith("/live")));
  return found;
}

test("an open event of a feed whose topic is deleted is gone, and the feed's stream goes on", async (t) => {
  const [name, user, author] = [await topic({ fan_out: true }), fresh("reader"), fresh("author")];
  await api("PUT", `/users/${user}/following/actor:${author}`, {});
  await post(name, { type: "note.added", actor: author, data: { text: "to be gone" } });
  const page = await open(t, `#events?feed=${user}`, { refused: [404] });
  await entries(page, { name: "to be gone" }).click();
  await page.locator(".link").getByText("Live").waitFor();
  const opened = counted(page);
  await api("DELETE", `/topics/${name}?confirm=${name}`);
  await page.getByRole("complementary", { name: "The event" }).getByText("This event was deleted.").waitFor();
  await page.waitForTimeout(1000);
  assert.equal(opened.streams, 0);
});

test("a refused token of the local routes does not end the stream of the page's own token", async (t) => {
  const name = await topic();
  const page = await open(t, "#system", { refused: [403] });
  await page.evaluate(() => sessionStorage.setItem("lately.connection", JSON.stringify({ url: "", token: "dev", admin: "ended" })));
  await page.evaluate((hash) => (location.hash = hash), `events?topic=${name}`);
  await page.reload();
  await page.locator(".link").getByText("Live").waitFor();
  const opened = counted(page);
  for (let tries = 0; tries < 2; tries += 1) await page.waitForResponse((answer) => answer.url().endsWith("/local/state") && !answer.ok());
  await page.waitForTimeout(1000);
  assert.equal(opened.streams, 0);
});

test("a topic that is created while its list is open is live when the user asks", async (t) => {
  for (const how of ["Show", "Try again"]) {
    const name = fresh("topic");
    const page = await open(t, `#events?topic=${name}`, { refused: [404] });
    await page.locator(".problem").getByText("404 topic-not-found").waitFor();
    await page.locator(".link").getByText("Not live").waitFor();
    await api("PUT", `/topics/${name}`, {});
    await page.getByRole("button", { name: how, exact: true }).click();
    await page.mouse.move(0, 0);
    await page.getByText("No events here.").waitFor();
    await page.locator(".link").getByText("Live").waitFor();
    await post(name, { type: "note.added", actor: "ada" });
    await entries(page, { name: "note.added" }).waitFor();
  }
});
