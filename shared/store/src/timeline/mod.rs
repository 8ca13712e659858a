//! Timelines of sources, which fan-out writes, and the parts that feeds share with them.
//!
//! A page is planned and merged as a topic's page is (`latest/`): a span of ids, a wave of lanes, a draft. The lanes
//! hold entries: copies of events, and pointers to large ones.
//!
//! - **Filter** (`filter.rs`, pure): chooses the entries to show. The filter runs here and not in DynamoDB, which bills
//!   the same either way. So no list of topics is too long for an expression.
//! - **Reading** (`reading.rs`): sends the queries of a round together, until the page is exact and full.
//! - **Pointer** (`pointer.rs`): turns entries into events.

pub(crate) mod filter;
mod pointer;
pub(crate) mod reading;

use lately_items::{FeedMarks, TimelineEntry, place_at_source, places_at_source};
use lately_keys::{EventId, EventType, Fingerprint, FingerprintBuilder, Source, Topic, UnixMillis};
use lately_model::limits::FUTURE_SECONDS;
use lately_model::{EventQuery, Page, SourceQuery, TimelineEvent};
use lately_table::TableError;

use crate::error::TimelineError;
use crate::handle::TimelineHandle;
use crate::latest::page::{PageDraft, PageEnd};
use crate::latest::wave::Wave;
use crate::limits::WAITED_FOR_SECONDS;
use crate::op::Op;
use crate::span::{IdRange, Span};
use crate::timeline::filter::Filter;
use crate::timeline::reading::TimelineReading;
use crate::wait::{is_empty, page_or_wait, wait_for};

impl TimelineHandle<'_> {
    /// A page of a source's timeline. It shows only events of topics that the caller may see.
    pub async fn page(self, query: &SourceQuery) -> Result<Page<TimelineEvent>, TimelineError> {
        let read = |op: Op, _| async move { op.timeline(self.source).read(query).await };
        let page = page_or_wait(self.op, query.page.wait, read, is_empty).await?;
        self.op.show(page.events.len());
        Ok(page)
    }

    async fn read(self, query: &SourceQuery) -> Result<Page<TimelineEvent>, TimelineError> {
        let SourceQuery { page: query, topic, wait_for } = query;
        if let Some(id) = *wait_for {
            wait_for_event(self.op, id, || self.look(id)).await?;
        }
        let fingerprint = fingerprint(self.source, query, topic.as_ref());
        let begin = |reading: &mut TimelineReading<'_>, ids| reading.source_wave(self.source, ids);
        let page = read_page(self.op, query, topic.as_ref(), wait_for.is_some(), fingerprint, begin);
        Ok(page.await?.0)
    }

    /// True if a source lists an event, and the client may see it.
    async fn look(self, id: EventId) -> Result<Option<()>, TableError> {
        let first = place_at_source(id, self.source);
        let mut item = self.op.table.get(first.clone()).await?;
        if item.is_none() {
            let coverage = self.op.source(self.source).coverage(false).await?;
            let mut others = places_at_source(id, self.source, &coverage);
            others.retain(|place| *place != first);
            item = self.op.table.get_many(&others, true).await?.pop();
        }
        let Some(item) = item else { return Ok(None) };
        let is_seen =
            Filter::seen_by_caller(self.op).takes_entry(&TimelineEntry::decode(&item)?, self.op.now());
        Ok(is_seen.then_some(()))
    }
}

/// A page of a source's timeline or of a feed, and the marks of the feed. A client that has waited for an event must see
/// the event. An eventually consistent read may not have it yet, so the page is then read consistently.
pub(crate) async fn read_page(
    op: &Op,
    query: &EventQuery,
    topic: Option<&Topic>,
    has_waited: bool,
    fingerprint: Fingerprint,
    begin: impl FnOnce(&mut TimelineReading<'_>, IdRange) -> Wave<TimelineEntry>,
) -> Result<(Page<TimelineEvent>, Option<FeedMarks>), TimelineError> {
    let span = Span::new(query, fingerprint, op.now())?;
    let mut draft = PageDraft::new(0, query.limit.get().into(), fingerprint, &span);
    let Some(ids) = span.ids else { return Ok((draft.finish(PageEnd::default()), None)) };
    let (event_type, topic) = (query.event_type.clone(), topic.cloned());
    let filter = Filter { event_type, topic, ..Filter::seen_by_caller(op) };
    let mut reading = TimelineReading::new(op, &filter, span.order, query.consistent || has_waited);
    let mut wave = begin(&mut reading, ids);
    let ending = reading.fill(&mut wave, &mut draft).await?;
    Ok((draft.finish(ending), reading.marks))
}

/// The fingerprint of a query of a source's timeline.
pub(crate) fn fingerprint(source: &Source, query: &EventQuery, topic: Option<&Topic>) -> Fingerprint {
    with_filters(Fingerprint::of("source events").text(&source.to_string()), query, topic)
}

/// Waits until a timeline or a feed shows an event. There is no wait for an event that is too old to be on its way: it
/// is looked up once. An event whose time has not come is refused.
pub(crate) async fn wait_for_event<Looking>(
    op: &Op,
    id: EventId,
    mut look: impl FnMut() -> Looking,
) -> Result<(), TimelineError>
where
    Looking: Future<Output = Result<Option<()>, TableError>>,
{
    let now = op.now();
    // No writer's clock is further ahead than this.
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

/// The fingerprint of a query, to which its cursors are bound. The topics that a client may read are no part of it,
/// because a cursor grants no access.
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
