//! The seen mark of a user in the feed, and the count of newer events.
//!
//! ```text
//! FEED#{user} / #SEEN    id S (the newest event that the user has seen; the mark never moves back)
//! ```
//!
//! The count is exact up to the bound of one request ([`UNITS_PER_REQUEST`]), and says if it stopped there. It costs as
//! much as a read of the counted entries. If the feed pulls nothing, DynamoDB itself counts. If the feed pulls sources,
//! several partitions may list the same event (the feed, and two sources). Then the ids are read, and each id counts
//! once.
//!
//! [`UNITS_PER_REQUEST`]: lately_table::limits::UNITS_PER_REQUEST

use std::collections::HashSet;

use futures_util::future::try_join_all;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use lately_items::{EXPIRES_AT, FeedEntryKey, SeenMarkKey, TimelineEntry, event};
use lately_keys::{Actor, EventId, Order, UnixMillis};
use lately_model::Unread;
use lately_model::limits::FUTURE_SECONDS;
use lately_table::limits::UNITS_PER_REQUEST;
use lately_table::{Condition, Query, TableError};

use crate::handle::FeedHandle;
use crate::lane::LaneRange;
use crate::latest::span::IdRange;
use crate::limits::QUERIES_AT_ONCE;
use crate::timeline::filter::Filter;

/// Why a feed could not be marked as seen.
#[derive(Debug, thiserror::Error)]
pub enum SeeError {
    /// The event's time has not come. With such a mark, no event before that time would ever count as unread.
    #[error("the event is in the future")]
    InFuture,
    /// The table could not be written.
    #[error(transparent)]
    Table(#[from] TableError),
}

impl FeedHandle<'_> {
    /// Marks a feed as seen up to an event and including it. If newer events are marked as seen already, nothing
    /// changes.
    pub async fn see(self, id: EventId) -> Result<(), SeeError> {
        // No event can be further in the future: no writer's clock is further ahead.
        if id.at() > self.op.now().saturating_add(FUTURE_SECONDS * 1000) {
            return Err(SeeError::InFuture);
        }
        // The texts of ids sort as the ids do.
        let is_newer = Condition::no_item().or(Condition::below(SeenMarkKey::ID, &id));
        self.op.table.put_if(&SeenMarkKey { user: self.user.clone() }.item(id), &is_newer).await?;
        Ok(())
    }

    /// The number of entries of a feed that are newer than the seen mark and not the user's own. Only events of topics
    /// that the caller may see count.
    pub async fn unread(self) -> Result<Unread, TableError> {
        let topics = self.op.allowed_topics();
        let user = self.user;
        // A consistent read: a user who has just seen everything has nothing unread.
        let marks = self.marks(None, true).await?;
        let oldest = match marks.seen {
            None => Some(EventId::first_of(UnixMillis::MIN)),
            Some(seen) => seen.just_after(),
        };
        let newest = EventId::last_of(UnixMillis::MAX);
        let Some(ids) = oldest.and_then(|oldest| IdRange::new(oldest, newest)) else {
            return Ok(Unread::default());
        };
        let now = self.op.now();
        let unread = if marks.pulls.is_empty() && topics.is_none() {
            self.count_pushed(ids, now).await?
        } else {
            let filter = Filter::seen_by(topics, now);
            let pulls = marks.pulls.iter().filter_map(|pull| {
                let ids = IdRange::new(ids.oldest.max(pull.since), ids.newest)?;
                Some(self.op.source(&pull.source).partitions(ids, false))
            });
            let pulled = try_join_all(pulls).await?.concat();
            let partitions: Vec<_> =
                [(FeedEntryKey::partition(user), ids)].into_iter().chain(pulled).collect();
            self.count_all(&partitions, filter).await?
        };
        let shown = usize::try_from(unread.unread).unwrap_or(usize::MAX);
        self.op.show(shown);
        Ok(unread)
    }

    /// Counts the feed's own entries, until its end or the bound of the request.
    async fn count_pushed(self, ids: IdRange, now: UnixMillis) -> Result<Unread, TableError> {
        let query = Query::partition(FeedEntryKey::partition(self.user))
            .between(ids.newest.sort_key().to_string(), ids.oldest.sort_key().to_string())
            .filter(
                Condition::differs(event::ACTOR, self.user.as_str())
                    .and(Condition::absent(EXPIRES_AT).or(Condition::above(EXPIRES_AT, now.get() / 1000))),
            )
            .count();
        let mut unread = 0;
        let mut start = None;
        loop {
            let page = self.op.table.query_items(&query.clone().start(start)).await?;
            unread += page.count as u64;
            start = page.next;
            let more = start.is_some();
            if !more || self.op.table.is_spent() {
                return Ok(Unread { unread, more });
            }
        }
    }

    /// Counts the events that several partitions list, each event once. An event takes sixteen bytes of memory.
    async fn count_all(
        self,
        partitions: &[(String, IdRange)],
        filter: Filter<'_>,
    ) -> Result<Unread, TableError> {
        let myself = &Actor::from(self.user);
        // An entry has 1 KB at most. So the first queries of all lists together stay within the bound.
        let limit = u32::try_from(UNITS_PER_REQUEST * 8 / partitions.len() as u64).unwrap_or(u32::MAX);
        let lists: Vec<_> = (0..)
            .zip(partitions)
            .map(|(number, (partition, ids))| async move {
                let mut unread = HashSet::new();
                let mut rest = Some(*ids);
                while let Some(ids) = rest {
                    let order = Order::NewestFirst;
                    let range = LaneRange { partition, ids, order, consistent: false };
                    let found =
                        self.op.lane_page(&range.query().limit(limit.max(1)), TimelineEntry::decode).await?;
                    rest = found.rest(&range);
                    // The first list is the feed's own. Sources also list events of topics that do not fan out.
                    let counted = found.items.iter().filter(|entry| {
                        (number == 0 || entry.fans_out) && entry.actor != *myself && filter.takes(entry)
                    });
                    unread.extend(counted.map(|entry| entry.id));
                    if self.op.table.is_spent() {
                        break;
                    }
                }
                Ok::<_, TableError>((unread, rest.is_some()))
            })
            .collect();
        let (mut all, mut more) = (HashSet::new(), false);
        let mut lists = stream::iter(lists).buffer_unordered(QUERIES_AT_ONCE);
        while let Some((list, goes_on)) = lists.try_next().await? {
            all.extend(list);
            more |= goes_on;
        }
        Ok(Unread { unread: all.len() as u64, more })
    }
}
