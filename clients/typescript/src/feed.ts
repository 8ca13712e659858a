// A user's feed, and the sources that the user follows.

import * as api from "./api.js";
import { Document } from "./record.js";
import { Timeline } from "./timeline.js";
import type { Transport } from "./transport.js";

export class Feed<T = unknown> extends Timeline<api.GetFeedQuery, api.FeedPage<T>> {
  constructor(
    transport: Transport,
    readonly user: string,
  ) {
    super(transport, "feeds", user, (query) => api.getFeed(user, query));
  }

  /**
   * The number of unread entries; `more` says that the count stopped, and that there are at least so many. The first page
   * of the feed says the number for its own entries without a price.
   */
  unread(): Promise<api.Unread> {
    return this.transport.value(api.getUnread(this.user));
  }

  /** Marks the event and all older events as seen. The mark never moves back. */
  seen(id: string): Promise<void> {
    return this.transport.value(api.putSeen(this.user, { id }));
  }
}

export class User {
  constructor(
    private readonly transport: Transport,
    readonly name: string,
  ) {}

  /** Makes the user follow a source: `actor:ada`, `subject:repo:octo:hello`. */
  follow(source: string, options: api.Follow = {}): Promise<api.Following> {
    return this.transport.value(api.putFollowing(this.name, source, options));
  }

  unfollow(source: string): Promise<void> {
    return this.transport.value(api.deleteFollowing(this.name, source));
  }

  following(query: api.ListFollowingQuery = {}): AsyncGenerator<api.Following> {
    return this.transport.list(
      (query) => api.listFollowing(this.name, query),
      ({ following }) => following,
      query,
    );
  }

  profile<T extends object = api.Document>(): Document<T> {
    return new Document(this.transport, {
      get: (query) => api.getProfile(this.name, query),
      put: (value, headers) => api.putProfile(this.name, value, headers),
      delete: (headers) => api.deleteProfile(this.name, headers),
    });
  }
}
