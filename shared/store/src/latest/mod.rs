//! The latest events of a topic: exact, newest first, at the price of the events that are read.
//!
//! A topic's events lie in buckets of time, and each bucket in as many partitions as it has shards. DynamoDB orders
//! items within a partition, but not across partitions. So several queries make one page, and the question is how to
//! read as little as possible and still be exact.
//!
//! - **Span** (`span.rs`, pure): derives the wanted ids from the query, its cursor and the clock.
//! - **Scan** (`scan.rs`): reads the directory, 32 entries at a time, to find the buckets that hold anything, in order.
//! - **Wave** (`wave.rs`, pure): reads buckets in waves that double, 1, 2, 4 … 16, while the page is not full. Each
//!   shard of a wave's buckets is a lane. A lane's *frontier* is the id up to which the lane is known. As soon as the
//!   known events suffice to fill the page, τ is the last event that the page can take. A lane whose frontier lies
//!   before τ is asked again, up to τ, and for no more events than can still matter. When no such lane is left, the
//!   page is exact.
//! - **Pace** (`pace.rs`, pure): chooses how far in time the next round looks, from the rate of the topic's events, and how
//!   many events to ask each shard for.
//! - **Round** (`round.rs`): sends the queries of one round together.
//! - **Run** (`run.rs`): the waves of a topic.
//! - **Page** (`page.rs`, pure): collects the events, and makes the cursor: one position from which all lanes continue.
//!
//! The end of each query is either followed or becomes a cursor: a page that ends before it is full says so.
//!
//! Span, wave and page know nothing of topics: they also read the timelines of sources and feeds.

pub(crate) mod pace;
pub(crate) mod page;
pub(crate) mod round;
mod run;
pub(crate) mod wave;

use lately_items::StoredTopic;
use lately_keys::{EventType, Fingerprint, Order, Topic, UnixMillis};
use lately_model::{Event, EventQuery, Page};
use lately_table::TableError;

use crate::error::TimelineError;
use crate::handle::TopicHandle;
use crate::latest::page::{DraftEnd, PageDraft, PageEnd};
use crate::latest::round::WaveReader;
use crate::latest::run::LatestReading;
use crate::limits::WAVE_BUCKETS;
use crate::op::Op;
use crate::span::{IdRange, Span};
use crate::wait::{is_empty, page_or_wait};

impl TopicHandle<'_> {
    /// A page of a topic's events.
    pub async fn latest(self, query: &EventQuery) -> Result<Page<Event>, TimelineError> {
        let read = |op: Op, before: Option<Page<Event>>| async move {
            // Only an oldest-first page waits, and each of them has a cursor.
            let Some(before) = before else { return op.topic(self.topic).page(query).await };
            op.topic(self.topic).page(&EventQuery { cursor: before.next, ..query.clone() }).await
        };
        page_or_wait(self.op, query.wait, read, is_empty).await
    }

    async fn page(self, query: &EventQuery) -> Result<Page<Event>, TimelineError> {
        let stored = self.stored().await?;
        let fingerprint = fingerprint(self.topic, &stored, query);
        let span = Span::new(query, fingerprint, self.op.now())?;
        let mut draft = PageDraft::new(0, query.limit.get().into(), fingerprint, &span);
        let mut ending = self.fill(&mut draft, &stored, query, &span).await?;
        // The events of other types are behind the cursor, too, so that no later page pays for them again.
        if query.event_type.is_some() && ending == PageEnd::default() {
            ending.at = draft.settled_end();
        }
        Ok(draft.finish(ending))
    }

    /// The first events of a range, oldest first: at most `limit`, and no more than fit beside this many bytes of other
    /// data.
    pub(crate) async fn first_events(
        self,
        stored: &StoredTopic,
        query: &EventQuery,
        ids: Option<IdRange>,
        limit: usize,
        beside: usize,
    ) -> Result<DraftEnd<Event>, TableError> {
        let span = Span { order: Order::OldestFirst, ids, position: None, now: self.op.now() };
        let mut draft = PageDraft::new(beside, limit, Fingerprint::of("range").finish(), &span);
        let ending = self.fill(&mut draft, stored, query, &span).await?;
        Ok(draft.end(ending))
    }

    /// Fills a draft with the events of a span of a topic.
    async fn fill(
        self,
        draft: &mut PageDraft<Event>,
        stored: &StoredTopic,
        query: &EventQuery,
        span: &Span,
    ) -> Result<PageEnd, TableError> {
        let mut reading = LatestReading::new(self.op, self.topic, stored, query, span);
        let mut buckets = 1;
        let ending = loop {
            let missing = draft.missing();
            if missing == 0 {
                break PageEnd { more: reading.scan.has_more(), at: None };
            }
            let Some(mut wave) = reading.next_wave(buckets.min(missing)).await? else {
                let more = reading.scan.has_more();
                break PageEnd { more, at: reading.scan.at.filter(|_| more) };
            };
            reading.read(&mut wave, missing, draft.room()).await?;
            let edge = wave.edge();
            let (events, rest) = wave.into_events(missing);
            if let Some(ending) = draft.take(events, rest, edge) {
                break ending;
            }
            buckets = (buckets * 2).min(WAVE_BUCKETS);
        };
        reading.remember(&draft.events);
        Ok(ending)
    }
}

/// The fingerprint of a query, to which its cursors are bound. Order, page size and consistency may change from page to
/// page. A topic that is deleted and created again is another topic.
pub(crate) fn fingerprint(topic: &Topic, stored: &StoredTopic, query: &EventQuery) -> Fingerprint {
    let time = |at: Option<UnixMillis>| at.map(|at| at.to_string());
    Fingerprint::of("topic events")
        .text(topic.as_str())
        .option(query.event_type.as_ref().map(EventType::as_str))
        .option(time(query.range.from).as_deref())
        .option(time(query.range.to).as_deref())
        .finish()
        .created_at(stored.created_at)
}
