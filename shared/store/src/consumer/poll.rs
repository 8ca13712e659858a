//! A poll: the consumer's next batch, and the same batch again until it is committed.
//!
//! A batch consists of a range (the events between the position and some later event) and a list (the late events).
//! Both are written into the checkpoint before the batch is given. The next poll reads the same batch again: it holds
//! all that it held the first time, and the events that have landed in its range meanwhile. If the batch has become too
//! large for one response, it is cut short and gets another token: nobody can have committed events that they were not
//! given.
//!
//! A poll first reads the topic's late log from the consumer's place, and then the range. A late event behind the position
//! is given once more, because a poll cannot know whether the consumer had it before. A late event after the position is
//! not taken from the log: it is stored already, so the range holds it when the consumer gets there. The consumer's place in the
//! log moves with the commit.
//!
//! Late events take at most half of a batch (of a batch of one, all of it), so new events go on while an import is
//! given.
//!
//! A poll that finds nothing reads the checkpoint, the end of the log, the directory, and each shard of the bucket at the
//! position; it writes nothing. Each batch costs one write, and so does its commit.

use lately_items::{Checkpoint, ConsumerMode, LatePlace, Outstanding};
use lately_keys::EventId;
use lately_model::{BatchToken, Event, EventQuery, PollRequest, Polled};
use lately_table::limits::BATCH_KEYS;
use lately_table::{Guarded, Rounds, TableError, put_revised};

use crate::consumer::{ConsumerError, existing};
use crate::handle::{ConsumerHandle, Polling};
use crate::latest::page::{DraftEnd, PageItem};
use crate::limits::{PAGE_BYTES, POINTERS_AT_FIRST};
use crate::span::IdRange;

/// A poll's response, and the checkpoint that must be written before the response is given.
type PreparedPoll = (Polled, Option<Checkpoint>);

/// The late events of a batch.
#[derive(Debug, Default)]
struct LateEvents {
    events: Vec<Event>,
    /// Their bytes as sent.
    bytes: usize,
    /// The consumer's place in the log after them.
    after: LatePlace,
    /// True if the log has more items.
    has_more: bool,
}

/// An id of the late log that is to be given, and its place.
type LateId = (LatePlace, EventId);

impl ConsumerHandle<'_> {
    /// The outstanding batch of a consumer, or its next batch if there is none.
    pub async fn poll(self, request: PollRequest) -> Result<Polled, ConsumerError> {
        let stored = self.op.topic(&self.consumer.topic).stored().await?;
        let mut found = self.checkpoint().await?;
        let mut rounds = Rounds::of(&self.op.table, "the consumer");
        loop {
            let checkpoint = self.polled(existing(found, self.consumer)?).await?;
            let polling = self.op.polling(&checkpoint, &stored);
            let (polled, next) = match &checkpoint.outstanding {
                Some(batch) => polling.again(batch).await?,
                None => polling.next_batch(request).await?,
            };
            let Some(next) = next else { return Ok(polled) };
            found = match put_revised(&self.op.table, &next.encode(), Some(checkpoint.revision)).await? {
                Guarded::Written => return Ok(polled),
                // Another poll was first, or an attempt of this one was applied: its batch is given.
                Guarded::Stale(_) | Guarded::Unknown => self.checkpoint().await?,
            };
            rounds.lose()?;
        }
    }

    /// Marks the consumer as polled, if it has not been used yet.
    async fn polled(self, checkpoint: Checkpoint) -> Result<Checkpoint, ConsumerError> {
        let mark = |found: &Checkpoint| match found.mode {
            Some(ConsumerMode::Polls) => Ok(None),
            Some(ConsumerMode::Runs) => Err(ConsumerError::HasRuns),
            None => Ok(Some(Checkpoint { mode: Some(ConsumerMode::Polls), ..found.clone() })),
        };
        Ok(existing(self.change(Some(checkpoint), mark).await?, self.consumer)?)
    }
}

impl Polling<'_> {
    async fn next_batch(self, request: PollRequest) -> Result<PreparedPoll, ConsumerError> {
        let checkpoint = self.checkpoint;
        let limit = usize::from(request.limit.get());
        let watermark = checkpoint.watermark(self.op.now());
        // The log comes first: an event that it names is stored, so the range that is read afterwards holds it.
        let late = self.late_events((limit / 2).max(1)).await?;
        let ahead = self.ahead(watermark, limit - late.events.len(), late.bytes).await?;
        let caught_up = !ahead.has_more && !late.has_more;
        let revision = checkpoint.revision.next();
        if late.events.is_empty() && ahead.position.is_none() {
            let polled = Polled { batch: None, events: Vec::new(), late: Vec::new(), caught_up };
            if late.after == checkpoint.log {
                return Ok((polled, None));
            }
            let next = Checkpoint { revision, log: late.after, ..checkpoint.clone() };
            return Ok((polled, Some(next)));
        }
        let batch = BatchToken::new(checkpoint.incarnation, revision);
        let outstanding = Outstanding {
            batch,
            upto: ahead.position.unwrap_or(checkpoint.position),
            late: late.events.iter().map(|event| event.id).collect(),
            log_after: late.after,
        };
        let next = Checkpoint { revision, outstanding: Some(outstanding), ..checkpoint.clone() };
        Ok((Polled { batch: Some(batch), events: ahead.events, late: late.events, caught_up }, Some(next)))
    }

    /// Gives the outstanding batch again. It does not look for events behind the batch.
    async fn again(self, outstanding: &Outstanding) -> Result<PreparedPoll, ConsumerError> {
        let checkpoint = self.checkpoint;
        let topic = self.op.topic(&checkpoint.consumer.topic);
        let late = topic.find_events(self.stored.settings.bucket, &outstanding.late).await?;
        let late_bytes = late.iter().map(Event::sent_bytes).sum();
        let limit = usize::from(lately_model::limits::POLL_EVENTS) - late.len();
        let ahead = self.ahead(outstanding.upto, limit, late_bytes).await?;
        let mut batch = outstanding.batch;
        let mut next = None;
        if ahead.has_more {
            let revision = checkpoint.revision.next();
            batch = BatchToken::new(checkpoint.incarnation, revision);
            let upto = ahead.position.unwrap_or(checkpoint.position);
            let outstanding = Some(Outstanding { batch, upto, ..outstanding.clone() });
            next = Some(Checkpoint { revision, outstanding, ..checkpoint.clone() });
        }
        let polled = Polled { batch: Some(batch), events: ahead.events, late, caught_up: false };
        Ok((polled, next))
    }

    /// The next late events behind the position, at most so many, oldest first. Events that were deleted are passed over.
    async fn late_events(self, most: usize) -> Result<LateEvents, TableError> {
        let checkpoint = self.checkpoint;
        let log = self.op.late_log(&checkpoint.consumer.topic);
        let end = log.end().await?;
        if end <= checkpoint.log.number {
            return Ok(LateEvents { after: checkpoint.log, ..LateEvents::default() });
        }
        let (ids, place) = self.late_ids(end, most).await?;
        let mut late = LateEvents { after: place, ..LateEvents::default() };
        // Events may be large. The first step reads no more than fit at the largest size; later steps go by the mean
        // size of the events before.
        let mut rest = &*ids;
        let mut step = POINTERS_AT_FIRST;
        while !rest.is_empty() {
            let is_spent = self.op.table.is_spent() && rest.len() < ids.len();
            let (next, behind) = rest.split_at(step.min(rest.len()));
            let stopped_at = if is_spent { Some(next[0].0) } else { self.take(next, &mut late).await? };
            if let Some(place) = stopped_at {
                late.after = place;
                break;
            }
            rest = behind;
            if let Some(mean) = late.bytes.checked_div(late.events.len()) {
                step = (PAGE_BYTES.saturating_sub(late.bytes) / mean.max(1)).clamp(1, BATCH_KEYS);
            }
        }
        late.events.sort_unstable_by_key(|event| event.id);
        late.has_more = late.after < LatePlace::after(end);
        Ok(late)
    }

    /// The ids of the log from the consumer's place up to the item `end` that are behind the position, at most so many, and
    /// the place after them. Ends early if the request may read no more.
    async fn late_ids(self, end: u64, most: usize) -> Result<(Vec<LateId>, LatePlace), TableError> {
        let Checkpoint { consumer, position, start, .. } = self.checkpoint;
        let log = self.op.late_log(&consumer.topic);
        let mut place = self.checkpoint.log;
        let mut ids: Vec<LateId> = Vec::new();
        while place.number < end {
            for batch in log.read(place, end).await? {
                for id in batch.ids.iter().skip(usize::try_from(place.ids).unwrap_or(usize::MAX)) {
                    let is_behind = start < id && id <= position;
                    if is_behind && !ids.iter().any(|(_, known)| known == id) {
                        if ids.len() == most {
                            return Ok((ids, place));
                        }
                        ids.push((place, *id));
                    }
                    place.ids += 1;
                }
                place = LatePlace::after(batch.number);
            }
            if self.op.table.is_spent() {
                break;
            }
        }
        Ok((ids, place))
    }

    /// Takes as many of some late events as fit into the response. Returns the place of the first that does not fit.
    async fn take(self, ids: &[LateId], late: &mut LateEvents) -> Result<Option<LatePlace>, TableError> {
        let topic = self.op.topic(&self.checkpoint.consumer.topic);
        let mut sorted: Vec<EventId> = ids.iter().map(|(_, id)| *id).collect();
        sorted.sort_unstable();
        let mut events = topic.find_events(self.stored.settings.bucket, &sorted).await?;
        for (place, id) in ids {
            let Some(index) = events.iter().position(|event| event.id == *id) else { continue };
            let bytes = events[index].sent_bytes();
            if late.bytes + bytes > PAGE_BYTES && !late.events.is_empty() {
                return Ok(Some(*place));
            }
            late.bytes += bytes;
            late.events.push(events.swap_remove(index));
        }
        Ok(None)
    }

    /// The events after the position and up to an end, at most so many, as far as they fit beside the late events.
    async fn ahead(
        self,
        to: EventId,
        limit: usize,
        late_bytes: usize,
    ) -> Result<DraftEnd<Event>, TableError> {
        let ids = self.checkpoint.position.just_after().and_then(|first| IdRange::new(first, to));
        if ids.is_none() || limit == 0 {
            return Ok(DraftEnd { events: Vec::new(), position: None, has_more: ids.is_some() });
        }
        let query = EventQuery { consistent: true, ..EventQuery::default() };
        let topic = self.op.topic(&self.checkpoint.consumer.topic);
        let ahead = topic.first_events(self.stored, &query, ids, limit, late_bytes).await?;
        // A page takes its first event whatever the event's size. But in this response, late events come before it.
        if let [only] = &*ahead.events
            && late_bytes > 0
            && late_bytes + only.sent_bytes() > PAGE_BYTES
        {
            return Ok(DraftEnd { events: Vec::new(), position: None, has_more: true });
        }
        Ok(ahead)
    }
}
