//! Feeds: the timeline of one user, made of entries that were pushed into the feed and entries that the feed pulls.
//!
//! The feed's own partition holds the pushed entries. The marks there (`items/feed.rs`) name the sources that the feed
//! pulls, and a page merges the timelines of these sources by id. The partition starts with the marks, then the newest
//! entries. So the first page takes one query, and one more for each source that the feed pulls. A page that starts
//! elsewhere reads the marks beside its entries.
//!
//! An event may be both pushed and pulled, or pulled from two sources. A page shows it once.

mod rebuild;
mod seen;
pub(crate) mod settle;
mod start;
mod verify;

pub use seen::SeeError;
pub use verify::{FeedFinding, FeedReport};

use futures_util::future::{try_join, try_join_all};
use lately_items::{FeedEntryKey, TimelineEntry, place_in_feed};
use lately_keys::{Actor, EventId, Fingerprint, Order, User};
use lately_model::{EventQuery, FeedPage, FeedQuery, Page, PageUnread, TimelineEvent};
use lately_table::TableError;

use crate::handle::FeedHandle;
use crate::latest::page::PageEnd;
use crate::latest::span::Span;
use crate::op::Op;
use crate::timeline::error::TimelineError;
use crate::timeline::filter::Filter;
use crate::timeline::reading::TimelineReading;
use crate::timeline::{begin_page, is_consistent, wait_for_event, with_filters};
use crate::wait::{is_empty, page_or_wait};

impl FeedHandle<'_> {
    /// A page of a user's feed. It shows only events of topics that the caller may see.
    pub async fn page(self, query: &FeedQuery) -> Result<FeedPage, TimelineError> {
        let read = |op: Op| async move { op.feed(self.user).read(query).await };
        let is_empty = |page: &FeedPage| is_empty(&page.page);
        let page = page_or_wait(self.op, query.page.wait, read, is_empty).await?;
        self.op.show(page.page.events.len());
        Ok(page)
    }

    async fn read(self, query: &FeedQuery) -> Result<FeedPage, TimelineError> {
        let user = self.user;
        if let Some(id) = query.wait_for {
            wait_for_event(self.op, id, self.op.now(), || self.look(id)).await?;
        }
        let filter = Filter::of(self.op, &query.page, None);
        let (span, mut draft) = begin_page(&query.page, fingerprint(user, &query.page), filter.now)?;
        let Some(ids) = span.ids else {
            let page = draft.finish(PageEnd::default());
            return Ok(FeedPage { page, unread: None });
        };
        let consistent = is_consistent(&query.page, query.wait_for);
        let mut reading = TimelineReading {
            consistent,
            is_feed: true,
            ..TimelineReading::new(self.op, filter, span.order)
        };
        let mut wave = reading.wave(FeedEntryKey::partition(user), ids);
        let marks = reading.begin_feed(user, &mut wave, ids, draft.missing()).await?;
        let ending = reading.fill(&mut wave, &mut draft).await?;
        let page = draft.finish(ending);
        let unread = is_first_of_all(query, &span).then(|| unread(user, &page, marks.seen));
        Ok(FeedPage { page, unread })
    }

    /// True if the feed shows an event: the feed holds its entry, or pulls a source that lists it.
    async fn look(self, id: EventId) -> Result<Option<()>, TableError> {
        let filter = Filter::seen_by(self.op.allowed_topics(), self.op.now());
        let pushed = self.op.table.get(place_in_feed(id, self.user));
        let (pushed, marks) = try_join(pushed, self.marks(None, true)).await?;
        let pulls = marks.pulls.into_iter().filter(|pull| pushed.is_none() && pull.since <= id);
        let places = pulls.map(async |pull| self.op.source(&pull.source).places(id).await);
        let keys = try_join_all(places).await?.concat();
        let pulled = self.op.table.get_many(&keys, true).await?;
        for item in pushed.iter().chain(&pulled) {
            let entry = TimelineEntry::decode(item)?;
            if entry.fans_out && filter.takes(&entry) {
                return Ok(Some(()));
            }
        }
        Ok(None)
    }
}

/// The fingerprint of a query of a feed.
pub(crate) fn fingerprint(user: &User, query: &EventQuery) -> Fingerprint {
    with_filters(Fingerprint::of("feed").text(user.as_str()), query, None)
}

/// True if a page is the first page of the whole feed, newest events first.
fn is_first_of_all(query: &FeedQuery, span: &Span) -> bool {
    let page = &query.page;
    let whole = page.range.from.is_none() && page.range.to.is_none() && page.event_type.is_none();
    whole && page.cursor.is_none() && span.order == Order::NewestFirst
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
