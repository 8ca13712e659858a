//! The seen mark of a user in the feed, and the count of newer events.
//!
//! ```text
//! FEED#{user} / #SEEN    id S (the newest event that the user has seen; the mark never moves back)
//! ```
//!
//! The count is exact up to [`SEARCH_UNITS`], and says if it stopped there. It costs as much as a read of the counted
//! entries. Many readers may count the entries of one source that they all pull, so the bound keeps the source's partition
//! free for others. Several partitions may list the same event (the feed, and two sources that it pulls). So the ids are
//! read, and each id counts once.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use lately_items::limits::ENTRY_BYTES;
use lately_items::{FeedEntryKey, PullMarker, SeenMarkKey, SourceEntryKey, TimelineEntry};
use lately_keys::{Actor, Coverage, EventId, Order, Source};
use lately_model::Unread;
use lately_model::limits::FUTURE_SECONDS;
use lately_table::{Condition, TableError};

use crate::at_once::collect_all;
use crate::handle::FeedHandle;
use crate::lane::{LanePage, LaneRange};
use crate::limits::{QUERIES_AT_ONCE, SEARCH_UNITS};
use crate::span::IdRange;
use crate::timeline::filter::Filter;

/// The largest entries that half a read unit holds: four.
const ENTRIES_PER_HALF: u32 = 4;

const _: () = assert!(ENTRIES_PER_HALF as usize * ENTRY_BYTES <= 4_096);

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
        let own = FeedEntryKey::partition(self.user);
        let mut lists =
            VecDeque::from([CountedList { partition: own, rest: ids, source: None, is_new: true }]);
        for PullMarker { source, since } in &marks.pulls {
            if let Some(ids) = IdRange::new(ids.oldest.max(*since), ids.newest) {
                lists.push_back(CountedList::first_of(source, ids));
            }
        }
        let unread = self.count(lists).await?;
        let shown = usize::try_from(unread.unread).unwrap_or(usize::MAX);
        self.op.show(shown);
        Ok(unread)
    }

    /// Counts the events of several lists, each event once, in rounds that share what remains of [`SEARCH_UNITS`]. A round
    /// costs half a unit at least, so the number of rounds is bounded, too. An event takes sixteen bytes of memory.
    async fn count(self, mut lists: VecDeque<CountedList<'_>>) -> Result<Unread, TableError> {
        let myself = Actor::from(self.user);
        let filter = Filter::seen_by_caller(self.op);
        let now = self.op.now();
        let most = 2 * SEARCH_UNITS;
        let mut unread = HashSet::new();
        let mut is_first = true;
        while !lists.is_empty() {
            let left = most.saturating_sub(self.op.cost().read_units.halves);
            // Less than an eighth is not worth a further round.
            if !is_first && (left < most / 8 || self.op.table.is_spent()) {
                break;
            }
            is_first = false;
            // A query costs half a unit, also if it finds nothing. The others wait for a further round.
            let asked = lists.len().min(usize::try_from(left).unwrap_or(usize::MAX)).max(1);
            let share = u32::try_from(left / asked as u64).unwrap_or(u32::MAX).max(1);
            let asked: Vec<_> = lists.drain(..asked).collect();
            let pages = asked.into_iter().map(|list| self.count_page(list, share * ENTRIES_PER_HALF));
            for (list, found, coverage) in collect_all(QUERIES_AT_ONCE, pages).await? {
                for entry in &found.items {
                    // Sources also list events of topics that do not fan out.
                    let is_listed = list.source.is_none() || entry.fans_out;
                    if is_listed && entry.actor != myself && filter.takes_entry(entry, now) {
                        unread.insert(entry.id);
                    }
                }
                if let (Some(source), Some(coverage)) = (list.source, coverage) {
                    lists.extend(CountedList::others_of(source, &coverage, list.rest));
                }
                if let Some(rest) = found.rest(&list.range()) {
                    lists.push_back(CountedList { rest, is_new: false, ..list });
                }
            }
        }
        Ok(Unread { unread: unread.len() as u64, more: !lists.is_empty() })
    }

    /// Reads the next entries of a list, and with the first entries of a source also the source's coverage.
    async fn count_page<'l>(self, list: CountedList<'l>, limit: u32) -> Result<CountedPage<'l>, TableError> {
        let range = list.range();
        if let (Some(source), true) = (list.source, list.is_new) {
            // The source's item is read as well, and the entries with it fit into the same units.
            let (coverage, found) = self.op.source(source).start(&range, limit - 1).await?;
            return Ok((list, found, Some(coverage)));
        }
        let found = LanePage::read(self.op, &range.query().limit(limit), TimelineEntry::decode).await?;
        Ok((list, found, None))
    }
}

/// A list, the entries that a query has found in it, and the coverage of its source if that was read as well.
type CountedPage<'a> = (CountedList<'a>, LanePage<TimelineEntry>, Option<Arc<Coverage>>);

/// A list of entries that are counted: the feed's own, or a shard of a source that the feed pulls.
#[derive(Debug)]
struct CountedList<'a> {
    partition: String,
    /// The ids that are not counted yet.
    rest: IdRange,
    /// The source; `None` for the feed's own list.
    source: Option<&'a Source>,
    /// True if nothing of it was read, and it is the first shard of a source or the feed's own list.
    is_new: bool,
}

impl<'a> CountedList<'a> {
    /// The first shard of a source. Its first page names the other shards.
    fn first_of(source: &'a Source, rest: IdRange) -> Self {
        let partition = SourceEntryKey::partition(source, 0.into());
        Self { partition, rest, source: Some(source), is_new: true }
    }

    /// The other shards of a source that may hold entries of a range.
    fn others_of(source: &'a Source, coverage: &Coverage, rest: IdRange) -> impl Iterator<Item = Self> {
        let shards = coverage.shards_within(rest.oldest.at(), rest.newest.at());
        shards.into_iter().filter(|shard| shard.get() > 0).map(move |shard| {
            let partition = SourceEntryKey::partition(source, shard);
            Self { partition, rest, source: Some(source), is_new: false }
        })
    }

    fn range(&self) -> LaneRange<'_> {
        LaneRange { partition: &self.partition, ids: self.rest, order: Order::NewestFirst, consistent: false }
    }
}
