// Hooks for React: a timeline, a feed and an unread count that follow the server.
//
// A hook starts again if the client or the timeline's path changes. Make the client once, outside of components.

import { useEffect, useMemo, useSyncExternalStore } from "react";

import type { Event, TimelineEvent } from "./api.js";
import type { Feed } from "./feed.js";
import { TimelineStore, type TimelineState } from "./store.js";
import type { LatelyProblem } from "./problem.js";
import type { EventPage, Timeline } from "./timeline.js";
import type { Topic } from "./topic.js";

export type { Entry, TimelineState } from "./store.js";

export interface TimelineOptions {
  /** The events of a page; the default is 50. */
  limit?: number;
}

type Shown<E extends Event> = TimelineState<E> & Pick<TimelineStore<E>, "more">;
type Posting<E extends Event> = Pick<TimelineStore<E>, "post" | "retry" | "discard">;

/** The events of a topic, newest first, and `post`, which shows an event before the server has it. */
export function useTimeline(timeline: Topic, options?: TimelineOptions): Shown<Event> & Posting<Event>;
/** The events of an actor or a subject, newest first. */
export function useTimeline<P extends EventPage<TimelineEvent>>(
  timeline: Timeline<any, P>,
  options?: TimelineOptions,
): Shown<TimelineEvent>;
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
export function useFeed(
  feed: Feed,
  { limit = 50 }: TimelineOptions = {},
): Shown<TimelineEvent> & Pick<TimelineStore<TimelineEvent>, "markSeen"> {
  const { transport, path, user } = feed;
  const store = useMemo(() => new TimelineStore<TimelineEvent>(feed, limit, user), [transport, path, limit]);
  const { more, markSeen } = store;
  return { ...useStore(store), more, markSeen };
}

// A bell shows hardly more than "99+".
const COUNTED = 100;

/**
 * How many entries of a feed are unread: at most 100 and those that came since; `more` says that there may be more.
 * After another view has marked the feed as seen, `refresh` asks again.
 */
export function useUnread(feed: Feed): {
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
