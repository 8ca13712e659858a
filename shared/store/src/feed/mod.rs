//! Feeds: the timeline of one user, made of entries that were pushed into the feed and entries that the feed pulls.
//!
//! The feed's own partition holds the pushed entries. The marks there (`items/feed.rs`) name the sources that the feed
//! pulls, and a page merges the timelines of these sources by id. The partition starts with the marks, then the newest
//! entries. So the first page takes one query, and one more for each source that the feed pulls. A page that starts
//! elsewhere reads the marks beside its entries (`timeline/reading.rs`).
//!
//! An event may be both pushed and pulled, or pulled from two sources. A page shows it once.

mod rebuild;
mod seen;
pub(crate) mod settle;
mod verify;

pub use seen::SeeError;
pub use verify::{FeedFinding, FeedReport};

use futures_util::future::{try_join, try_join_all};
use lately_items::{BEFORE_ENTRIES, FeedEntryKey, FeedMarks, TimelineEntry, place_in_feed};
use lately_keys::{Actor, EventId, Fingerprint, Order, User};
use lately_model::{EventQuery, FeedPage, FeedQuery, Page, PageUnread, TimelineEvent};
use lately_table::{Item, Query, TableError};

use crate::error::TimelineError;
use crate::handle::FeedHandle;
use crate::lane::{LanePage, LaneRange};
use crate::op::Op;
use crate::timeline::filter::Filter;
use crate::timeline::reading::TimelineReading;
use crate::timeline::{read_page, wait_for_event, with_filters};
use crate::wait::{is_empty, page_or_wait};

impl FeedHandle<'_> {
    /// A page of a user's feed. It shows only events of topics that the caller may see.
    pub async fn page(self, query: &FeedQuery) -> Result<FeedPage, TimelineError> {
        let read = |op: Op, _| async move { op.feed(self.user).read(query).await };
        let is_empty = |page: &FeedPage| is_empty(&page.page);
        let page = page_or_wait(self.op, query.page.wait, read, is_empty).await?;
        self.op.show(page.page.events.len());
        Ok(page)
    }

    async fn read(self, query: &FeedQuery) -> Result<FeedPage, TimelineError> {
        let user = self.user;
        if let Some(id) = query.wait_for {
            wait_for_event(self.op, id, || self.look(id)).await?;
        }
        let fingerprint = fingerprint(user, &query.page);
        let begin = |reading: &mut TimelineReading<'_>, ids| reading.feed_wave(user, ids, None);
        let page = read_page(self.op, &query.page, None, query.wait_for.is_some(), fingerprint, begin);
        let (page, marks) = page.await?;
        let marks = marks.filter(|_| is_first_of_all(&query.page));
        let unread = marks.map(|marks| unread(user, &page, marks.seen));
        Ok(FeedPage { page, unread })
    }

    /// True if the feed shows an event: the feed holds its entry, or pulls a source that lists it.
    async fn look(self, id: EventId) -> Result<Option<()>, TableError> {
        let (filter, now) = (Filter::seen_by_caller(self.op), self.op.now());
        let pushed = self.op.table.get(place_in_feed(id, self.user));
        let (pushed, marks) = try_join(pushed, self.marks(true)).await?;
        let pulls = marks.pulls.into_iter().filter(|pull| pushed.is_none() && pull.since <= id);
        let places = pulls.map(async |pull| self.op.source(&pull.source).places(id).await);
        let keys = try_join_all(places).await?.concat();
        let pulled = self.op.table.get_many(&keys, true).await?;
        for item in pushed.iter().chain(&pulled) {
            let entry = TimelineEntry::decode(item)?;
            if entry.fans_out && filter.takes_entry(&entry, now) {
                return Ok(Some(()));
            }
        }
        Ok(None)
    }

    /// The item of an entry in the feed.
    pub(crate) fn entry(self, entry: &TimelineEntry) -> Item {
        entry.in_feed(self.user, self.op.store.feeds.retention)
    }

    /// All marks of a feed.
    ///
    /// A user has at most some hundred marks. One query reads 1 MB, which is some thousand marks.
    pub(crate) async fn marks(self, consistent: bool) -> Result<FeedMarks, TableError> {
        let query = Query::partition(FeedEntryKey::partition(self.user)).before(BEFORE_ENTRIES);
        let items = self.op.table.query_all(query.consistent(consistent)).await?;
        self.op.table.meter().items(items.len());
        Ok(FeedMarks::decode(&items)?)
    }

    /// The start of a feed, with one query: its marks, and the first entries of a range that begins with the newest
    /// possible entry.
    pub(crate) async fn start(
        self,
        range: &LaneRange<'_>,
        wanted: u32,
    ) -> Result<(FeedMarks, LanePage<TimelineEntry>), TableError> {
        let pulls = &self.op.memory().pulls;
        // One more item, for the seen mark. Without such a mark, one more entry says whether the feed continues.
        let expected = pulls.get(self.user).unwrap_or(0).saturating_add(1);
        let (marks, entries) =
            LanePage::read_first(self.op, range, wanted, expected, TimelineEntry::decode).await?;
        let marks = FeedMarks::decode(&marks)?;
        pulls.insert(self.user.clone(), u32::try_from(marks.pulls.len()).unwrap_or(u32::MAX));
        Ok((marks, entries))
    }
}

/// The fingerprint of a query of a feed.
pub(crate) fn fingerprint(user: &User, query: &EventQuery) -> Fingerprint {
    with_filters(Fingerprint::of("feed").text(user.as_str()), query, None)
}

/// True if a page is the first page of the whole feed, newest events first.
fn is_first_of_all(page: &EventQuery) -> bool {
    let whole = page.range.from.is_none() && page.range.to.is_none() && page.event_type.is_none();
    whole && page.cursor.is_none() && page.order != Some(Order::OldestFirst)
}

/// The number of events of a first page that the user has not seen.
fn unread(user: &User, page: &Page<TimelineEvent>, seen: Option<EventId>) -> PageUnread {
    let myself = Actor::from(user);
    let is_new = |event: &&TimelineEvent| seen.is_none_or(|seen| event.event.id > seen);
    let new = page.events.iter().filter(is_new);
    let unread = new.filter(|event| event.event.actor != myself).count();
    let unread_more = page.has_more && page.events.last().is_none_or(|last| is_new(&last));
    PageUnread { unread, unread_more }
}
