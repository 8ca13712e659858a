// Requests to Lately's API: to the program that served this page, or to an API whose URL the user entered.
//
// A response that is not 2xx is thrown as a `LatelyProblem`, so that the page shows its code and its request's id. URL and
// token are kept only in `sessionStorage`, which ends with the tab.

import { LatelyProblem, problemOf } from "./client.js";
import { measure } from "./meter.js";

const KEPT = "lately.connection";

/** The local program, with its admin's token. The token is valid on this machine only. */
const LOCAL = { url: "", token: "dev" };

let connection = kept() ?? LOCAL;

function kept() {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT));
  } catch {
    return null;
  }
}

/** True if requests go to the program that served this page. Only that program has the local routes. */
export const isLocal = (to = connection) => to.url === "";

/** True if the token is the one that everybody knows. */
export const isUsual = () => connection.token === LOCAL.token;

/** The token of the local routes. They need an admin's, also while the page acts for a user. */
const adminToken = () => connection.admin ?? LOCAL.token;

export const apiUrl = (to = connection) => to.url || location.origin;

/** The address of the API's streams: a deployed stack has one of their own (its output LiveUrl). */
const liveUrl = () => connection.live || connection.url;

/** The user that the connection's token acts for, if there is one. */
export const tokenUser = () => connection.user;

/**
 * Connects to another API, if it is a Lately that accepts the token. The API says for which user the token acts. Until it has
 * answered, the page keeps its connection. `live` is the address of its streams, if they have one of their own.
 */
export async function connect(url, token, live = "", signal) {
  const to = addressed(url, token, live);
  const { data } = await call("GET", "/sessions/self", { to, signal });
  if (!Array.isArray(data?.scopes)) throw notLately(to);
  adopt({ ...to, user: data.user, ...(isLocal(to) && { admin: data.scopes.includes("admin") ? token : connection.admin }) });
  reached = true;
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
 * Sends a request, and reads its response. `body` is sent as JSON; `token` replaces the connection's token; `to` is a
 * connection that is only tried. Returns `{ data, cost, milliseconds, etag, status }`, and as `read` the path of a GET.
 */
export async function call(method, path, { as = "json", ...options } = {}) {
  const began = performance.now();
  const { response, problem } = await send(method, path, options);
  if (problem) throw problem;
  const text = await response.text().catch((error) => {
    throw lost(error, options.to);
  });
  const answer = {
    status: response.status,
    read: method === "GET" ? path : null,
    cost: response.headers.get("Lately-Cost"),
    etag: response.headers.get("ETag"),
    truncated: response.headers.get("Lately-Truncated") === "true",
    milliseconds: performance.now() - began,
  };
  try {
    answer.data = as === "text" ? text : text && exactly(text);
  } catch {
    throw notLately(options.to);
  }
  return answer;
}

const notLately = (to) =>
  new LatelyProblem({
    status: 0,
    code: "not-lately",
    title: "This is not a Lately API",
    detail: `The response of ${apiUrl(to)} is not Lately's. Check the URL.`,
  });

/**
 * Sends a request, and returns the response unread, with its problem if it is not 2xx. `isLive` sends it to the address of
 * the streams, which says nothing about the API if it does not respond.
 */
export async function send(method, path, { body, headers = {}, token, signal, isLive = false, to = connection }) {
  const bearer = token ?? (isLocal() && path.startsWith("/local/") ? adminToken() : to.token);
  const sent = { Authorization: `Bearer ${bearer}`, ...headers };
  if (body !== undefined) sent["Content-Type"] = "application/json";
  const measured = measure(method, path);
  const base = isLive ? liveUrl() : to.url;
  const isApi = to === connection && base === to.url;
  try {
    const response = await fetch(base + path, {
      method,
      headers: sent,
      body: body === undefined || typeof body === "string" ? body : JSON.stringify(body),
      signal,
      credentials: "omit",
      cache: "no-store",
    });
    if (isApi) reached = true;
    const problem = response.ok ? null : problemOf(response, await response.clone().text());
    if (problem && to === connection && bearer === to.token) dispatchEvent(new CustomEvent("refused", { detail: { code: problem.code, path } }));
    measured(response, problem);
    return { response, problem };
  } catch (error) {
    const problem = lost(error, to, isApi);
    measured(null, problem);
    throw problem;
  }
}

/** The error of a request without a whole response, from the own address of the page's API or not. */
function lost(error, to = connection, isApi = to === connection) {
  if (error.name === "AbortError") return error;
  if (isApi) reached = false;
  const detail = `${apiUrl(to)} did not respond. Check that it is running and that it allows this page's origin.`;
  return new LatelyProblem({ status: 0, code: "unreachable", title: "No response", detail });
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

/** The responses of a list's pages, at most `most`. `target(cursor)` is the path of a page. */
export async function* pages(target, most, signal, cursor = null) {
  for (let page = 0; page < most && (page === 0 || cursor); page += 1) {
    const answer = await call("GET", target(cursor), { signal });
    cursor = answer.data.next ?? null;
    yield answer;
  }
}

/** The most pages of the list of topics to read at once. */
export const TOPIC_PAGES = 10;

/** The path of a page of the list of topics. */
export const topicPage = (cursor) => `/topics${query({ limit: 200, cursor })}`;

/** The names of all topics, at most 2,000. */
export async function topics(signal) {
  const names = [];
  for await (const { data } of pages(topicPage, TOPIC_PAGES, signal)) names.push(...data.topics.map(({ topic }) => topic));
  return names;
}
