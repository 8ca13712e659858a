import assert from "node:assert/strict";
import { test } from "node:test";

import { api, fresh, open, until } from "./stage.mjs";

const sessionsOf = async (user) => (await api("GET", `/sessions?user=${user}`)).data.sessions;

test("a session is created, its token is shown once, and it is revoked", async (t) => {
  const user = fresh("user");
  const page = await open(t, "#sessions", { permissions: ["clipboard-read", "clipboard-write"] });
  const form = page.getByRole("region", { name: "Create a session" });
  await form.getByLabel("User").fill(user);
  await form.getByLabel("write", { exact: true }).uncheck();
  await form.getByLabel("Topics").fill("posts, billing");
  await form.getByLabel("Valid for").fill("2");
  await form.getByLabel("Unit").selectOption("days");
  await form.getByLabel("Writes a minute").fill("600");
  await form.getByRole("button", { name: "Create session" }).click();
  await form.getByText("Copy the token now").waitFor();
  await form.getByRole("button", { name: "Copy token" }).click();
  await form.getByRole("button", { name: "Copied" }).waitFor();
  const token = await page.evaluate(() => navigator.clipboard.readText());
  assert.equal((await api("GET", "/topics/posts", undefined, { token })).data.topic, "posts");

  const [session] = await sessionsOf(user);
  assert.deepEqual([session.scopes, session.topics], [["read"], ["posts", "billing"]]);
  assert.deepEqual([session.writes_per_minute, session.reads_per_minute], [600, undefined]);
  await page.getByRole("row", { name: user }).getByText("600 writes/min").waitFor();
  const hours = (Date.parse(session.expires_at) - Date.parse(session.created_at)) / 3_600_000;
  assert.ok(hours > 47.9 && hours < 48.1);
  await form.getByRole("button", { name: "Hide" }).click();
  assert.equal(await page.getByText(token).count(), 0);
  const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href]));
  assert.ok(!kept.includes(token));

  const row = page.getByRole("row", { name: user });
  await row.getByRole("button", { name: "Revoke…" }).click();
  await row.getByRole("button", { name: "Revoke", exact: true }).click();
  await row.waitFor({ state: "detached" });
  assert.deepEqual(await sessionsOf(user), []);
  await assert.rejects(api("GET", "/topics/posts", undefined, { token }), /403/);
});

test("the sessions of a user are listed page by page, and all are revoked after a question", async (t) => {
  const user = fresh("user");
  const body = { user, scopes: ["read"], ttl_seconds: 600 };
  await Promise.all(Array.from({ length: 55 }, () => api("POST", "/sessions", body)));
  const page = await open(t, "#sessions");
  await page.getByRole("form", { name: "Choose by user" }).getByLabel("User").fill(user);
  await page.getByRole("form", { name: "Choose by user" }).getByRole("button", { name: "Show" }).click();
  await page.getByText("50 sessions").waitFor();
  await page.getByRole("button", { name: "Load more" }).click();
  await page.getByText("55 sessions in all").waitFor();
  await page.getByRole("button", { name: "Revoke all…" }).click();
  await page.getByText(`Revoke all sessions of ${user}?`).first().waitFor();
  assert.equal((await sessionsOf(user)).length, 50, "nothing is revoked yet");
  await page.getByRole("button", { name: "Revoke all", exact: true }).click();
  await page.getByText(`55 sessions of ${user} revoked.`).waitFor();
  await page.getByText("No sessions.").waitFor();
  assert.deepEqual(await sessionsOf(user), []);
});

test("a session opens by its id, and a refused field says why", async (t) => {
  const { id } = (await api("POST", "/sessions", { scopes: ["read"], ttl_seconds: 600 })).data;
  const page = await open(t, "#sessions", { refused: [422] });
  await page.getByLabel("Session id", { exact: true }).fill(id);
  await page.getByRole("form", { name: "Choose by session id" }).getByRole("button", { name: "Show" }).click();
  await page.getByText("1 session in all").waitFor();
  await page.getByRole("heading", { name: `Session ${id}` }).waitFor();
  await page.getByRole("row", { name: /a service/ }).waitFor();

  const form = page.getByRole("region", { name: "Create a session" });
  await form.getByLabel("read", { exact: true }).uncheck();
  await form.getByLabel("write", { exact: true }).uncheck();
  await form.getByLabel("Valid for").fill("366");
  await form.getByLabel("Unit").selectOption("days");
  await form.getByLabel("Topics").fill("a/b");
  await form.getByRole("button", { name: "Create session" }).click();
  await form.getByText("422 invalid-body").waitFor();
  await until("three fields are marked", async () => (await form.locator("[aria-invalid]").count()) === 3);
});

test("a new session's token is used in this tab, or in a new one, and the local program stays local", async (t) => {
  const user = fresh("user");
  const page = await open(t, "#sessions", { refused: [403, 429] });
  const form = page.getByRole("region", { name: "Create a session" });
  await form.getByLabel("User").fill(user);
  await form.getByLabel("Reads a minute").fill("1000");
  await form.getByRole("button", { name: "Create session" }).click();
  const opened = page.context().waitForEvent("page");
  await form.getByRole("button", { name: "Use it in a new tab" }).click();
  const other = await opened;
  await other.locator(".where", { hasText: `local as ${user}` }).waitFor();
  await other.getByRole("heading", { level: 1, name: "Events" }).waitFor();
  assert.equal(await page.locator(".where").innerText(), "local", "this tab keeps its token");
  assert.equal(await page.evaluate(() => sessionStorage.length), 0);

  await form.getByRole("button", { name: "Use it in this tab" }).click();
  await page.locator(".where", { hasText: `local as ${user}` }).waitFor();
  await page.getByText("403 forbidden").first().waitFor();
  await page.getByRole("link", { name: "System", exact: true }).click();
  await page.getByRole("region", { name: "The stream's shards" }).waitFor();
  await page.getByRole("button", { name: "Connect…" }).click();
  assert.equal(await page.getByLabel("URL", { exact: true }).inputValue(), new URL(page.url()).origin);
  await page.getByRole("button", { name: "Use the local program" }).click();
  await until("the admin is back", async () => (await page.locator(".where").innerText()) === "local");
});
