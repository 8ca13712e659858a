//! Feeds: one user's timeline, of what was pushed into it and of what it pulls.
//!
//! What was pushed lies in the feed's own partition; the marks there (`marks.rs`) name the sources that are
//! pulled, whose timelines are merged in by id. The partition starts with the marks, newest entries next: so the
//! first page is one query, and one more for each source that it pulls. A page that starts elsewhere reads the
//! marks beside its entries.
//!
//! An event may be pushed and pulled, or be pulled by two sources: it is shown once.

mod marks;
mod rebuild;
mod seen;
mod verify;

pub use seen::SeeError;
pub use verify::{FeedFinding, FeedReport};

use futures_util::future::try_join;
use lately_keys::table::{FeedEntryKey, SourceEntryKey};
use lately_keys::{Actor, EventId, Fingerprint, Order, Place, TableKey, UnixMillis, User};
use lately_model::{FeedPage, FeedQuery, Page, PageUnread, TimelineEvent};

use crate::entry::TimelineEntry;
use crate::error::TableError;
use crate::feed::marks::Marks;
use crate::item::{Item, keyed};
use crate::latest::page::{Budget, Ending, PageDraft};
use crate::latest::span::{IdRange, Span};
use crate::latest::wave::Wave;
use crate::limits::EXPECTED_EVENT_BYTES;
use crate::op::Op;
use crate::timeline::filter::Filter;
use crate::timeline::reading::{OWN_LANE, TimelineReading};
use crate::timeline::{TimelineError, is_consistent, wait_for_event, with_filters};

/// The feed of one user, in one request.
#[derive(Clone, Copy, Debug)]
pub struct FeedHandle<'a> {
    pub(crate) op: &'a Op,
    pub(crate) user: &'a User,
}

impl FeedHandle<'_> {
    /// A page of a user's feed. With `topics`, only what was written to one of them is shown.
    ///
    /// # Errors
    /// See [`TimelineError`].
    pub async fn page(self, query: &FeedQuery) -> Result<FeedPage, TimelineError> {
        let topics = self.op.allowed_topics();
        let user = self.user;
        if let Some(id) = query.wait_for {
            let look = || self.look(id);
            wait_for_event(self.op, id, self.op.now(), look).await?;
        }
        let fingerprint = with_filters(Fingerprint::of("feed").text(user.as_str()), &query.page, None);
        let now = self.op.now();
        let span = Span::new(&query.page, fingerprint, now)?;
        let mut draft = PageDraft::new(query.page.limit, fingerprint, &span);
        let Some(ids) = span.ids else {
            let page = draft.finish(Ending::Exhausted);
            return Ok(FeedPage { page, unread: None });
        };
        let mut reading = TimelineReading {
            op: self.op,
            filter: Filter { event_type: query.page.event_type.as_ref(), topic: None, topics, now },
            order: span.order,
            consistent: is_consistent(&query.page, query.wait_for),
            budget: Budget::default(),
        };
        let mut wave = reading.wave(FeedEntryKey::partition(user), ids);
        let marks = reading.begin_feed(user, &mut wave, ids, draft.missing()).await?;
        let ending = reading.fill(&mut wave, &mut draft).await?;
        let page = draft.finish(ending);
        let unread = is_first_of_all(query, &span).then(|| unread(user, &page, marks.seen));
        self.op.show(page.events.len());
        Ok(FeedPage { page, unread })
    }

    /// Whether a feed shows an event: it holds it, or pulls a source that lists it.
    async fn look(self, id: EventId) -> Result<Option<()>, TableError> {
        let topics = self.op.allowed_topics();
        let user = self.user;
        let filter = Filter::seen_by(topics, self.op.now());
        let key = keyed(Place::Table, FeedEntryKey { user: user.clone(), id }.encode());
        let marks = self.marks(None, true);
        let (pushed, marks) = try_join(self.op.table.get_item(key), marks).await?;
        let pulls = marks.pulls.into_iter().filter(|pull| pull.since <= id);
        let keys = pulls.map(|pull| keyed(Place::Table, SourceEntryKey { source: pull.source, id }.encode()));
        let keys: Vec<_> = keys.filter(|_| pushed.is_none()).collect();
        let pulled = self.op.table.get_items(&keys, true).await?;
        let shown = |item: &Item| {
            let entry = TimelineEntry::decode(item)?;
            Ok::<_, TableError>(entry.fans_out && filter.takes(&entry))
        };
        for item in pushed.iter().chain(&pulled) {
            if shown(item)? {
                return Ok(Some(()));
            }
        }
        Ok(None)
    }
}

impl TimelineReading<'_> {
    /// Reads the marks of a feed, and as much of its own entries as one query gives; then the wave knows all its
    /// lanes.
    async fn begin_feed(
        &mut self,
        user: &User,
        wave: &mut Wave<TimelineEntry>,
        ids: IdRange,
        wanted: usize,
    ) -> Result<Marks, TableError> {
        self.op.table.meter.round();
        let begins = self.order == Order::NewestFirst && ids.newest == EventId::last_of(UnixMillis::MAX);
        let asks = wave.asks(wanted, EXPECTED_EVENT_BYTES);
        let ask = *asks.first().expect("a page wants something of the only lane");
        let own = wave.lane(OWN_LANE);
        let (marks, found) = if begins {
            let range = self.range(&own.partition, ask.ids);
            self.op.feed(user).start(&range, ask.limit).await?
        } else {
            let marks = self.op.feed(user).marks(None, self.consistent);
            let (marks, (_, found)) = try_join(marks, self.query(ask, own)).await?;
            (marks, Some(found))
        };
        if let Some(found) = found {
            let answer = self.answer(wave, ask, found);
            wave.absorb(vec![answer]);
        }
        let lanes = u16::try_from(1 + marks.pulls.len()).unwrap_or(u16::MAX);
        for pull in &marks.pulls {
            if let Some(ids) = IdRange::new(ids.oldest.max(pull.since), ids.newest) {
                wave.push(self.lane(SourceEntryKey::partition(&pull.source), ids, lanes));
            }
        }
        Ok(marks)
    }
}

/// Whether a page is the first one that a user opens their feed with.
fn is_first_of_all(query: &FeedQuery, span: &Span) -> bool {
    let page = &query.page;
    let whole = page.range.from.is_none() && page.range.to.is_none() && page.event_type.is_none();
    whole && page.cursor.is_none() && span.order == Order::NewestFirst
}

/// How much of a first page the user has not seen.
fn unread(user: &User, page: &Page<TimelineEvent>, seen: Option<EventId>) -> PageUnread {
    let myself = Actor::from(user);
    let is_new = |event: &&TimelineEvent| seen.is_none_or(|seen| event.event.id > seen);
    let new = page.events.iter().filter(is_new);
    let unread = new.filter(|event| event.event.actor != myself).count();
    let unread_more = page.has_more && page.events.last().is_none_or(|last| is_new(&last));
    PageUnread { unread, unread_more }
}
