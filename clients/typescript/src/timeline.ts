// A timeline: pages of events, newest first or oldest first, and the events that come.

import { follow, type Followed, type FollowOptions, type Routes } from "./follow.js";
import type { Cursor, Event } from "./api.js";
import { path, type Request } from "./request.js";
import type { Transport } from "./transport.js";

export interface EventPage<E extends Event = Event> {
  events: E[];
  next: Cursor | null;
  newer: Cursor | null;
  has_more: boolean;
}

export class Timeline<Q extends { cursor?: Cursor | undefined }, P extends EventPage> {
  constructor(
    readonly transport: Transport,
    private readonly kind: "topics" | "actors" | "subjects" | "feeds",
    readonly name: string,
    private readonly read: (query: Q) => Request<P>,
  ) {}

  /** The path of the timeline: timelines of the same path are the same. */
  get path(): string {
    return path`/${this.kind}/${this.name}`;
  }

  /** One page. */
  page(query: Q = {} as Q): Promise<P> {
    return this.transport.value(this.read(query));
  }

  /** All pages from a position on: to the end, or oldest first until they have caught up with now. */
  pages(query: Q = {} as Q): AsyncGenerator<P> {
    return this.transport.pages(this.read, query);
  }

  /** All events of these pages. */
  events(query: Q = {} as Q): AsyncGenerator<P["events"][number]> {
    return this.transport.list(this.read, ({ events }) => events, query);
  }

  /** The events that come from now on, or from a position on: each once, through cut connections. */
  follow(options: FollowOptions<Q> = {} as FollowOptions<Q>): AsyncGenerator<Followed<P["events"][number]>> {
    // Queries with `wait` are not of type Q: the document does not have this parameter yet.
    const page = this.read as unknown as Routes<P["events"][number]>["page"];
    return follow(this.transport, { live: `${this.path}/live`, page }, options);
  }
}
