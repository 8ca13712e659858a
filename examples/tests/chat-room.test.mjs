// The chat room as people use it: two processes, with lines typed into one and read from the other.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { Lately } from "@lately/client";

const url = process.env.LATELY_URL;
const lately = new Lately({ url, token: "dev" });
const room = `room-${process.pid}`;

/** Only failures reach this bound. */
const PATIENCE_SECONDS = 60;

/** Starts the chat of a person, with the person's own token. */
function chat(room, name, token = name) {
  const child = spawn("node", ["--import", "tsx", "chat-room/chat.ts", room, name], {
    env: { ...process.env, LATELY_TOKEN: token },
  });
  const person = { shown: "", told: "", ended: new Promise((resolve) => child.on("close", resolve)) };
  child.stdout.on("data", (text) => (person.shown += text));
  child.stderr.on("data", (text) => (person.told += text));
  person.type = (line) => child.stdin.write(`${line}\n`);
  person.leave = () => (child.stdin.end(), person.ended);
  person.sees = async (text, where = "shown") => {
    const latest = Date.now() + PATIENCE_SECONDS * 1000;
    while (!person[where].includes(text)) {
      const isLate = Date.now() > latest || child.exitCode !== null;
      assert.ok(!isLate, `${name} does not see ${text}: ${person.shown}${person.told}`);
      await pause(20);
    }
  };
  return person;
}

test("people see the latest messages and those that come", async () => {
  await lately.topic(room).put();
  await lately.topic(room).post({ type: "chat.message", actor: "carol", data: { text: "from before \u001b[2J" } });
  const [ada, bob] = [chat(room, "ada"), chat(room, "bob")];
  await Promise.all([ada, bob].map((person) => person.sees("carol: from before  [2J\n")));
  ada.type("Hello, Bob");
  await bob.sees("ada: Hello, Bob\n");
  bob.type("Hello, Ada");
  await Promise.all([ada, bob].map((person) => person.sees("bob: Hello, Ada\n")));
  assert.deepEqual([await ada.leave(), await bob.leave()], [0, 0]);
  for (const { shown, told } of [ada, bob]) {
    const said = shown.split("\n").map((line) => line.replace(/^.*?(?=carol:|ada:|bob:)/, ""));
    assert.deepEqual(said, ["carol: from before  [2J", "ada: Hello, Bob", "bob: Hello, Ada", ""]);
    assert.equal(told, "");
  }
});

test("a message that is refused is shown as not sent", async () => {
  await lately.topic(room).put();
  const bob = chat(room, "ada", "bob");
  bob.type("I am Ada");
  await bob.sees("not sent: I am Ada (", "told");
  assert.equal(await bob.leave(), 0);
});

test("a room that does not exist ends the chat with the command that creates it", async () => {
  const ada = chat("no-such-room", "ada");
  assert.equal(await ada.ended, 1);
  assert.match(ada.told, /topic-not-found.*\n.*lately topic create no-such-room/);
});
