// Requests to Lately's API: to the program that served this page, or to an API whose URL the user entered.
//
// A response that is not 2xx is thrown as a `Problem`, so that the page shows its code and its request's id. URL and
// token are kept only in `sessionStorage`, which ends with the tab.

import { measure } from "./meter.js";

const KEPT = "lately.connection";

/** The local program, with its admin's token. The token is valid on this machine only. */
const LOCAL = { url: "", token: "dev" };

/** A response of the API that is not 2xx. Its `code` never changes. */
export class Problem extends Error {
  constructor({ status, code, title, detail, errors = [], requestId = null }) {
    super(detail || title);
    Object.assign(this, { status, code, title, errors, requestId });
  }

  /** True if the same request may succeed later. */
  get isPassing() {
    return this.code === "unreachable" || this.status === 429 || this.status >= 500;
  }
}

let connection = kept() ?? LOCAL;

function kept() {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT));
  } catch {
    return null;
  }
}

/** True if requests go to the program that served this page. Only that program has the local routes. */
export const isLocal = () => connection.url === "";

/** True if the token is the one that everybody knows. */
export const isUsual = () => connection.token === LOCAL.token;

/** The token of the local routes. They need an admin's, also while the page acts for a user. */
const adminToken = () => connection.admin ?? LOCAL.token;

export const apiUrl = () => connection.url || location.origin;

/** The address of the API's streams: a deployed stack has one of their own (its output LiveUrl). */
const liveUrl = () => connection.live || connection.url;

/** The user that the connection's token acts for, if there is one. */
export const tokenUser = () => connection.user;

/**
 * Connects to another API, if it is a Lately that accepts the token. The API says for which user the token acts. `live` is the
 * address of its streams, if they have one of their own.
 */
export async function connect(url, token, live = "") {
  const before = connection;
  connection = addressed(url, token, live);
  try {
    const { data } = await call("GET", "/sessions/self");
    if (!Array.isArray(data?.scopes)) throw notLately();
    adopt({ ...connection, user: data.user, ...(isLocal() && { admin: data.scopes.includes("admin") ? token : before.admin }) });
  } catch (error) {
    connection = before;
    throw error;
  }
}

/** A connection to an API. The program that served the page stays local with any token. */
function addressed(url, token, live) {
  const [base, streams] = [url, live].map((it) => it.replace(/\/+$/, ""));
  return base === location.origin ? { url: "", token } : { url: base, token, live: streams };
}

/** Uses another token of the same API, in this tab. */
export const useToken = (token) => connect(apiUrl(), token, connection.live);

/** Opens a new tab that uses another token of the same API. The token is kept only in that tab. */
export function openTab(token, user) {
  const tab = open("");
  tab.sessionStorage.setItem(KEPT, JSON.stringify({ ...connection, admin: isLocal() ? adminToken() : undefined, token, user }));
  tab.location = `${location.origin}/#events${query({ api: isLocal() ? null : apiUrl() })}`;
}

/** The connection, for another tab of this browser. */
export const share = () => connection;

/** Uses a connection, until the tab is closed. */
export function adopt(given) {
  connection = given;
  sessionStorage.setItem(KEPT, JSON.stringify(connection));
}

export function connectLocally() {
  connection = LOCAL;
  sessionStorage.removeItem(KEPT);
}

let reached = true;

/** False if the last request got no response. */
export const isReachable = () => reached;

/**
 * Sends a request. `body` is sent as JSON; `token` replaces the connection's token.
 * Returns `{ data, cost, milliseconds, etag, status }`.
 */
export async function call(method, path, { body, headers = {}, token, signal, as = "json" } = {}) {
  const began = performance.now();
  const response = await send(method, path, { body, headers, token, signal });
  const text = await received(response.text());
  const answer = {
    status: response.status,
    cost: response.headers.get("Lately-Cost"),
    etag: response.headers.get("ETag"),
    truncated: response.headers.get("Lately-Truncated") === "true",
    milliseconds: performance.now() - began,
  };
  try {
    answer.data = as === "text" ? text : text && exactly(text);
  } catch {
    throw notLately();
  }
  return answer;
}

const notLately = () =>
  new Problem({
    status: 0,
    code: "not-lately",
    title: "This is not a Lately API",
    detail: `The response of ${apiUrl()} is not Lately's. Check the URL.`,
  });

/**
 * Sends a request, and returns the response unread, so that the caller can read it as a stream. `isLive` sends it to the
 * address of the streams, which says nothing about the API if it does not respond.
 */
export async function send(method, path, { body, headers = {}, token, signal, isLive = false }) {
  const bearer = token ?? (isLocal() && path.startsWith("/local/") ? adminToken() : connection.token);
  const sent = { Authorization: `Bearer ${bearer}`, ...headers };
  if (body !== undefined) sent["Content-Type"] = "application/json";
  const measured = measure(method, path);
  const elsewhere = isLive && liveUrl() !== connection.url;
  let response;
  try {
    response = await received(
      fetch((isLive ? liveUrl() : connection.url) + path, {
        method,
        headers: sent,
        body: body === undefined || typeof body === "string" ? body : JSON.stringify(body),
        signal,
        credentials: "omit",
        cache: "no-store",
      }),
      elsewhere,
    );
    if (!elsewhere) reached = true;
    if (!response.ok) throw ended(await problem(response));
  } catch (error) {
    measured(response, error);
    throw error;
  }
  measured(response);
  return response;
}

/** Reports that the token or a topic is no longer valid, so that a live stream of it ends. */
function ended(problem) {
  if (["invalid-token", "topic-not-found"].includes(problem.code)) dispatchEvent(new Event("ended"));
  return problem;
}

/** Waits for a response or its body. One of `elsewhere` does not come from the API's own address. */
async function received(promise, elsewhere = false) {
  try {
    return await promise;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    if (!elsewhere) reached = false;
    throw new Problem({
      status: 0,
      code: "unreachable",
      title: "No response",
      detail: `${apiUrl()} did not respond. Check that it is running and that it allows this page's origin.`,
    });
  }
}

async function problem(response) {
  const text = await received(response.text());
  let body = {};
  try {
    body = JSON.parse(text);
  } catch {
    body = { title: text.slice(0, 200) };
  }
  return new Problem({
    status: response.status,
    code: body.code ?? `http-${response.status}`,
    title: body.title ?? body.message ?? response.statusText,
    detail: body.detail,
    errors: body.errors,
    requestId: body.request_id ?? response.headers.get("apigw-requestid"),
  });
}

/** Parses JSON. Numbers that a double cannot hold as they were sent (`0.10`, 20 digits) keep their text. */
export function exactly(text) {
  return JSON.parse(text, (_, value, context) => {
    const asSent = context?.source;
    return typeof value === "number" && asSent && JSON.rawJSON && !sameNumber(asSent, value)
      ? JSON.rawJSON(asSent)
      : value;
  });
}

/** `4.0` equals 4 and stays a number. `661.80`, and numbers with more digits than a double, are kept as text. */
const sameNumber = (asSent, value) => asSent.replace(/\.0$/, "") === String(value);

/** A path of the API, with each part encoded. */
export const path = (...parts) => parts.map((part) => `/${encodeURIComponent(part)}`).join("");

/** A query string of the values that are given. */
export function query(values) {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
}

/** The most pages of the list of topics to read at once. */
const TOPIC_PAGES = 10;

/** Up to 2,000 topics with their settings, by name, and the cursor of those after them. */
export async function topicList(signal, next = null) {
  const topics = [];
  for (let page = 0; page < TOPIC_PAGES && (page === 0 || next); page += 1) {
    const { data } = await call("GET", `/topics${query({ limit: 200, cursor: next })}`, { signal });
    topics.push(...data.topics);
    next = data.next;
  }
  return { topics, next };
}

/** The names of all topics, at most 2,000. */
export const topics = async (signal) => (await topicList(signal)).topics.map((it) => it.topic);
