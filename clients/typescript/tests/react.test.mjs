// The hooks, in a real React in jsdom, with a real program at $LATELY_URL. Faults are injected into `fetch`.

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import { JSDOM } from "jsdom";

const { window } = new JSDOM('<main id="root"></main>');
Object.assign(globalThis, {
  window,
  document: window.document,
  navigator: window.navigator,
  IS_REACT_ACT_ENVIRONMENT: true,
});

const { act, createElement, StrictMode } = await import("react");
const { createRoot } = await import("react-dom/client");
const { Lately } = await import("../dist/index.js");
const { useFeed, useTimeline, useUnread } = await import("../dist/react.js");
const { TimelineStore } = await import("../dist/store.js");

const url = process.env.LATELY_URL;
if (!url) throw new Error("Set LATELY_URL to the address of a local program; scripts/clients does so.");

/** Only failures reach this bound. */
const PATIENCE_SECONDS = 30;

client.shared = client();

let names = 0;
const fresh = (name) => `${name}-${process.pid}-${(names += 1)}`;

/** A client whose next requests of a method fail as `faults` says. */
function client(faults = []) {
  const failing = async (address, options) => {
    const index = faults.findIndex(({ method }) => method === options.method);
    const [fault] = index < 0 ? [] : faults.splice(index, 1);
    if (fault?.held) await fault.held;
    if (fault?.status)
      return new Response(JSON.stringify({ code: fault.code, detail: "No." }), { status: fault.status });
    const response = await fetch(address, options);
    if (fault?.late) await fault.late;
    if (fault?.lost) throw new TypeError("lost");
    return response;
  };
  return new Lately({ url, token: "dev", fetch: failing, attempts: 1, pollSeconds: 0.1 });
}

/** A promise, and the function that fulfils it. */
function gate() {
  let release;
  return { held: new Promise((resolve) => (release = resolve)), release };
}

let root;

/** Shows a component that uses a hook. Returns the hook's newest result. */
async function show(hook) {
  const shown = {};
  function View() {
    shown.now = hook();
    return (shown.now.entries ?? []).map(({ id, state, event }) =>
      createElement("p", { key: id }, `${event.data} ${state}`),
    );
  }
  root = createRoot(document.getElementById("root"));
  await act(async () => root.render(createElement(StrictMode, null, createElement(View))));
  return shown;
}

afterEach(async () => act(async () => root?.unmount()));

const texts = () => [...document.querySelectorAll("p")].map((each) => each.textContent);

async function until(what, holds) {
  const latest = Date.now() + PATIENCE_SECONDS * 1000;
  while (!holds()) {
    assert.ok(Date.now() < latest, `not in time: ${what}; shown: ${texts()}`);
    await act(() => new Promise((resolve) => setTimeout(resolve, 20)));
  }
}

async function topic(lately, count = 0) {
  const topic = lately.topic(fresh("topic"));
  await topic.put();
  await topic.postAll(Array.from({ length: count }, (_, data) => ({ type: "note", actor: "ada", data })));
  return topic;
}

test("a timeline loads its pages and shows the events that come", async () => {
  const posts = await topic(client(), 5);
  const view = await show(() => useTimeline(client.shared.topic(posts.name), { limit: 3 }));
  await until("the first page", () => texts().length === 3);
  assert.deepEqual(texts(), ["4 posted", "3 posted", "2 posted"]);
  assert.equal(view.now.hasMore, true);
  await act(() => view.now.more());
  await act(() => view.now.more());
  assert.deepEqual(texts(), ["4 posted", "3 posted", "2 posted", "1 posted", "0 posted"]);
  assert.equal(view.now.hasMore, false);
  await posts.post({ type: "note", actor: "bob", data: "new" });
  await until("the new event", () => texts()[0] === "new posted");
  assert.equal(texts().length, 6);
});

test("a first page that comes again keeps the end that was reached", async () => {
  const posts = await topic(client(), 5);
  const { held, release } = gate();
  // In strict mode, the hook starts twice: the second first page comes last.
  const slow = client([{ method: "GET" }, { method: "GET", held }]);
  const view = await show(() => useTimeline(slow.topic(posts.name), { limit: 3 }));
  await until("the first page", () => texts().length === 3);
  await act(() => view.now.more());
  await act(() => view.now.more());
  assert.equal(view.now.hasMore, false);
  await act(async () => release());
  await posts.post({ type: "note", actor: "bob", data: "new" });
  await until("the new event", () => texts()[0] === "new posted");
  assert.equal(view.now.hasMore, false);
});

// A component that is shown again loads the newest page again.
test("a newest page that does not reach the events before it leaves no hole", async () => {
  const posts = await topic(client(), 3);
  const post = (...data) => posts.postAll(data.map((data) => ({ type: "note", actor: "ada", data })));
  const store = new TimelineStore(client.shared.topic(posts.name), 2);
  const shown = () => store.get().entries.map(({ event }) => event.data);
  await store.refresh();
  assert.deepEqual(shown(), [2, 1]);
  await post(3, 4, 5, 6);
  await store.refresh();
  assert.deepEqual(shown(), [6, 5]);
  for (const count of [4, 6, 7]) {
    await store.more();
    assert.equal(shown().length, count);
  }
  assert.deepEqual(shown(), [6, 5, 4, 3, 2, 1, 0]);
  // This page reaches them.
  await post(7);
  await store.refresh();
  assert.deepEqual(shown(), [7, 6, 5, 4, 3, 2, 1, 0]);
  assert.equal(store.get().hasMore, false);
});

test("a page that comes late does not bring back the end", async () => {
  const posts = await topic(client(), 5);
  const { held: late, release } = gate();
  const slow = client([{ method: "GET" }, { method: "GET", late }]);
  const store = new TimelineStore(slow.topic(posts.name), 2);
  await store.refresh();
  const second = store.more();
  await store.refresh();
  await store.more();
  await store.more();
  assert.equal(store.get().hasMore, false);
  release();
  await second;
  assert.equal(store.get().hasMore, false);
  assert.deepEqual(store.get().entries.map(({ event }) => event.data), [4, 3, 2, 1, 0]);
});

test("a problem that has ended following stays", async () => {
  const posts = await topic(client(), 3);
  const lately = client([{ method: "GET" }, { method: "GET", status: 403, code: "forbidden" }]);
  const store = new TimelineStore(lately.topic(posts.name), 2);
  const stop = store.start();
  await until("the problem", () => store.get().problem !== null);
  await store.more();
  await store.refresh();
  assert.equal(store.get().entries.length, 3);
  assert.equal(store.get().problem.code, "forbidden");
  stop();
});

test("a post shows at once and keeps its element when the server has it", async () => {
  const { held, release } = gate();
  const lately = client();
  const posts = await topic(lately, 1);
  const slow = client([{ method: "POST", held }]);
  const view = await show(() => useTimeline(slow.topic(posts.name)));
  await until("the page", () => texts().length === 1);
  let posting;
  await act(async () => void (posting = view.now.post({ type: "note", actor: "ada", data: "mine" })));
  assert.deepEqual(texts(), ["mine pending", "0 posted"]);
  const element = document.querySelector("p");
  await act(async () => (release(), await posting));
  assert.deepEqual(texts(), ["mine posted", "0 posted"]);
  assert.equal(document.querySelector("p"), element);
  // The followed event is the same one, and must not show twice.
  await act(() => new Promise((resolve) => setTimeout(resolve, 2_600)));
  assert.deepEqual(texts(), ["mine posted", "0 posted"]);
});

test("a post that failed can be tried again and is written once", async () => {
  const posts = await topic(client());
  const failing = client([{ method: "POST", lost: true }]);
  const view = await show(() => useTimeline(failing.topic(posts.name)));
  await until("the page", () => !view.now.isLoading);
  await act(() => view.now.post({ type: "note", actor: "ada", data: "mine" }));
  const failed = view.now.entries.find(({ state }) => state === "failed");
  assert.equal(failed.problem.code, "unreachable");
  await act(() => view.now.retry(failed.id));
  assert.deepEqual(texts(), ["mine posted"]);
  assert.equal((await posts.page({ consistent: true })).events.length, 1);
});

test("a post that was refused can be discarded", async () => {
  const posts = await topic(client());
  const view = await show(() => useTimeline(client.shared.topic(posts.name)));
  await until("the page", () => !view.now.isLoading);
  await act(() => view.now.post({ type: "Not A Type", actor: "ada", data: "mine" }));
  const [failed] = view.now.entries;
  assert.deepEqual([failed.state, failed.problem.code], ["failed", "invalid-event"]);
  await act(async () => view.now.discard(failed.id));
  assert.deepEqual(texts(), []);
});

test("a timeline that cannot be loaded says why", async () => {
  const view = await show(() => useTimeline(client.shared.topic("no-such-topic")));
  await until("the problem", () => view.now.problem !== null);
  assert.equal(view.now.problem.code, "topic-not-found");
  assert.equal(view.now.isLoading, false);
});

test("a feed counts its unread entries and marks them as seen", async () => {
  const lately = client.shared;
  const [user, author] = [fresh("user"), fresh("author")];
  const posts = await topic(lately);
  await lately.user(user).follow(`actor:${author}`);
  const view = await show(() => useFeed(lately.feed(user)));
  await until("the empty feed", () => !view.now.isLoading);
  await posts.post({ type: "note", actor: author, data: "one" });
  await until("the entry", () => texts().length === 1);
  assert.equal(view.now.unread, 1);
  await act(() => view.now.markSeen());
  assert.equal(view.now.unread, 0);
  assert.deepEqual(await lately.feed(user).unread(), { unread: 0, more: false });
});

test("a seen mark that is refused brings the count back", async () => {
  const [user, author] = [fresh("user"), fresh("author")];
  const lately = client([{ method: "PUT", status: 403, code: "forbidden" }]);
  const posts = await topic(client.shared);
  await client.shared.user(user).follow(`actor:${author}`);
  const { id } = await posts.post({ type: "note", actor: author, data: "one" });
  await client.shared.feed(user).page({ wait_for: id });
  // A page that was asked for before the refusal may come after it, and then shows no problem.
  const codes = new Set();
  const view = await show(() => {
    const feed = useFeed(lately.feed(user));
    codes.add(feed.problem?.code);
    return feed;
  });
  await until("the count", () => view.now.unread === 1);
  await act(() => view.now.markSeen());
  assert.ok(codes.has("forbidden"));
  await until("the count again", () => view.now.unread === 1);
});

test("the unread count is the same whichever response comes first", async () => {
  const [user, author] = [fresh("user"), fresh("author")];
  const posts = await topic(client.shared);
  await client.shared.user(user).follow(`actor:${author}`);
  const post = async () => {
    const { id } = await posts.post({ type: "note", actor: author });
    await client.shared.feed(user).page({ wait_for: id });
  };
  await post();
  await post();
  const faults = [];
  const store = new TimelineStore(client(faults).feed(user), 5, user);
  const unread = () => store.get().unread;
  const stop = store.start();
  await until("the first count", () => unread() === 2);

  // An event comes while a page is under way.
  const page = gate();
  faults.push({ method: "GET", late: page.held });
  const first = store.refresh();
  await until("the request", () => faults.length === 0);
  await post();
  await until("the event", () => store.get().entries.length === 3);
  page.release();
  await first;
  assert.equal(unread(), 3);

  // The seen mark is refused after a page has come.
  const refusal = gate();
  faults.push({ method: "PUT", held: refusal.held, status: 403, code: "forbidden" });
  const refused = store.markSeen();
  assert.equal(unread(), 0);
  await store.refresh();
  assert.equal(unread(), 0);
  refusal.release();
  await refused;
  assert.equal(unread(), 3);

  // A page is under way when all is marked as seen.
  const old = gate();
  faults.push({ method: "GET", late: old.held });
  const second = store.refresh();
  await store.markSeen();
  old.release();
  await second;
  assert.equal(unread(), 0);
  stop();
});

test("the unread count rises with others' events, and not with the user's own", async () => {
  const lately = client.shared;
  const [user, author] = [fresh("user"), fresh("author")];
  const posts = await topic(lately);
  await lately.user(user).follow(`actor:${author}`);
  const { id } = await posts.post({ type: "note", actor: author });
  await lately.feed(user).page({ wait_for: id });
  const view = await show(() => useUnread(lately.feed(user)));
  await until("the first count", () => view.now.unread === 1);
  await posts.post({ type: "note", actor: user });
  await posts.post({ type: "note", actor: author });
  await until("the second count", () => view.now.unread === 2);
  await act(() => view.now.refresh());
  assert.deepEqual([view.now.unread, view.now.more], [2, false]);
});

test("a component that goes away stops following", async () => {
  let requests = 0;
  const counting = new Lately({
    url,
    token: "dev",
    pollSeconds: 0.05,
    fetch: (...given) => ((requests += 1), fetch(...given)),
  });
  const posts = await topic(counting);
  const view = await show(() => useTimeline(counting.topic(posts.name)));
  await until("polls or a stream", () => !view.now.isLoading && requests > 2);
  await act(async () => root.unmount());
  await new Promise((resolve) => setTimeout(resolve, 300));
  const until_then = requests;
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.equal(requests, until_then);
});
