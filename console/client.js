// Made of the TypeScript client by clients/typescript/bundle.mjs. Do not edit.

// src/cost.ts
var parseCost = (header) => Object.fromEntries(
  (header ?? "").split(", ").flatMap((field) => {
    const [name, value] = field.split("=");
    return value === void 0 ? [] : [[name, Number(value)]];
  })
);
function addCost(sum, cost) {
  for (const name of Object.keys(cost)) sum[name] = (sum[name] ?? 0) + cost[name];
}

// src/problem.ts
var LatelyProblem = class extends Error {
  status;
  code;
  title;
  detail;
  errors;
  accepted;
  rejected;
  request_id;
  /** The seconds that the server asks to wait. */
  retryAfter;
  /** With `revision-mismatch`: the current revision, if the record exists. */
  revision;
  /** The price of the failed call. */
  cost;
  constructor(fields, {
    retryAfter,
    revision,
    cost = {},
    cause
  } = {}) {
    const [fault] = fields.errors ?? [];
    const detail = fields.detail ?? fields.title ?? "";
    super(`${fields.status} ${fields.code}: ${detail}${fault ? ` ${fault.path}: ${fault.message}` : ""}`, { cause });
    this.name = "LatelyProblem";
    this.status = fields.status;
    this.code = fields.code;
    this.title = fields.title ?? fields.code;
    this.detail = fields.detail ?? "";
    this.errors = fields.errors ?? [];
    this.accepted = fields.accepted ?? [];
    this.rejected = fields.rejected ?? [];
    this.request_id = fields.request_id;
    this.retryAfter = retryAfter;
    this.revision = revision;
    this.cost = cost;
  }
  /** Whether the same request may succeed later. */
  get isTemporary() {
    return [0, 429, 502, 503].includes(this.status) || this.status === 504 && this.code !== "not-yet-visible";
  }
  /** Whether another token may help. The gateway's own 403, which has no title, does not say why. */
  get refusesToken() {
    return this.status === 401 || this.code === "invalid-token" || this.status === 403 && this.title === this.code;
  }
};
var GATEWAY_CODES = {
  401: "missing-token",
  403: "forbidden",
  404: "route-not-found",
  413: "too-large",
  429: "rate-limited",
  502: "unavailable",
  503: "unavailable",
  504: "unavailable"
};
function problemFields(status, text) {
  let body = null;
  try {
    body = JSON.parse(text);
  } catch {
  }
  if (typeof body?.code === "string") return { ...body, status, code: body.code };
  return { status, code: GATEWAY_CODES[status] ?? "invalid-response", detail: body?.message ?? "" };
}
function unreachable(cause) {
  const { code, message = "" } = cause?.cause ?? {};
  const reason = code ?? message;
  const detail = `${String(cause)}${reason && ` (${reason})`}`;
  return new LatelyProblem({ status: 0, code: "unreachable", detail }, { cause });
}

// src/sse.ts
async function* frames(stream2) {
  const reader = stream2.getReader();
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (; ; ) {
      const { done, value } = await reader.read().catch((error) => {
        throw unreachable(error);
      });
      if (done) return;
      text += decoder.decode(value, { stream: true });
      const blocks = text.replace(/\r\n/g, "\n").split("\n\n");
      text = blocks.pop();
      yield* blocks.map(parse).filter((frame) => frame.data !== "" || frame.id !== void 0);
    }
  } finally {
    await reader.cancel().catch(() => void 0);
  }
}
function parse(block) {
  const frame = { event: "message", data: "" };
  for (const line of block.split("\n")) {
    const [, name, value = ""] = /^(\w+)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name === "event") frame.event = value;
    if (name === "id") frame.id = value;
    if (name === "data") frame.data += (frame.data && "\n") + value;
  }
  return frame;
}

// src/request.ts
function isRepeatable({ method, path, headers = {} }) {
  if (headers["Idempotency-Key"] !== void 0) return true;
  if (headers["If-Match"] !== void 0 || headers["If-None-Match"] !== void 0) return false;
  return ["GET", "PUT", "DELETE"].includes(method) || /\/(poll|commit|seek|erasures)$/.test(path);
}

// src/transport.ts
var LONGEST_RETRY_AFTER = 60;
var LONGEST_BACKOFF = 5;
var Transport = class _Transport {
  constructor(options, shared = { cost: {}, streams: true, waits: true }) {
    this.options = options;
    this.shared = shared;
    this.attempts = options.attempts ?? 5;
    this.timeout = options.timeout ?? 30;
    this.#backoff = options.backoff ?? 0.1;
    this.#url = address(options.url);
    this.liveUrl = address(options.liveUrl ?? options.url);
  }
  options;
  shared;
  attempts;
  timeout;
  #backoff;
  #url;
  liveUrl;
  /** The same transport with other options. */
  using(options) {
    return new _Transport({ ...this.options, ...options }, this.shared);
  }
  /** Sends a request, and again where that is safe. */
  async send(request) {
    let renewed = false;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#attempt(request, attempt);
      } catch (error) {
        if (!(error instanceof LatelyProblem) || attempt >= this.attempts) throw error;
        const renews = !renewed && this.mayRenew(error);
        if (!renews && !mayRepeat(request, error)) throw error;
        renewed ||= renews;
        await this.pause(attempt, error);
      }
    }
  }
  /** Whether the token's function may return another token, which the server accepts. */
  mayRenew(problem) {
    return problem.refusesToken && typeof this.options.token === "function";
  }
  /** The body of a request's response. */
  async value(request) {
    return (await this.send(request)).value;
  }
  /** All pages of a list from a position on: to the end, or until a timeline's page has no more entries now. */
  async *pages(read, query) {
    let cursor = query.cursor;
    for (let first = true; cursor !== null; first = false) {
      const page = await this.value(read(first ? query : { ...query, cursor, wait_for: void 0 }));
      yield page;
      cursor = page.has_more === false ? null : page.next ?? null;
    }
  }
  /** All entries of a list, page by page. */
  async *list(read, entries, query) {
    for await (const page of this.pages(read, query)) yield* entries(page);
  }
  /** Opens a response whose body is read by the caller. */
  async open(request, attempt, signal, url = this.#url) {
    const { token, fetch = globalThis.fetch, onCall } = this.options;
    const { method, path, query = {}, body } = request;
    const target = new URL(url + path);
    for (const [name, value] of Object.entries(query)) {
      if (value === void 0 || value === null) continue;
      target.searchParams.set(name, value instanceof Date ? value.toISOString() : String(value));
    }
    const headers = new Headers();
    for (const [name, value] of Object.entries(request.headers ?? {}))
      if (value !== void 0) headers.set(name, value);
    const bearer = typeof token === "function" ? await token() : token;
    if (bearer) headers.set("Authorization", `Bearer ${bearer}`);
    if (body !== void 0) headers.set("Content-Type", "application/json");
    const content = body === void 0 ? null : JSON.stringify(body);
    let response;
    try {
      response = await fetch(target, {
        method,
        headers,
        signal,
        body: content
      });
      return response;
    } catch (error) {
      this.options.signal?.throwIfAborted();
      throw unreachable(error);
    } finally {
      const cost = parseCost(response?.headers.get("Lately-Cost") ?? null);
      addCost(this.shared.cost, cost);
      onCall?.({ method, path, status: response?.status ?? 0, attempt, cost });
    }
  }
  /** Waits before the next attempt: as long as the server asks, or a random time that grows. */
  async pause(attempt, problem) {
    const spread = Math.random() * Math.min(LONGEST_BACKOFF, this.#backoff * 2 ** (attempt - 1));
    await this.sleep(problem?.retryAfter === void 0 ? spread : problem.retryAfter + Math.random() * this.#backoff);
  }
  sleep(seconds) {
    const { signal } = this.options;
    return new Promise((resolve, reject) => {
      const abort = () => (clearTimeout(timer), reject(signal?.reason));
      const timer = setTimeout(() => (signal?.removeEventListener("abort", abort), resolve()), seconds * 1e3);
      if (signal?.aborted) abort();
      signal?.addEventListener("abort", abort, { once: true });
    });
  }
  async #attempt(request, attempt) {
    const { signal } = this.options;
    const limit = AbortSignal.timeout(this.timeout * 1e3);
    const response = await this.open(request, attempt, either(signal, limit));
    const text = await response.text().catch((error) => {
      signal?.throwIfAborted();
      throw unreachable(error);
    });
    if (!response.ok) throw problemOf(response, text);
    const value = text === "" ? void 0 : this.parse(response.status, text);
    return { value, revision: unquote(response.headers.get("ETag")) ?? "" };
  }
  /** The JSON that a successful response sent. */
  parse(status, text) {
    try {
      return (this.options.parse ?? JSON.parse)(text);
    } catch (cause) {
      const detail = "The server sent something that is not JSON.";
      throw new LatelyProblem({ status, code: "invalid-response", detail }, { cause });
    }
  }
};
function address(url) {
  if (!/^https?:\/\/./.test(url)) throw new TypeError(`The URL must begin with http:// or https://: "${url}"`);
  return url.replace(/\/+$/, "");
}
var either = (one, other) => one && other ? AbortSignal.any([one, other]) : one ?? other;
function mayRepeat(request, problem) {
  if ((problem.retryAfter ?? 0) > LONGEST_RETRY_AFTER) return false;
  return problem.status === 429 || problem.isTemporary && isRepeatable(request);
}
function problemOf({ status, headers }, text) {
  const retryAfter = Number(headers.get("Retry-After") ?? NaN);
  const request_id = headers.get("apigw-requestid") ?? void 0;
  return new LatelyProblem({ request_id, ...problemFields(status, text) }, {
    retryAfter: Number.isNaN(retryAfter) ? void 0 : retryAfter,
    revision: unquote(headers.get("ETag")),
    cost: parseCost(headers.get("Lately-Cost"))
  });
}
var unquote = (etag) => etag?.replaceAll('"', "");

// src/follow.ts
var WAIT_SECONDS = 20;
async function* follow(client, routes, { cursor: start, signal, ...filters }) {
  let cursor = start ?? void 0;
  const transport = client.using({ signal: either(client.options.signal, signal) });
  const seen = new Seen();
  let [connected, renewed] = [false, false];
  for (let failures = 0; ; ) {
    let problem;
    try {
      const source = transport.shared.streams ? stream : poll;
      for await (const step of source(transport, routes, filters, cursor)) {
        [connected, renewed, failures] = [true, false, 0];
        cursor = step.cursor;
        if (step.event && seen.add(step.event.id)) yield { event: step.event, cursor, late: step.late ?? false };
      }
    } catch (error) {
      transport.options.signal?.throwIfAborted();
      if (!(error instanceof LatelyProblem)) throw error;
      if (cannotStream(error) && transport.shared.streams) {
        transport.shared.streams = false;
        continue;
      }
      const attempts = transport.shared.streams ? transport.attempts : 1;
      const renews = !renewed && transport.mayRenew(error);
      if (!(error.isTemporary || renews) || !connected && failures + 1 >= attempts) throw error;
      renewed ||= renews;
      problem = error;
    }
    failures += 1;
    await transport.pause(failures, problem);
  }
}
async function* stream(transport, { live }, filters, cursor) {
  const { signal } = transport.options;
  const silence = new AbortController();
  let timer;
  const heard = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(new Error("The stream is silent.")), transport.timeout * 1e3);
  };
  try {
    heard();
    const request = { method: "GET", path: live, query: { ...filters, cursor } };
    const end = either(signal, silence.signal);
    const response = await transport.open(request, 1, end, transport.liveUrl);
    if (!response.ok || !response.body) throw problemOf(response, await response.text().catch(() => ""));
    for await (const { event, id, data } of frames(response.body)) {
      heard();
      cursor = id ?? cursor;
      const { status } = response;
      if (event === "problem") throw new LatelyProblem(problemFields(transport.parse(status, data).status, data));
      const isEvent = event === "event" || event === "late";
      yield isEvent ? { cursor, event: transport.parse(status, data), late: event === "late" } : { cursor };
    }
  } finally {
    clearTimeout(timer);
    silence.abort();
  }
}
async function* poll(transport, { page: read }, filters, cursor) {
  const { shared, timeout, options } = transport;
  if (cursor === void 0) {
    const newest = await transport.value(read({ ...filters, limit: 1 }));
    yield { cursor: cursor = newest.newer };
  }
  for (; ; ) {
    const wait = shared.waits ? Math.min(WAIT_SECONDS, Math.floor(timeout / 2)) : void 0;
    let page;
    try {
      page = await transport.value(read({ ...filters, cursor, limit: 200, wait }));
    } catch (error) {
      if (wait === void 0 || !cannotWait(error)) throw error;
      shared.waits = false;
      continue;
    }
    if (page.newer !== null) {
      throw new LatelyProblem({ status: 400, code: "invalid-cursor", detail: "The cursor is of a newest-first walk." });
    }
    const last = page.events.length - 1;
    for (const [index, event] of page.events.entries()) yield { event, cursor: index === last ? page.next : cursor };
    yield { cursor: cursor = page.next };
    if (!page.has_more && !shared.waits) await transport.sleep(options.pollSeconds ?? 1);
  }
}
var cannotStream = ({ code }) => code === "route-not-found";
var cannotWait = (error) => error instanceof LatelyProblem && error.code === "invalid-query" && error.errors.some(({ path }) => path === "/wait");
var REMEMBERED = 65536;
var Seen = class {
  #newer = /* @__PURE__ */ new Set();
  #older = /* @__PURE__ */ new Set();
  /** Adds an id, and says whether it is new. */
  add(id) {
    if (this.#newer.has(id) || this.#older.has(id)) return false;
    this.#newer.add(id);
    if (this.#newer.size === REMEMBERED) [this.#older, this.#newer] = [this.#newer, /* @__PURE__ */ new Set()];
    return true;
  }
};
export {
  LatelyProblem,
  Transport,
  follow,
  parseCost,
  problemOf
};
