//! The seen mark of a user in the feed, and the count of newer events.
//!
//! ```text
//! FEED#{user} / #SEEN    id S (the newest event that the user has seen; the mark never moves back)
//! ```
//!
//! The count is exact up to the bound of one request ([`UNITS_PER_REQUEST`]), and says if it stopped there. It costs as
//! much as a read of the counted entries. Several partitions may list the same event (the feed, and two sources that it
//! pulls). So the ids are read, and each id counts once.
//!
//! [`UNITS_PER_REQUEST`]: lately_table::limits::UNITS_PER_REQUEST

use std::collections::HashSet;

use futures_util::future::try_join_all;
use lately_items::{FeedEntryKey, SeenMarkKey, TimelineEntry};
use lately_keys::{Actor, EventId, Order};
use lately_model::Unread;
use lately_model::limits::FUTURE_SECONDS;
use lately_table::limits::UNITS_PER_REQUEST;
use lately_table::{Condition, TableError};

use crate::at_once::collect_all;
use crate::handle::FeedHandle;
use crate::lane::{LanePage, LaneRange};
use crate::limits::QUERIES_AT_ONCE;
use crate::span::IdRange;
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
        // A consistent read: a user who has just seen everything has nothing unread.
        let marks = self.marks(true).await?;
        let oldest = marks.seen.map_or(Some(EventId::MIN), EventId::just_after);
        let Some(ids) = oldest.and_then(|oldest| IdRange::new(oldest, EventId::MAX)) else {
            return Ok(Unread::default());
        };
        let pulls = marks.pulls.iter().filter_map(|pull| {
            let ids = IdRange::new(ids.oldest.max(pull.since), ids.newest)?;
            Some(self.op.source(&pull.source).partitions(ids, false))
        });
        let mut partitions = vec![(FeedEntryKey::partition(self.user), ids)];
        partitions.extend(try_join_all(pulls).await?.into_iter().flatten());
        let unread = self.count(&partitions).await?;
        let shown = usize::try_from(unread.unread).unwrap_or(usize::MAX);
        self.op.show(shown);
        Ok(unread)
    }

    /// Counts the events that several partitions list, each event once. An event takes sixteen bytes of memory.
    async fn count(self, partitions: &[(String, IdRange)]) -> Result<Unread, TableError> {
        let (myself, filter) = (&Actor::from(self.user), &Filter::seen_by_caller(self.op));
        let now = self.op.now();
        // An entry has 1 KB at most. So the first queries of all lists together stay within the bound.
        let limit = u32::try_from(UNITS_PER_REQUEST * 8 / partitions.len() as u64).unwrap_or(u32::MAX);
        let lists = partitions.iter().enumerate().map(async |(number, (partition, ids))| {
            let (mut unread, mut rest) = (HashSet::new(), Some(*ids));
            while let Some(ids) = rest {
                let range = LaneRange { partition, ids, order: Order::NewestFirst, consistent: false };
                let query = range.query().limit(limit.max(1));
                let found = LanePage::read(self.op, &query, TimelineEntry::decode).await?;
                rest = found.rest(&range);
                // The first list is the feed's own. Sources also list events of topics that do not fan out.
                let counted = found.items.iter().filter(|entry| {
                    (number == 0 || entry.fans_out)
                        && entry.actor != *myself
                        && filter.takes_entry(entry, now)
                });
                unread.extend(counted.map(|entry| entry.id));
                if self.op.table.is_spent() {
                    break;
                }
            }
            Ok::<_, TableError>((unread, rest.is_some()))
        });
        let lists = collect_all(QUERIES_AT_ONCE, lists).await?;
        let more = lists.iter().any(|(_, more)| *more);
        let unread: HashSet<EventId> = lists.into_iter().flat_map(|(unread, _)| unread).collect();
        Ok(Unread { unread: unread.len() as u64, more })
    }
}
