// Compiled, never run: the calls that must be accepted, and the mistakes that must be refused.

import { api, Lately, LatelyProblem, type Event, type Versioned } from "../dist/index.js";
import { useFeed, useTimeline, useUnread } from "../dist/react.js";

const lately = new Lately({ url: "http://127.0.0.1:3000", token: () => "dev" });

export async function accepted(): Promise<void> {
  const event: Event = await lately.topic("posts").post({ type: "note", actor: "ada" }, { key: null });
  for await (const { topic, id } of lately.actor("ada").events({ topic: "posts", wait_for: event.id }))
    console.log(topic, id);
  for await (const { event, cursor, late } of lately.feed("ada").follow()) console.log(event.topic, cursor, late);
  const profile: Versioned<{ name: string }> = await lately.user("ada").profile<{ name: string }>().get();
  await lately.user("ada").profile<{ name: string }>().put({ name: "Ada" }, profile.revision);
  await lately
    .repo("octo", "hello")
    .issue(7)
    .update((issue) => ({ labels: [...issue.labels, "ui"] }));
  const { state, finished_at }: api.TopicDeletion = await lately.topic("posts").delete();
  const { counts }: api.Erasure = await lately.erasures.begin({ actor: "ada", confirm: "ada" });
  console.log(state, finished_at, counts.events);
  const unread: api.Unread = await lately.send(api.getUnread("ada"));
  console.log(unread.more);
  try {
    await lately.health();
  } catch (error) {
    if (error instanceof LatelyProblem && error.code === "unavailable") console.log(error.retryAfter);
  }
}

interface Note {
  text: string;
}

export async function typed(): Promise<void> {
  const posts = lately.topic<Note>("posts");
  const { data } = await posts.post({ type: "note", actor: "ada", data: { text: "Hi" }, at: new Date() });
  const texts: string[] = [data.text];
  for await (const { data } of posts.events({ from: new Date(0), to: "2026-11-01T00:00:00Z" })) texts.push(data.text);
  const page = await lately.actor<Note>("ada").page({ limit: 1 });
  for await (const { event } of lately.actor<Note>("ada").follow({ cursor: page.newer, topic: "posts" }))
    texts.push(event.data.text);
  for await (const { event } of lately.feed<Note>("ada").follow()) texts.push(event.data.text);
  for await (const { events, late } of posts.consumer("log").batches()) texts.push(...[...events, ...late].map(textOf));
  await posts.consumer("log").put({ start: new Date() });
  await posts.consumer("log").seek(new Date());
  const { events } = await lately.send(api.getLatest<Note>("posts"));
  const maybe: string | undefined = (await lately.topic<Note | undefined>("posts").event("1")).data?.text;
  console.log(texts, events[0]?.data.text, maybe);
  // @ts-expect-error: the text is missing.
  await posts.post({ type: "note", actor: "ada", data: {} });
  // @ts-expect-error: each event of this topic has data.
  await posts.post({ type: "note", actor: "ada" });
  // @ts-expect-error: topics have no filter by topic.
  posts.follow({ topic: "posts" });
  // @ts-expect-error: feeds have none either.
  lately.feed("ada").follow({ topic: "posts" });
}

const textOf = ({ data }: Event<Note>): string => data.text;

export async function refused(): Promise<void> {
  // @ts-expect-error: an event needs an actor.
  await lately.topic("posts").post({ type: "note" });
  // @ts-expect-error: no such field.
  await lately.topic("posts").post({ type: "note", actor: "ada", colour: "red" });
  // @ts-expect-error: topics have no months.
  await lately.topic("posts").page({ month: "2026-11" });
  // @ts-expect-error: no such bucket.
  await lately.topic("posts").put({ bucket: "week" });
  // @ts-expect-error: a change of an issue needs its revision.
  await lately.repo("octo", "hello").issue(7).change({ status: "closed" });
  // @ts-expect-error: an erasure repeats the name.
  await lately.erasures.begin({ user: "ada" });
  // @ts-expect-error: timelines of actors cannot be posted to.
  await lately.actor("ada").post({ type: "note", actor: "ada" });
}

export function View(): unknown {
  const { entries, post, retry } = useTimeline(lately.topic("posts"));
  const timeline = useTimeline(lately.subject("thing:1"), { limit: 10 });
  const topic: string | undefined = timeline.entries[0]?.event.topic;
  // @ts-expect-error: only topics can be posted to.
  timeline.post;
  const { unread, more } = useUnread(lately.feed("ada"));
  const { markSeen } = useFeed(lately.feed("ada"));
  const notes = useTimeline<Note>(lately.topic("posts"));
  void notes.post({ type: "note", actor: "ada", data: { text: "Hi" } });
  // @ts-expect-error: not the topic's data.
  void notes.post({ type: "note", actor: "ada", data: "Hi" });
  const texts: (string | undefined)[] = [
    notes.entries[0]?.event.data.text,
    useTimeline<Note>(lately.subject("thing:1")).entries[0]?.event.data.text,
    useFeed(lately.feed<Note>("ada")).entries[0]?.event.data.text,
  ];
  return [entries, post, retry, topic, unread, more, markSeen, texts];
}
