// Why an event is in a feed, or is not: where the event is stored, when it was fanned out, in whose feeds it is, and the first
// reason for which a user's feed lacks it.

import { call, isLocal, pages, path, query } from "./api.js";
import { card, el, factList, field, form, suggested } from "./dom.js";
import { PEOPLE } from "./compose.js";
import { plural, seconds } from "./format.js";
import { key } from "./key.js";
import { pressed, showLast } from "./task.js";

/** The most pages of a user's follows to read. */
const PAGES = 10;

/** The card of an event. It takes the focus. */
export function why(event, signal) {
  const stored = el("div", {});
  const said = el("div", { class: "said", role: "status" });
  const user = suggested(isLocal() ? PEOPLE : [], { required: true, placeholder: "a user" });
  const ask = el("button", { type: "submit" }, "Why not?");
  const answer = () => pressed(ask, said, async () => said.replaceChildren(el("p", {}, ...(await reason(event, user.value.trim(), signal)))));
  const element = card("Why?", stored, form({ class: "inline" }, answer, field("In the feed of", user), ask), said);
  element.classList.add("why");
  if (isLocal()) showLast(stored, signal, async () => stored.replaceChildren(factList(await places(event, signal))));
  setTimeout(() => user.focus());
  return element;
}

/** Where the event is stored. Only the local program shows items. */
async function places({ topic, id }, signal) {
  const { items } = (await call("GET", path("local", "storage", "events", topic, id), { signal })).data;
  const of = (place) => items.filter((it) => it.place === place);
  const [event] = of("event");
  const users = of("feed").map(({ pk }) => pk.replace(/^FEED#/, ""));
  const copies = [...of("source"), ...of("feed")];
  const times = copies.map(({ written_at: at }) => Date.parse(at)).filter(Boolean);
  const waited = event.written_at && times.length > 0 ? (Math.max(...times) - Date.parse(event.written_at)) / 1000 : null;
  const fannedOut = copies.length === 0 ? "no copies" : waited === null ? "yes; the stream has no record of it any more" : `${seconds(Math.max(0, waited))} after its write`;
  return [
    ["stored in", key(event.pk)],
    ["timelines", of("source").length > 0 ? of("source").map(({ pk }) => el("div", {}, key(pk))) : "none"],
    ["fanned out", fannedOut],
    ["in feeds of", users.length > 0 ? users.map((user, at) => [at > 0 && ", ", el("a", { href: `#events${query({ feed: user })}` }, el("bdi", {}, user))]) : "nobody"],
  ];
}

const isMissing = (error) => {
  if (error.status !== 404) throw error;
  return null;
};

/** The first reason for which the feed of a user lacks the event, or that the feed has it. */
async function reason({ topic, id, actor, subject, at }, user, signal) {
  const get = async (target) => (await call("GET", target, { signal })).data;
  const span = { from: at, to: new Date(Date.parse(at) + 1).toISOString(), limit: 200 };
  const { events } = await get(`${path("feeds", user)}${query(span)}`);
  const own = actor === user;
  if (events.some((it) => it.id === id)) return [`It is in the feed of ${user}. `, own && "It is an own post: the write itself adds it, and it is never unread."].filter(Boolean);
  if (!(await get(path("topics", topic, "events", id)).catch(isMissing))) return ["The event was deleted, and fan-out removed its copies."];
  const settings = await get(path("topics", topic));
  if (!settings.fan_out) return [`The topic ${topic} does not fan out. `, el("a", { href: `#topics${query({ topic })}` }, "Its settings")];
  const follows = own ? [] : await followsOf(user, [`actor:${actor}`, subject && `subject:${subject}`], signal);
  if (own) return [`${user} wrote it, and an own post is added only by the write itself: imports, and posts of topics without fan-out at that time, are not added.`];
  if (follows.length === 0) return [`${user} follows neither the actor ${actor}${subject ? ` nor the subject ${subject}` : ""}. `, el("a", { href: `#follows${query({ user })}` }, "Follows")];
  const batch = isLocal() && (await get("/local/failures")).failures.find(({ records }) => records.some(({ event }) => event?.id === id));
  if (batch) return ["Fan-out gave up on the batch of this event. ", el("a", { href: "#system" }, "Redrive it")];
  const { stream, faults } = isLocal() ? await get("/local/state") : { stream: [], faults: { stream: {} } };
  const lag = Math.max(0, ...stream.map((it) => it.lag_seconds));
  if (faults.stream.paused || lag > 1) return [`Fan-out is ${seconds(lag)} behind${faults.stream.paused ? ", because the stream is paused" : ""}: the event waits. `, el("a", { href: "#system" }, "Stream and faults")];
  const early = follows.find(({ since }) => Date.parse(since) > Date.parse(at));
  if (early) return [`${user} did not follow ${early.source} then, but since ${early.since}. The backfill of a follow adds only the latest posts.`];
  return [`None of the usual reasons: ${plural(follows.length, "source")} followed in time, and no batch waits. It may be an import, which is pushed to no feed, or may have arrived this moment.`];
}

/** The follows of a user that are among the sources. */
async function followsOf(user, sources, signal) {
  const found = [];
  const target = (cursor) => `${path("users", user, "following")}${query({ limit: 200, cursor })}`;
  for await (const { data } of pages(target, PAGES, signal)) found.push(...data.following.filter(({ source }) => sources.includes(source)));
  return found;
}
