import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { api, entries, open, post, topic, until } from "./stage.mjs";

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
  const page = await open(t, "#timeline?topic=notes", { url, expected: [/ERR_/] });
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

test("a page that was too slow reads lost events and continues", async (t) => {
  const name = await topic();
  const page = await open(t, "#faults");
  // An open stream that sends no events, and at last the message that some were lost.
  await page.evaluate((wanted) => {
    const real = globalThis.fetch;
    globalThis.fetch = (target, options) => {
      if (!String(target).includes(`topic=${wanted}`) || !String(target).includes("/local/live"))
        return real(target, options);
      globalThis.fetch = real;
      const start = (stream) => {
        globalThis.lose_ = () => stream.enqueue(new TextEncoder().encode("event: lost\ndata: {}\n\n"));
      };
      return Promise.resolve(new Response(new ReadableStream({ start })));
    };
    location.hash = `timeline?topic=${wanted}`;
  }, name);
  await page.getByText("No events here.").waitFor();
  await post(name, { type: "note.added", actor: "ada", data: { text: "first" } });
  assert.equal(await entries(page).count(), 0);
  await page.evaluate(() => globalThis.lose_());
  await entries(page, { name: /first/ }).waitFor();
  await page.locator(".link").getByText("Live").waitFor();
  await post(name, { type: "note.added", actor: "ada", data: { text: "second" } });
  await entries(page, { name: /second/ }).waitFor();
  assert.equal(await entries(page).count(), 2);
});
