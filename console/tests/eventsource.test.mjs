// A live stream, read by a library that knows nothing of Lately.

import assert from "node:assert/strict";
import http from "node:http";
import { test } from "node:test";

import { EventSource } from "./browser.mjs";
import { post, topic, until, url } from "./stage.mjs";

/** A way to the API that can be cut. `headers` are those of the requests so far. */
async function way(t) {
  const { hostname, port, host } = new URL(url);
  const headers = [];
  const server = http.createServer((request, response) => {
    headers.push(request.headers);
    const { url: path, method } = request;
    const onward = http.request({ hostname, port, path, method, headers: { ...request.headers, host } }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    response.on("close", () => onward.destroy());
    onward.on("error", () => response.destroy());
    request.pipe(onward);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = () => server.closeAllConnections();
  t.after(() => {
    cut();
    server.close();
  });
  return { headers, cut, url: `http://127.0.0.1:${server.address().port}` };
}

const note = (text) => ({ type: "note.added", actor: "ada", data: { text } });

test("an EventSource reads a stream, and continues with the last id after a cut", async (t) => {
  const name = await topic();
  const through = await way(t);
  const authorized = (input, init) => fetch(input, { ...init, headers: { ...init.headers, Authorization: "Bearer ada" } });
  const source = new EventSource(`${through.url}/topics/${name}/live`, { fetch: authorized });
  t.after(() => source.close());
  const [texts, ids, positions] = [[], new Set(), []];
  for (const kind of ["event", "late"])
    source.addEventListener(kind, ({ data, lastEventId }) => {
      const event = JSON.parse(data);
      // After a cut, events of the last two seconds may come again.
      if (!ids.has(event.id)) texts.push(event.data.text);
      ids.add(event.id);
      positions.push(lastEventId);
    });
  source.addEventListener("settled", ({ lastEventId }) => positions.push(lastEventId));
  await new Promise((resolve) => source.addEventListener("open", resolve, { once: true }));
  const expected = [];
  for (let round = 0; round < 3; round += 1) {
    const batch = Array.from({ length: 20 }, (_, at) => `${round}.${at}`);
    expected.push(...batch);
    await post(name, batch.map(note));
    await until(`round ${round}`, () => texts.length === expected.length);
    await until("there is a position to continue at", () => positions.at(-1));
    through.cut();
    // These land while there is no connection.
    expected.push(`between ${round}`);
    await post(name, note(`between ${round}`));
    await until("it has come after the cut", () => texts.length === expected.length);
  }
  assert.deepEqual(texts, expected, "each event once, in order");
  const [first, ...later] = through.headers.map((each) => each["last-event-id"]);
  assert.equal(first, undefined);
  assert.ok(later.length >= 3 && later.every((id) => positions.includes(id)), later.join(" "));
});

test("an EventSource with a token that is not valid stops, and a refusal is no stream", async (t) => {
  const name = await topic();
  const answers = [];
  const source = new EventSource(`${url}/topics/${name}/live?token=ada`, {
    fetch: async (input, init) => {
      const answer = await fetch(input, init);
      answers.push(answer.status);
      return answer;
    },
  });
  t.after(() => source.close());
  await new Promise((resolve) => source.addEventListener("error", resolve, { once: true }));
  await until("it is closed", () => source.readyState === EventSource.CLOSED);
  assert.deepEqual(answers, [401]);
});
