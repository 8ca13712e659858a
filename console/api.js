// Requests to Lately's API, and where they go: the program that served this page, or an API whose URL was typed in.
//
// What is not 2xx is thrown as a `Problem`, so that it is shown with its code and the id of its request. URL and token are kept
// in `sessionStorage` alone: they end with the tab.

const KEPT = "lately.connection";

/** The token that `lately` gives an admin; good on one's own machine only. */
const LOCAL = { url: "", token: "dev" };

/** What the API answered that is not 2xx; `code` is stable. */
export class Problem extends Error {
  constructor({ status, code, title, detail, errors = [], requestId = null }) {
    super(detail || title);
    Object.assign(this, { status, code, title, errors, requestId });
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

/** Whether requests go to the program that served this page: only that has what is local. */
export const isLocal = () => connection.url === "";

export const apiUrl = () => connection.url || location.origin;

/** Goes elsewhere, if there is an API that takes the token. */
export async function connect(url, token) {
  const before = connection;
  connection = { url: url.replace(/\/+$/, ""), token };
  try {
    await call("GET", "/topics?limit=1");
    sessionStorage.setItem(KEPT, JSON.stringify(connection));
  } catch (error) {
    connection = before;
    throw error;
  }
}

export function connectLocally() {
  connection = LOCAL;
  sessionStorage.removeItem(KEPT);
}

/**
 * One request. `body` is sent as JSON; `token` is another caller's than the connection's.
 * Answers `{ data, cost, milliseconds, etag, status }`.
 */
export async function call(method, path, { body, headers = {}, token, signal, as = "json" } = {}) {
  const began = performance.now();
  const response = await send(method, path, { body, headers, token, signal });
  const text = await response.text();
  const answer = {
    status: response.status,
    cost: response.headers.get("Lately-Cost"),
    etag: response.headers.get("ETag"),
    truncated: response.headers.get("Lately-Truncated") === "true",
    milliseconds: performance.now() - began,
  };
  answer.data = as === "text" ? text : text && exactly(text);
  return answer;
}

/** The response itself, for who reads it as it comes. */
export async function send(method, path, { body, headers = {}, token, signal }) {
  const sent = { Authorization: `Bearer ${token ?? connection.token}`, ...headers };
  if (body !== undefined) sent["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(connection.url + path, {
      method,
      headers: sent,
      body: body === undefined || typeof body === "string" ? body : JSON.stringify(body),
      signal,
      credentials: "omit",
      cache: "no-store",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({
      status: 0,
      code: "unreachable",
      title: "No answer",
      detail: `${apiUrl()} does not answer this page.`,
    });
  }
  if (!response.ok) throw await problem(response);
  return response;
}

async function problem(response) {
  const text = await response.text();
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

/** JSON whose numbers are shown as they were sent, also those that no double holds (`0.10`, 20 digits). */
export function exactly(text) {
  return JSON.parse(text, (_, value, context) => {
    const asSent = context?.source;
    return typeof value === "number" && asSent && JSON.rawJSON && !sameNumber(asSent, value)
      ? JSON.rawJSON(asSent)
      : value;
  });
}

/** `4.0` is 4 and stays a number to reckon with; `661.80` and what has more digits than a double is text to show. */
const sameNumber = (asSent, value) => asSent.replace(/\.0$/, "") === String(value);

/** A path of the API, each part encoded. */
export const path = (...parts) => parts.map((part) => `/${encodeURIComponent(part)}`).join("");

/** A query string of what is given. */
export function query(values) {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
}

/** The names of all topics (the first 200). */
export async function topics(signal) {
  return (await call("GET", "/topics?limit=200", { signal })).data.topics.map((it) => it.topic);
}
