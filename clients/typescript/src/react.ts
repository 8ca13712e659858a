// Hooks for React: a timeline, a feed and an unread count that follow the server.
//
// A hook starts again if the client or the timeline's path changes. Make the client once, outside of components.

import { useEffect, useMemo, useSyncExternalStore } from "react";

import type { Event, NewEvent, TimelineEvent, TimelinePage } from "./api.js";
import type { Feed } from "./feed.js";
import { TimelineStore, type TimelineState } from "./store.js";
import type { LatelyProblem } from "./problem.js";
import type { Timeline } from "./timeline.js";
import type { Topic } from "./topic.js";

export type { Entry, TimelineState } from "./store.js";

export interface TimelineOptions {
  /** The events of a page; the default is 50. */
  limit?: number | undefined;
}

type Shown<E extends Event> = TimelineState<E> & Pick<TimelineStore<E>, "more">;
type Posting<T> = Pick<TimelineStore<Event<T>>, "retry" | "discard"> & { post: (event: NewEvent<T>) => Promise<void> };

/** The events of a topic, newest first, and `post`, which shows an event before the server has it. */
export function useTimeline<T>(timeline: Topic<T>, options?: TimelineOptions): Shown<Event<T>> & Posting<T>;
/** The events of an actor or a subject, newest first. */
export function useTimeline<T>(
  timeline: Timeline<any, TimelinePage<T>>,
  options?: TimelineOptions,
): Shown<TimelineEvent<T>>;
export function useTimeline(
  timeline: Timeline<any, any>,
  { limit = 50 }: TimelineOptions = {},
): Shown<any> & Posting<any> {
  const { transport, path } = timeline;
  const store = useMemo(() => new TimelineStore<Event>(timeline, limit), [transport, path, limit]);
  const { more, post, retry, discard } = store;
  return { ...useStore(store), more, post, retry, discard };
}

/** A user's feed, newest first, with the unread entries of the pages that are shown. */
export function useFeed<T>(
  feed: Feed<T>,
  { limit = 50 }: TimelineOptions = {},
): Shown<TimelineEvent<T>> & Pick<TimelineStore<TimelineEvent<T>>, "markSeen"> {
  const { transport, path, user } = feed;
  const store = useMemo(() => new TimelineStore<TimelineEvent<T>>(feed, limit, user), [transport, path, limit]);
  const { more, markSeen } = store;
  return { ...useStore(store), more, markSeen };
}

// A bell shows hardly more than "99+".
const COUNTED = 100;

/**
 * How many entries of a feed are unread: at most 100 and those that came since; `more` says that there may be more.
 * After another view has marked the feed as seen, `refresh` asks again.
 */
export function useUnread(feed: Feed<any>): {
  unread: number;
  more: boolean;
  problem: LatelyProblem | null;
  markSeen: () => Promise<void>;
  refresh: () => Promise<unknown>;
} {
  const { transport, path, user } = feed;
  const store = useMemo(() => new TimelineStore<TimelineEvent>(feed, COUNTED, user), [transport, path]);
  const { unread, unreadMore: more, problem } = useStore(store);
  return { unread, more, problem, markSeen: store.markSeen, refresh: store.refresh };
}

/** The state of a store that runs as long as the component is shown. */
function useStore<E extends Event>(store: TimelineStore<E>): TimelineState<E> {
  useEffect(() => store.start(), [store]);
  return useSyncExternalStore(store.subscribe, store.get, store.get);
}
