//! Timelines that fan-out writes: those of sources, which lie in one partition each, and what feeds share with
//! them.
//!
//! A page is planned and merged as one of a topic is (`latest/`): a span of ids, a wave of lanes, a draft. What
//! lies in the lanes are entries: copies of events, and pointers to large ones.
//!
//! - **Filter** (`filter.rs`, pure): which entries are shown. It is applied here and not by DynamoDB, which bills
//!   the same either way: so nothing depends on how long an expression may be.
//! - **Range** (`range.rs`): one query of entries.
//! - **Reading** (`reading.rs`): the queries of a round at once, until the page is exact and full.
//! - **Pointer** (`pointer.rs`): from entries to events.

pub(crate) mod filter;
mod pointer;
pub(crate) mod range;
pub(crate) mod reading;

use lately_keys::table::SourceEntryKey;
use lately_keys::{
    CursorError, EventId, EventType, Fingerprint, FingerprintBuilder, Place, Source, TableKey, Topic,
    UnixMillis,
};
use lately_model::limits::FUTURE_SECONDS;
use lately_model::{EventQuery, Page, SourceQuery, TimelineEvent};

use crate::entry::TimelineEntry;
use crate::error::TableError;
use crate::item::keyed;
use crate::latest::page::{Budget, Ending, PageDraft};
use crate::latest::span::Span;
use crate::limits::WAITED_FOR_SECONDS;
use crate::op::Op;
use crate::timeline::filter::Filter;
use crate::timeline::reading::TimelineReading;
use crate::wait::wait_for;

/// Why a source's timeline or a feed could not be read.
#[derive(Debug, thiserror::Error)]
pub enum TimelineError {
    /// The cursor is none, or not one of this query.
    #[error(transparent)]
    Cursor(#[from] CursorError),
    /// The time of the event that was to be waited for has not come.
    #[error("the event is in the future")]
    InFuture,
    /// The event that was waited for did not show in time.
    #[error("the event is not visible yet")]
    NotYetVisible,
    /// The table could not be read.
    #[error(transparent)]
    Table(#[from] TableError),
}

/// The timeline of one source, in one request.
#[derive(Clone, Copy, Debug)]
pub struct TimelineHandle<'a> {
    pub(crate) op: &'a Op,
    pub(crate) source: &'a Source,
}

impl TimelineHandle<'_> {
    /// A page of a source's timeline. With `topics`, only what was written to one of them is shown.
    ///
    /// # Errors
    /// See [`TimelineError`].
    pub async fn page(self, query: &SourceQuery) -> Result<Page<TimelineEvent>, TimelineError> {
        let topics = self.op.allowed_topics();
        let source = self.source;
        if let Some(id) = query.wait_for {
            let look = || self.look(id);
            wait_for_event(self.op, id, self.op.now(), look).await?;
        }
        let topic = query.topic.as_ref();
        let fingerprint = Fingerprint::of("source events").text(&source.to_string());
        let fingerprint = with_filters(fingerprint, &query.page, topic);
        let now = self.op.now();
        let span = Span::new(&query.page, fingerprint, now)?;
        let mut draft = PageDraft::new(query.page.limit, fingerprint, &span);
        let Some(ids) = span.ids else {
            return Ok(draft.finish(Ending::Exhausted));
        };
        let mut reading = TimelineReading {
            op: self.op,
            filter: Filter { event_type: query.page.event_type.as_ref(), topic, topics, now },
            order: span.order,
            consistent: is_consistent(&query.page, query.wait_for),
            budget: Budget::default(),
        };
        let mut wave = reading.wave(SourceEntryKey::partition(source), ids);
        let ending = reading.fill(&mut wave, &mut draft).await?;
        let page = draft.finish(ending);
        self.op.show(page.events.len());
        Ok(page)
    }

    /// Whether a source lists an event, and the client may see it.
    async fn look(self, id: EventId) -> Result<Option<()>, TableError> {
        let topics = self.op.allowed_topics();
        let source = self.source;
        let key = keyed(Place::Table, SourceEntryKey { source: source.clone(), id }.encode());
        let Some(item) = self.op.table.get_item(key).await? else { return Ok(None) };
        let entry = TimelineEntry::decode(&item)?;
        Ok(Filter::seen_by(topics, self.op.now()).takes(&entry).then_some(()))
    }
}

/// Waits until a timeline or a feed shows an event. One that is so old that it cannot come any more is looked for once, and
/// one that has no writer yet is refused.
pub(crate) async fn wait_for_event<Looking>(
    op: &Op,
    id: EventId,
    now: UnixMillis,
    mut look: impl FnMut() -> Looking,
) -> Result<(), TimelineError>
where
    Looking: Future<Output = Result<Option<()>, TableError>>,
{
    // No writer's clock is further ahead.
    if id.at() > now.saturating_add(FUTURE_SECONDS * 1000) {
        return Err(TimelineError::InFuture);
    }
    let seen = if id.at() < now.saturating_sub(WAITED_FOR_SECONDS * 1000) {
        look().await?
    } else {
        wait_for(op.ambient(), op.table.time_left(), look).await?
    };
    seen.ok_or(TimelineError::NotYetVisible)
}

/// Who waited for an event is shown it: an eventually consistent read may not have it yet.
pub(crate) const fn is_consistent(query: &EventQuery, waited_for: Option<EventId>) -> bool {
    query.consistent || waited_for.is_some()
}

/// What a cursor of a timeline is bound to. The topics that a client may read are no part of it: a cursor grants
/// nothing.
pub(crate) fn with_filters(
    fingerprint: FingerprintBuilder,
    query: &EventQuery,
    topic: Option<&Topic>,
) -> Fingerprint {
    let time = |at: Option<UnixMillis>| at.map(|at| at.to_string());
    fingerprint
        .option(query.event_type.as_ref().map(EventType::as_str))
        .option(topic.map(Topic::as_str))
        .option(time(query.range.from).as_deref())
        .option(time(query.range.to).as_deref())
        .finish()
}
