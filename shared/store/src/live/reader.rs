//! The reader of a live timeline: events between two ids, oldest first, and late events by their ids.
//!
//! The reads are eventually consistent, as pages are. Late events are read consistently, because they may be
//! named before every replica shows them.

use std::time::Duration;

use lately_items::{FeedMarks, StoredTopic, Timeline, TimelineEntry, place_in_feed, places_at_source};
use lately_keys::{EventId, Fingerprint, Order, Source, Topic, UnixMillis};
use lately_model::{Event, EventQuery, TimelineEvent};
use lately_table::TableError;

use crate::error::TopicNotFound;
use crate::latest::page::{DraftEnd, PageDraft};
use crate::limits::PAGE_BYTES;
use crate::live::late::{LateSource, LogReader};
use crate::op::Op;
use crate::span::{IdRange, Span};
use crate::timeline::filter::Filter;
use crate::timeline::reading::TimelineReading;

/// The reader of one timeline.
#[derive(Debug)]
pub(super) struct Reader {
    timeline: Timeline,
    /// For a topic: its settings. A reader only needs those that never change.
    stored: Option<StoredTopic>,
    /// For a feed: its marks, and when they were read, by the monotonic clock.
    marks: Option<(FeedMarks, Duration)>,
}

impl Reader {
    /// A reader of a timeline; for a topic, with the topic as it is stored.
    pub(super) const fn new(timeline: Timeline, stored: Option<StoredTopic>) -> Self {
        Self { timeline, stored, marks: None }
    }

    /// The topic that is followed, and when it was created; `None` if a source or a feed is followed.
    pub(super) fn topic(&self) -> Option<(Topic, UnixMillis)> {
        match (&self.timeline, &self.stored) {
            (Timeline::Topic(topic), Some(stored)) => Some((topic.clone(), stored.created_at)),
            _ => None,
        }
    }

    /// The error for a topic that was deleted.
    pub(super) fn not_found(&self) -> Option<TopicNotFound> {
        match &self.timeline {
            Timeline::Topic(topic) => Some(TopicNotFound { topic: topic.clone(), is_being_deleted: true }),
            _ => None,
        }
    }

    /// Reads at least the first events of a range, oldest first, at most `limit`. If the reader has stopped before the end
    /// of the range, it also returns the last id up to which it has looked. A feed's marks may be as old as the request's
    /// directory pages.
    pub(super) async fn read(
        &mut self,
        op: &Op,
        filter: &Filter,
        ids: IdRange,
        limit: usize,
    ) -> Result<(Vec<TimelineEvent>, Option<EventId>), TableError> {
        self.refresh_marks(op).await?;
        let DraftEnd { events, position, has_more } = match (&self.timeline, &self.stored) {
            (Timeline::Topic(topic), Some(stored)) => {
                let query = EventQuery { event_type: filter.event_type.clone(), ..EventQuery::default() };
                let end = op.topic(topic).first_events(stored, &query, Some(ids), limit, 0).await?;
                let DraftEnd { events, position, has_more } = end;
                DraftEnd { events: with_topic(topic, events), position, has_more }
            }
            _ => {
                let (order, now) = (Order::OldestFirst, op.now());
                let span = Span { order, ids: Some(ids), position: None, now };
                let mut draft = PageDraft::new(0, limit, Fingerprint::of("live").finish(), &span);
                let mut reading = TimelineReading::new(op, filter, order, false);
                let marks = self.marks.as_ref().map(|(marks, _)| marks.clone());
                let mut wave = match &self.timeline {
                    Timeline::Feed(user) => reading.feed_wave(user, ids, marks),
                    Timeline::Source(source) => reading.source_wave(source, ids),
                    Timeline::Topic(_) => return Ok((Vec::new(), None)),
                };
                let ending = reading.fill(&mut wave, &mut draft).await?;
                draft.end(ending)
            }
        };
        let start = || ids.oldest.just_before().unwrap_or(EventId::MIN);
        Ok((events, has_more.then(|| position.unwrap_or_else(start))))
    }

    /// Reads the feed's marks, unless they are young enough.
    pub(super) async fn refresh_marks(&mut self, op: &Op) -> Result<(), TableError> {
        let Timeline::Feed(user) = &self.timeline else { return Ok(()) };
        let now = op.ambient().monotonic();
        let is_young = |(_, read): &(FeedMarks, Duration)| now.saturating_sub(*read) < op.directory_age;
        if !self.marks.as_ref().is_some_and(is_young) {
            self.marks = Some((op.feed(user).marks(false).await?, now));
        }
        Ok(())
    }

    /// The timelines whose notes name late events: this one, and those of the sources that a feed pulls.
    pub(super) fn timelines(&self) -> Vec<Timeline> {
        let pulls = self.marks.iter().flat_map(|(marks, _)| &marks.pulls);
        let pulled = pulls.map(|pull| Timeline::Source(pull.source.clone()));
        std::iter::once(self.timeline.clone()).chain(pulled).collect()
    }

    /// Reads late events of a timeline by their ids. Returns those that still exist.
    pub(super) async fn late_events(
        &self,
        op: &Op,
        named_in: &Timeline,
        ids: &[EventId],
    ) -> Result<Vec<TimelineEvent>, TableError> {
        if let (Timeline::Topic(topic), Some(stored)) = (named_in, &self.stored) {
            let events = op.topic(topic).find_events(stored.settings.bucket, ids).await?;
            return Ok(with_topic(topic, events));
        }
        let keys: Vec<_> = match named_in {
            Timeline::Source(source) => {
                let coverage = op.source(source).stored().await?.coverage;
                let shown = ids.iter().filter(|id| self.shows(source, **id));
                shown.flat_map(|id| places_at_source(*id, source, &coverage)).collect()
            }
            Timeline::Feed(user) => ids.iter().map(|id| place_in_feed(*id, user)).collect(),
            Timeline::Topic(_) => Vec::new(),
        };
        let is_pulled = *named_in != self.timeline;
        let everything = Filter::default();
        let mut reading = TimelineReading::new(op, &everything, Order::OldestFirst, true);
        let mut entries = Vec::new();
        for item in op.table.get_many(&keys, true).await? {
            let entry = TimelineEntry::decode(&item)?;
            if everything.takes_entry(&entry, op.now()) && (!is_pulled || entry.fans_out) {
                entries.push(entry);
            }
        }
        entries.sort_by_key(|entry| entry.id);
        entries.dedup_by_key(|entry| entry.id);
        let mut events = Vec::new();
        let mut rest = &entries[..];
        // Each turn takes at least one entry.
        while !rest.is_empty() {
            let (resolved, looked_at) = reading.resolve(rest, PAGE_BYTES).await?;
            rest = &rest[looked_at.max(1)..];
            events.extend(resolved);
        }
        Ok(events)
    }

    /// The places from which the late events are named that were noted since a time.
    pub(super) async fn late_since(&self, op: &Op, since: UnixMillis) -> Result<Vec<LateSource>, TableError> {
        if let Timeline::Topic(topic) = &self.timeline {
            let log = op.late_log(topic);
            let end = log.end().await?;
            let place = log.place_at(since, end).await?;
            return Ok(vec![LateSource::Log(LogReader { topic: topic.clone(), place, end })]);
        }
        let after = EventId::first_of(since);
        let of_notes = |timeline| LateSource::Notes { timeline, after };
        Ok(self.timelines().into_iter().map(of_notes).collect())
    }

    /// True if this timeline shows an event of a source.
    fn shows(&self, source: &Source, id: EventId) -> bool {
        let is_pulled = || self.marks.as_ref().is_some_and(|(marks, _)| marks.pull(source, id));
        self.timeline == Timeline::Source(source.clone()) || is_pulled()
    }
}

fn with_topic(topic: &Topic, events: Vec<Event>) -> Vec<TimelineEvent> {
    events.into_iter().map(|event| TimelineEvent { topic: topic.clone(), event }).collect()
}
