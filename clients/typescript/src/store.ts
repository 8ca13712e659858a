// A timeline as a user interface shows it: the newest events, those that come, and those that are being posted.
//
// This store knows no framework: `subscribe` and `get` are all that a view needs.

import type { Event, FeedPage, NewEvent } from "./api.js";
import { randomKey } from "./key.js";
import { LatelyProblem, unreachable } from "./problem.js";
import type { Timeline, EventPage } from "./timeline.js";
import type { PostOptions } from "./topic.js";

/** An entry that is shown. Its `id` never changes, so it may be the key of a list. */
export interface Entry<E extends Event = Event> {
  id: string;
  event: E;
  /** `pending`: shown before the server has the event. `failed`: the server did not take it. */
  state: "posted" | "pending" | "failed";
  problem?: LatelyProblem;
}

export interface TimelineState<E extends Event = Event> {
  /** Newest first. */
  entries: readonly Entry<E>[];
  isLoading: boolean;
  hasMore: boolean;
  /** The problem that ended loading or following; null while all is well. */
  problem: LatelyProblem | null;
  /** On feeds: the unread entries of the newest page, and those that came since. `unreadMore`: there may be more. */
  unread: number;
  unreadMore: boolean;
}

type AnyTimeline<E extends Event> = Timeline<{ limit?: number; cursor?: string | undefined }, EventPage<E>>;

/** A feed's page says how many of its entries are unread. */
type NewestPage<E extends Event> = Pick<EventPage<E>, "events"> & Partial<Pick<FeedPage, "unread" | "unread_more">>;

interface Poster {
  post: (event: NewEvent, options?: PostOptions) => Promise<Event>;
}

export class TimelineStore<E extends Event> {
  #state: TimelineState<E> = {
    entries: [],
    isLoading: true,
    hasMore: false,
    problem: null,
    unread: 0,
    unreadMore: false,
  };
  readonly #listeners = new Set<() => void>();
  /** The position behind the oldest page that is loaded; null at the timeline's end, and before the first page. */
  #next: string | null = null;
  /** The problem that has ended following. */
  #ended: LatelyProblem | null = null;
  /** The newest page, and the events that were followed since. */
  #page: NewestPage<E> = { events: [] };
  #since: E[] = [];
  /** The id that `markSeen` marked. */
  #marked = "";
  /** The events of pending and failed entries, as they are sent. */
  readonly #drafts = new Map<string, NewEvent>();

  constructor(
    private readonly timeline: AnyTimeline<E>,
    private readonly limit: number,
    /** On feeds: the user, whose own events are never unread. */
    private readonly user?: string,
  ) {}

  readonly get = (): TimelineState<E> => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Loads the newest page and follows it, until the returned function is called. */
  readonly start = (): (() => void) => {
    const end = new AbortController();
    this.#ended = null;
    this.#run(end.signal).catch((problem: unknown) => {
      if (end.signal.aborted) return;
      this.#ended = problemOf(problem);
      this.#set({ isLoading: false, problem: this.#ended });
    });
    return () => end.abort();
  };

  /** Loads the next page. */
  readonly more = async (): Promise<void> => {
    const cursor = this.#next;
    if (cursor === null || this.#state.isLoading) return;
    this.#set({ isLoading: true, problem: this.#ended });
    try {
      const page = await this.timeline.page({ limit: this.limit, cursor });
      // Another load has moved the end meanwhile.
      if (cursor !== this.#next) return;
      this.#next = page.next;
      this.#add(page.events);
      this.#set({ isLoading: false, hasMore: page.next !== null });
    } catch (problem) {
      this.#set({ isLoading: false, problem: problemOf(problem) });
    }
  };

  /** Shows an event at once and posts it. Its entry says whether that failed; `retry` and `discard` are for that. */
  readonly post = async (event: NewEvent): Promise<void> => {
    const id = randomKey();
    const { at = new Date() } = event;
    const shown = { ...event, at: at instanceof Date ? at.toISOString() : at, id } as unknown as E;
    this.#drafts.set(id, event);
    this.#set({ entries: [{ id, event: shown, state: "pending" }, ...this.#state.entries] });
    await this.#send(id, event);
  };

  /** Posts a failed entry again, under its own key: the server takes it once, even if the first post arrived. */
  readonly retry = async (id: string): Promise<void> => {
    const entry = this.#failed(id);
    if (!entry) return;
    this.#replace(id, { id, event: entry.event, state: "pending" });
    await this.#send(id, this.#drafts.get(id)!);
  };

  /** Removes a failed entry. */
  readonly discard = (id: string): void => {
    if (!this.#failed(id)) return;
    this.#drafts.delete(id);
    this.#set({ entries: this.#state.entries.filter((entry) => entry.id !== id) });
  };

  /** Marks everything that is shown as seen, at once. If the server refuses, the count comes back. */
  readonly markSeen = async (): Promise<void> => {
    const newest = this.#state.entries.find(({ state }) => state === "posted");
    if (!newest) return;
    const marked = this.#marked;
    this.#marked = newest.event.id;
    this.#set({});
    try {
      await (this.timeline as unknown as { seen: (id: string) => Promise<void> }).seen(newest.event.id);
    } catch (problem) {
      if (this.#marked === newest.event.id) this.#marked = marked;
      this.#set({ problem: problemOf(problem) });
    }
  };

  /** Loads the newest page again, and with it the unread entries. Returns the position behind the page. */
  readonly refresh = async (): Promise<string | null> => {
    const page = await this.timeline.page({ limit: this.limit });
    const [newest, oldest] = [idOf(page.events[0]), idOf(page.events.at(-1))];
    // If the page does not reach the events before it, those between are missing: `more` begins with them.
    if (![...this.#page.events, ...this.#since].some(({ id }) => id >= oldest)) {
      this.#next = page.next;
      const entries = this.#state.entries.filter(({ state, event }) => state !== "posted" || event.id >= oldest);
      this.#set({ entries });
    }
    this.#page = page;
    this.#since = this.#since.filter(({ id }) => id > newest);
    this.#add(page.events);
    this.#set({ isLoading: false, hasMore: this.#next !== null, problem: this.#ended });
    return page.newer;
  };

  async #run(signal: AbortSignal): Promise<void> {
    const newer = await this.refresh();
    for await (const { event } of this.timeline.follow({ cursor: newer, signal })) {
      if (!this.#add([event])) continue;
      this.#since.push(event);
      this.#set({});
    }
  }

  async #send(id: string, event: NewEvent): Promise<void> {
    try {
      const posted = (await (this.timeline as unknown as Poster).post(event, { key: id })) as E;
      // The entry keeps its id, so that the view keeps its element. The followed event may have come first.
      this.#drafts.delete(id);
      const others = this.#state.entries.filter((entry) => entry.event.id !== posted.id);
      const entries = others.map((entry) =>
        entry.id === id ? { id, event: posted, state: "posted" as const } : entry,
      );
      this.#set({ entries: newestFirst(entries) });
    } catch (error) {
      const entry = this.#state.entries.find((entry) => entry.id === id)!;
      this.#replace(id, { ...entry, state: "failed", problem: problemOf(error) });
    }
  }

  #failed(id: string): Entry<E> | undefined {
    return this.#state.entries.find((entry) => entry.id === id && entry.state === "failed");
  }

  #replace(id: string, by: Entry<E>): void {
    this.#set({ entries: this.#state.entries.map((entry) => (entry.id === id ? by : entry)) });
  }

  /** Adds events that are not shown yet. Returns whether there was one. */
  #add(events: E[]): boolean {
    const shown = new Set(this.#state.entries.map(({ event }) => event.id));
    const added = events
      .filter(({ id }) => !shown.has(id))
      .map((event) => ({ id: event.id, event, state: "posted" as const }));
    if (added.length > 0) this.#set({ entries: newestFirst([...this.#state.entries, ...added]) });
    return added.length > 0;
  }

  /** Counts anew from what came, so that the order of the responses does not matter. */
  #countUnread(): Pick<TimelineState, "unread" | "unreadMore"> {
    const { events, unread = 0, unread_more = false } = this.#page;
    const count = (events: E[]) => events.filter(({ id, actor }) => id > this.#marked && actor !== this.user).length;
    return {
      // The server may have made the page before it got the mark.
      unread: Math.min(unread, count(events)) + count(this.#since),
      unreadMore: unread_more && this.#marked < idOf(events.at(-1)),
    };
  }

  #set(change: Partial<TimelineState<E>>): void {
    this.#state = { ...this.#state, ...change, ...this.#countUnread() };
    this.#listeners.forEach((listener) => listener());
  }
}

/** Pending and failed entries stay on top; ids sort by time. */
const newestFirst = <E extends Event>(entries: Entry<E>[]): Entry<E>[] => {
  const posted = entries.filter(({ state }) => state === "posted");
  posted.sort((one, other) => (one.event.id < other.event.id ? 1 : -1));
  return [...entries.filter(({ state }) => state !== "posted"), ...posted];
};

const idOf = (event: Event | undefined): string => event?.id ?? "";

const problemOf = (error: unknown): LatelyProblem => (error instanceof LatelyProblem ? error : unreachable(error));
