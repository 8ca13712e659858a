import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import { api, entries, fresh, open, post, processed, topic } from "./stage.mjs";

afterEach(() => api("DELETE", "/local/faults"));

/** Opens an event of a list, and asks why a user's feed has it or not. */
async function ask(page, name, user) {
  if ((await page.getByRole("complementary", { name: "The event" }).count()) === 0) {
    await entries(page, { name }).click();
    await page.getByRole("button", { name: "Why?" }).click();
  }
  const card = page.getByRole("region", { name: "Why?" });
  await card.getByLabel("In the feed of").fill(user);
  await card.getByRole("button", { name: "Why not?" }).click();
  return card;
}

test("an event says where it is stored, and the first reason for which a feed lacks it", async (t) => {
  const [author, reader, late] = [fresh("author"), fresh("reader"), fresh("late")];
  await api("PUT", `/users/${reader}/following/actor:${author}`, {});
  await post("posts", { type: "post.created", actor: author, data: { text: `explained by ${author}` } });
  await processed();
  await api("PUT", `/users/${late}/following/actor:${author}`, { backfill: 0 });
  const page = await open(t, `#events?source=actor:${author}`, { refused: [404] });
  const card = await ask(page, /explained/, reader);
  await card.getByText(`It is in the feed of ${reader}.`).waitFor();
  await card.getByText("stored in").waitFor();
  const facts = await card.innerText();
  assert.match(facts, new RegExp(`stored in\\s+EVENTS#posts#`));
  assert.match(facts, /fanned out\s+[\d.]+ (ms|s) after its write/);
  assert.match(facts, new RegExp(`in feeds of[\\s\\S]*${reader}`));
  await ask(page, /explained/, author);
  await card.getByText("It is an own post").waitFor();
  await ask(page, /explained/, fresh("nobody"));
  await card.getByText(`follows neither the actor ${author}`).waitFor();
  await ask(page, /explained/, late);
  await card.getByText(`${late} did not follow actor:${author} then`).waitFor();

  await api("PUT", "/local/faults", { stream: { paused: true } });
  await post("posts", { type: "post.created", actor: author, data: { text: "waits" } });
  await page.goto(page.url().replace(/#.*/, `#events?topic=posts&type=post.created`));
  await entries(page, { name: /waits/ }).waitFor();
  await ask(page, /waits/, reader);
  await card.getByText(/Fan-out is .* behind, because the stream is paused: the event waits\./).waitFor();
  await api("DELETE", "/local/faults");
});

test("the letters of the keys can be typed into the question", async (t) => {
  const name = await topic();
  await post(name, ["older", "newer"].map((text) => ({ type: "note.added", actor: "ada", data: { text } })));
  const page = await open(t, `#events?topic=${name}`);
  await entries(page, { name: "newer" }).click();
  await page.getByRole("button", { name: "Why?" }).click();
  const user = page.getByRole("region", { name: "Why?" }).getByLabel("In the feed of");
  await user.pressSequentially("jk");
  assert.equal(await user.inputValue(), "jk");
  await page.getByRole("complementary", { name: "The event" }).getByText("newer").waitFor();
  await user.press("Escape");
  await user.waitFor({ state: "detached" });
});

test("a topic that does not fan out, and a deletion, are reasons too", async (t) => {
  const name = await topic({ fan_out: false });
  const { id } = await post(name, { type: "note.added", actor: "ada", data: { text: "alone" } });
  const page = await open(t, `#events?topic=${name}`, { refused: [404] });
  const card = await ask(page, /alone/, "bob");
  await card.getByText(`The topic ${name} does not fan out.`).waitFor();
  await api("DELETE", `/topics/${name}/events/${id}`);
  await ask(page, /alone/, "bob");
  await card.getByText("The event was deleted, and fan-out removed its copies.").waitFor();
});

test("the price of a read opens its trace in place, and a pinned trace stays beside the next one", async (t) => {
  const page = await open(t, "#events?topic=billing");
  await entries(page).first().waitFor();
  await page.getByRole("button", { name: /^last read: / }).click();
  const traces = page.getByRole("region", { name: /^Trace of / });
  await traces.getByRole("region", { name: "DynamoDB calls" }).waitFor();
  await page.getByRole("region", { name: "Trace of /topics/billing/events?limit=100" }).waitFor();
  await page.getByRole("button", { name: "Pin" }).click();
  await page.getByRole("button", { name: "Load older" }).click();
  await page.getByRole("button", { name: /^last read: .* 2 reads/ }).click();
  await page.getByRole("region", { name: /^Trace of .*cursor=/ }).getByRole("region", { name: "DynamoDB calls" }).waitFor();
  assert.equal(await traces.count(), 2);
  const [one, other] = await traces.evaluateAll((all) => all.map((it) => it.getBoundingClientRect().top));
  assert.equal(one, other, "beside each other");
});

test("every list and every record has a price that opens its trace", async (t) => {
  const [name, user, repo] = [await topic(), fresh("user"), fresh("repo")];
  await api("PUT", `/topics/${name}/consumers/reader`, { start: "earliest" });
  await api("PUT", `/users/${user}/profile`, { name: "Ada" });
  await api("PUT", `/users/${user}/following/actor:${user}`, {});
  await api("POST", `/repos/octo/${repo}/issues`, { title: "One" });
  const panels = [
    ["topics", "/topics?limit=200"],
    [`topics?topic=${name}`, `/topics/${name}/events?limit=50`, /^[\d.]+ read units?/],
    [`consumers?topic=${name}&name=reader`, `/topics/${name}/consumers/reader`],
    [`follows?user=${user}`, `/users/${user}/following?limit=200`, /^last read/, ".columns > .card:first-child"],
    [`profile?user=${user}`, `/users/${user}/profile?consistent=true`],
    [`sessions?user=${user}`, `/sessions?user=${user}&limit=50`],
    [`issues?repo=${repo}`, `/repos/octo/${repo}/issues?limit=100`],
    [`issues?repo=${repo}&issue=1`, `/repos/octo/${repo}/issues/1?consistent=true`, /^last read/, ".column"],
  ];
  const page = await open(t, "#requests");
  for (const [hash, target, text = /^last read/, part = "#panel"] of panels) {
    await page.evaluate((to) => (location.hash = to), hash);
    await page.locator(part).getByRole("button", { name: text }).first().click();
    const trace = page.getByRole("region", { name: `Trace of ${target}`, exact: true });
    await trace.getByRole("region", { name: "DynamoDB calls" }).waitFor();
    await trace.locator("strong", { hasText: /^200$/ }).waitFor();
  }
});
