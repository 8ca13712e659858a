// Follows a timeline: each event once, from a position on, through cut connections.
//
// A server that cannot stream (404 `route-not-found`) is polled with oldest-first pages; a server that cannot wait for
// events (400 `invalid-query` about `wait`) is polled again and again. The client remembers both.

import type { Cursor, Event } from "./api.js";
import { LatelyProblem, problemFields } from "./problem.js";
import type { Request } from "./request.js";
import { frames } from "./sse.js";
import { either, problemOf, type Transport } from "./transport.js";

/** `Q` is the query of a page: a follow has the filter `topic` where pages have it. */
export type FollowOptions<Q = unknown> = {
  /** The position to start after: the `cursor` of a followed event, or the `newer` of a page. The default is now. */
  cursor?: Cursor | null | undefined;
  type?: string | undefined;
  /** Ends the iteration with the signal's reason. */
  signal?: AbortSignal | undefined;
} & Pick<Q, keyof Q & "topic">;

export interface Followed<E> {
  event: E;
  /** Store this position to go on after this event later. Absent only for late events at the very beginning. */
  cursor: Cursor | undefined;
  /** Whether the event arrived behind the position, as imports do. */
  late: boolean;
}

interface AnyPage<E> {
  events: E[];
  next: Cursor | null;
  newer: Cursor | null;
  has_more: boolean;
}

/** The routes of a timeline. */
export interface Routes<E> {
  live: string;
  page: (query: object) => Request<AnyPage<E>>;
}

// A step of a stream: an event, or only a new position.
interface Step<E> {
  cursor: Cursor | undefined;
  event?: E;
  late?: boolean;
}

const WAIT_SECONDS = 20;

/** Yields events until the caller stops, the client's signal ends it, or a problem comes that no retry repairs. */
export async function* follow<E extends Event>(
  client: Transport,
  routes: Routes<E>,
  { cursor: start, signal, ...filters }: FollowOptions,
): AsyncGenerator<Followed<E>> {
  let cursor = start ?? undefined;
  const transport = client.using({ signal: either(client.options.signal, signal) });
  const seen = new Seen();
  let [connected, renewed] = [false, false];
  // After the first success this loop has no bound, because a follower outlives outages. The caller ends it.
  for (let failures = 0; ;) {
    let problem: LatelyProblem | undefined;
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
      // A poll has made its attempts already.
      const attempts = transport.shared.streams ? transport.attempts : 1;
      const renews = !renewed && transport.mayRenew(error);
      if (!(error.isTemporary || renews) || (!connected && failures + 1 >= attempts)) throw error;
      renewed ||= renews;
      problem = error;
    }
    failures += 1;
    await transport.pause(failures, problem);
  }
}

/** The steps of one connection to the live route. It ends after some minutes, or when it is cut. */
async function* stream<E>(
  transport: Transport,
  { live }: Routes<E>,
  filters: object,
  cursor?: Cursor,
): AsyncGenerator<Step<E>> {
  const { signal } = transport.options;
  const silence = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  // The server sends something every 15 seconds, so a connection that is silent for longer is dead.
  const heard = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(new Error("The stream is silent.")), transport.timeout * 1000);
  };
  try {
    heard();
    const request = { method: "GET", path: live, query: { ...filters, cursor } };
    const end = either(signal, silence.signal)!;
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

/** The steps of polling. */
async function* poll<E>(
  transport: Transport,
  { page: read }: Routes<E>,
  filters: object,
  cursor?: Cursor,
): AsyncGenerator<Step<E>> {
  const { shared, timeout, options } = transport;
  if (cursor === undefined) {
    const newest = await transport.value(read({ ...filters, limit: 1 }));
    yield { cursor: (cursor = newest.newer!) };
  }
  for (;;) {
    const wait = shared.waits ? Math.min(WAIT_SECONDS, Math.floor(timeout / 2)) : undefined;
    let page: AnyPage<E>;
    try {
      page = await transport.value(read({ ...filters, cursor, limit: 200, wait }));
    } catch (error) {
      if (wait === undefined || !cannotWait(error)) throw error;
      shared.waits = false;
      continue;
    }
    if (page.newer !== null) {
      throw new LatelyProblem({ status: 400, code: "invalid-cursor", detail: "The cursor is of a newest-first walk." });
    }
    // The page's own cursor is behind all of its events, so only the last event may carry it.
    const last = page.events.length - 1;
    for (const [index, event] of page.events.entries()) yield { event, cursor: index === last ? page.next! : cursor };
    yield { cursor: (cursor = page.next!) };
    if (!page.has_more && !shared.waits) await transport.sleep(options.pollSeconds ?? 1);
  }
}

const cannotStream = ({ code }: LatelyProblem): boolean => code === "route-not-found";

const cannotWait = (error: unknown): boolean =>
  error instanceof LatelyProblem && error.code === "invalid-query" && error.errors.some(({ path }) => path === "/wait");

// After a cut, a server repeats the late events of the last minute, whose ids may be of any time. These are the ids of
// a minute with 1,000 events a second.
const REMEMBERED = 65_536;

/** The ids that may come again: the last 65,536, and at most twice as many. */
export class Seen {
  #newer = new Set<string>();
  #older = new Set<string>();

  /** Adds an id, and says whether it is new. */
  add(id: string): boolean {
    if (this.#newer.has(id) || this.#older.has(id)) return false;
    this.#newer.add(id);
    if (this.#newer.size === REMEMBERED) [this.#older, this.#newer] = [this.#newer, new Set()];
    return true;
  }
}
