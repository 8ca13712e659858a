// A notification bell: the number of entries of a user's feed that the user has not seen, and the newest of them.
//
// `useUnread` counts, and follows the feed, so the number rises without a reload. To open the bell marks everything as
// seen, on the server too: the bells of the user's other windows and devices know it after `refresh`.

import { useState } from "react";

import type { Feed, TimelineEvent } from "@lately/client";
import { useFeed, useUnread } from "@lately/client/react";

/** The count stops here; the client counts up to 100. */
const MOST = 99;

export function Bell({ feed }: { feed: Feed }) {
  const { unread, more, problem, markSeen } = useUnread(feed);
  const [isOpen, setOpen] = useState(false);
  const count = more || unread > MOST ? `${Math.min(unread, MOST)}+` : `${unread}`;

  async function toggle() {
    setOpen(!isOpen);
    if (!isOpen && unread > 0) await markSeen();
  }

  return (
    <div className="bell">
      <button onClick={toggle} aria-expanded={isOpen} aria-label={`Notifications, ${count} unread`}>
        🔔 {unread > 0 && <b>{count}</b>}
      </button>
      {problem && <p role="alert">{problem.detail}</p>}
      {isOpen && <News feed={feed} />}
    </div>
  );
}

function News({ feed }: { feed: Feed }) {
  const { entries, isLoading, hasMore, more } = useFeed(feed, { limit: 10 });
  return (
    <div role="dialog" aria-label="Notifications" aria-busy={isLoading}>
      <ul>
        {entries.map(({ id, event }) => (
          <li key={id}>
            {sentence(event)} <time dateTime={event.at}>{new Date(event.at).toLocaleTimeString()}</time>
          </li>
        ))}
      </ul>
      {!isLoading && entries.length === 0 && <p>Nothing yet.</p>}
      {hasMore && <button onClick={more}>Older</button>}
    </div>
  );
}

function sentence({ actor, type, subject }: TimelineEvent): string {
  return [actor, type.replaceAll(".", " "), subject].filter(Boolean).join(" · ");
}
