// A chat room in the terminal: shows the latest messages of a room and those that come, and posts each line you type.
//
// The room is a topic. `follow` continues behind the page that was shown, through cut connections, so no message is
// missed. Your own messages show when they are in the room, in the order that all others see.

import { createInterface } from "node:readline/promises";

import { Lately, LatelyProblem, type Event } from "@lately/client";

const SHOWN_AT_START = 20;

const [room, name] = process.argv.slice(2);
if (!room || !name) {
  console.error("usage: npx tsx chat-room/chat.ts ROOM NAME");
  process.exit(2);
}
const { LATELY_URL: url = "http://127.0.0.1:3000", LATELY_TOKEN: token = name } = process.env;
const end = new AbortController();
type Message = { text: string } | undefined;
const messages = new Lately({ url, token, signal: end.signal }).topic<Message>(room);

/** Other people wrote this text: a control character could move the cursor, so none is printed. */
const plain = (text?: string): string => String(text ?? "").replace(/\p{Cc}/gu, " ");

function show({ at, actor, data }: Event<Message>): void {
  const time = new Date(at).toLocaleTimeString();
  console.log(`${time} ${plain(actor)}: ${plain(data?.text)}`);
}

/** Shows the latest messages, and from there on those that come. */
async function listen(): Promise<void> {
  const page = await messages.page({ limit: SHOWN_AT_START });
  page.events.reverse().forEach(show);
  // The position behind a page lags by two seconds, so messages of the page may come again.
  const shown = new Set(page.events.map(({ id }) => id));
  for await (const { event } of messages.follow({ cursor: page.newer })) {
    if (!shown.has(event.id)) show(event);
  }
}

/** Posts each line of the input. A post is repeated under its own key, so a line is never in the room twice. */
async function talk(): Promise<void> {
  for await (const line of createInterface({ input: process.stdin })) {
    const text = line.trim();
    if (!text) continue;
    try {
      await messages.post({ type: "chat.message", actor: name!, data: { text } });
    } catch (problem) {
      if (!(problem instanceof LatelyProblem)) throw problem;
      console.error(`not sent: ${text} (${problem.code}: ${problem.detail})`);
    }
  }
}

try {
  // The end of the input, Ctrl-D, ends both.
  await Promise.race([listen(), talk()]);
} catch (problem) {
  if (!(problem instanceof LatelyProblem)) throw problem;
  console.error(`${problem.code}: ${problem.detail}`);
  if (problem.code === "topic-not-found") console.error(`Create the room: lately topic create ${room}`);
  process.exitCode = 1;
} finally {
  end.abort();
  process.stdin.destroy();
}
