// Sends requests: the token, retries with back-off, problems, and the cost of each attempt.

import { addCost, parseCost, type Cost } from "./cost.js";
import { LatelyProblem, problemFields, unreachable } from "./problem.js";
import { isRepeatable, type Request } from "./request.js";

/** One attempt of a call. */
export interface Call {
  method: string;
  path: string;
  /** 0 if no response came. */
  status: number;
  /** Counted from 1. */
  attempt: number;
  cost: Cost;
}

export interface Options {
  /** The API's address. */
  url: string;
  /** A token, or a function that returns the current token. */
  token?: string | (() => string | Promise<string>) | undefined;
  /** The address of the live routes, if it is another one (on AWS). */
  liveUrl?: string | undefined;
  /** The most attempts of one call; the default is 5. */
  attempts?: number | undefined;
  /** The seconds after which an attempt without a response has failed; the default is 30. */
  timeout?: number | undefined;
  /** The longest first pause in seconds; the pauses double. The default is 0.1. */
  backoff?: number | undefined;
  /** The seconds between two polls of `follow()` against a server that cannot stream or wait; the default is 1. */
  pollSeconds?: number | undefined;
  /** Sees each attempt and its cost. */
  onCall?: ((call: Call) => void) | undefined;
  /** Ends every call. */
  signal?: AbortSignal | undefined;
  fetch?: typeof fetch | undefined;
  /** Parses the JSON of responses; the default is `JSON.parse`, which rounds numbers that a double cannot hold. */
  parse?: ((text: string) => any) | undefined;
}

export interface Answer<T> {
  value: T;
  /** The revision of a record. */
  revision: string;
}

// A pause beyond this is the caller's decision.
const LONGEST_RETRY_AFTER = 60;
const LONGEST_BACKOFF = 5;

export class Transport {
  readonly attempts: number;
  readonly timeout: number;
  readonly #backoff: number;
  readonly #url: string;
  readonly liveUrl: string;

  constructor(
    readonly options: Options,
    /** Clients that `using` makes share these. */
    readonly shared: { cost: Cost; streams: boolean; waits: boolean } = { cost: {}, streams: true, waits: true },
  ) {
    this.attempts = options.attempts ?? 5;
    this.timeout = options.timeout ?? 30;
    this.#backoff = options.backoff ?? 0.1;
    this.#url = address(options.url);
    this.liveUrl = address(options.liveUrl ?? options.url);
  }

  /** The same transport with other options. */
  using(options: Partial<Options>): Transport {
    return new Transport({ ...this.options, ...options }, this.shared);
  }

  /** Sends a request, and again where that is safe. */
  async send<T>(request: Request<T>): Promise<Answer<T>> {
    let renewed = false;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#attempt(request, attempt);
      } catch (error) {
        if (!(error instanceof LatelyProblem) || attempt >= this.attempts) throw error;
        const renews: boolean = !renewed && this.mayRenew(error);
        if (!renews && !mayRepeat(request, error)) throw error;
        renewed ||= renews;
        await this.pause(attempt, error);
      }
    }
  }

  /** Whether the token's function may return another token, which the server accepts. */
  mayRenew(problem: LatelyProblem): boolean {
    return problem.refusesToken && typeof this.options.token === "function";
  }

  /** The body of a request's response. */
  async value<T>(request: Request<T>): Promise<T> {
    return (await this.send(request)).value;
  }

  /** All pages of a list from a position on: to the end, or until a timeline's page has no more entries now. */
  async *pages<Q extends { cursor?: string | undefined }, P extends { next: string | null; has_more?: boolean }>(
    read: (query: Q) => Request<P>,
    query: Q,
  ): AsyncGenerator<P> {
    let cursor: string | null | undefined = query.cursor;
    for (let first = true; cursor !== null; first = false) {
      // Only a page without a cursor can wait for an entry.
      const page: P = await this.value(read(first ? query : { ...query, cursor, wait_for: undefined }));
      yield page;
      cursor = page.has_more === false ? null : (page.next ?? null);
    }
  }

  /** All entries of a list, page by page. */
  async *list<Q extends { cursor?: string | undefined }, P extends { next: string | null }, E>(
    read: (query: Q) => Request<P>,
    entries: (page: P) => E[],
    query: Q,
  ): AsyncGenerator<E> {
    for await (const page of this.pages(read, query)) yield* entries(page);
  }

  /** Opens a response whose body is read by the caller. */
  async open(request: Request<unknown>, attempt: number, signal: AbortSignal, url = this.#url): Promise<Response> {
    const { token, fetch = globalThis.fetch, onCall } = this.options;
    const { method, path, query = {}, body } = request;
    const target = new URL(url + path);
    for (const [name, value] of Object.entries(query)) {
      if (value === undefined || value === null) continue;
      target.searchParams.set(name, value instanceof Date ? value.toISOString() : String(value));
    }
    const headers = new Headers();
    for (const [name, value] of Object.entries(request.headers ?? {}))
      if (value !== undefined) headers.set(name, value);
    const bearer = typeof token === "function" ? await token() : token;
    if (bearer) headers.set("Authorization", `Bearer ${bearer}`);
    if (body !== undefined) headers.set("Content-Type", "application/json");
    const content = body === undefined ? null : JSON.stringify(body);
    let response: Response | undefined;
    try {
      response = await fetch(target, {
        method,
        headers,
        signal,
        body: content,
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
  async pause(attempt: number, problem?: LatelyProblem): Promise<void> {
    const spread = Math.random() * Math.min(LONGEST_BACKOFF, this.#backoff * 2 ** (attempt - 1));
    await this.sleep(problem?.retryAfter === undefined ? spread : problem.retryAfter + Math.random() * this.#backoff);
  }

  sleep(seconds: number): Promise<void> {
    const { signal } = this.options;
    return new Promise((resolve, reject) => {
      const abort = () => (clearTimeout(timer), reject(signal?.reason));
      const timer = setTimeout(() => (signal?.removeEventListener("abort", abort), resolve()), seconds * 1000);
      if (signal?.aborted) abort();
      signal?.addEventListener("abort", abort, { once: true });
    });
  }

  async #attempt<T>(request: Request<T>, attempt: number): Promise<Answer<T>> {
    const { signal } = this.options;
    const limit = AbortSignal.timeout(this.timeout * 1000);
    const response = await this.open(request, attempt, either(signal, limit)!);
    const text = await response.text().catch((error: unknown) => {
      signal?.throwIfAborted();
      throw unreachable(error);
    });
    if (!response.ok) throw problemOf(response, text);
    const value = (text === "" ? undefined : this.parse(response.status, text)) as T;
    return { value, revision: unquote(response.headers.get("ETag")) ?? "" };
  }

  /** The JSON that a successful response sent. */
  parse(status: number, text: string): any {
    try {
      return (this.options.parse ?? JSON.parse)(text);
    } catch (cause) {
      const detail = "The server sent something that is not JSON.";
      throw new LatelyProblem({ status, code: "invalid-response", detail }, { cause });
    }
  }
}

/** The address that an option names, without a slash at its end. */
function address(url: string): string {
  if (!/^https?:\/\/./.test(url)) throw new TypeError(`The URL must begin with http:// or https://: "${url}"`);
  return url.replace(/\/+$/, "");
}

/** A signal that ends with the first of two. */
export const either = (one?: AbortSignal, other?: AbortSignal): AbortSignal | undefined =>
  one && other ? AbortSignal.any([one, other]) : (one ?? other);

function mayRepeat(request: Request<unknown>, problem: LatelyProblem): boolean {
  if ((problem.retryAfter ?? 0) > LONGEST_RETRY_AFTER) return false;
  // 429 says that nothing was done.
  return problem.status === 429 || (problem.isTemporary && isRepeatable(request));
}

/** The problem that a response says. */
export function problemOf({ status, headers }: Response, text: string): LatelyProblem {
  const retryAfter = Number(headers.get("Retry-After") ?? NaN);
  // The gateway's own responses name the request only in this header.
  const request_id = headers.get("apigw-requestid") ?? undefined;
  return new LatelyProblem({ request_id, ...problemFields(status, text) }, {
    retryAfter: Number.isNaN(retryAfter) ? undefined : retryAfter,
    revision: unquote(headers.get("ETag")),
    cost: parseCost(headers.get("Lately-Cost")),
  });
}

const unquote = (etag: string | null): string | undefined => etag?.replaceAll('"', "");
