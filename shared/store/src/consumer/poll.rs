//! A poll: the consumer's next batch, and the same batch again until it is committed.
//!
//! A batch consists of a range (the events between the position and some later event) and a list (the late events).
//! Both are written into the checkpoint before the batch is given. The next poll reads the same batch again: it holds
//! all that it held the first time, and the events that have landed in its range meanwhile. If the batch has become too
//! large for one response, it is cut short and gets another token: nobody can have committed events that they were not
//! given.
//!
//! The watermark is announced before anything is read. So an event that lands behind the watermark is noted in the
//! ledger, and given later, as late. It may have been given before: its record does not show whether it landed before
//! the announcement, and polls have no files to look into. But a batch lists those of its events that the ledger had
//! before, and its commit settles their entries, too. An event that is noted after its batch was read comes again.
//!
//! The ledger keeps settled entries for a while. A poll looks through the ledger as far as one request may read, stores
//! how far it came, and continues there the next time.
//!
//! A poll that finds nothing costs three reads (the checkpoint, the directory, and one of each shard of the bucket at
//! the position) and one write (the announcement). Each batch costs one more write, and so does its commit.

use std::collections::{BTreeMap, BTreeSet};

use lately_items::{Checkpoint, ConsumerMode, LedgerCounters, Outstanding, Sweep};
use lately_keys::EventId;
use lately_model::{BatchToken, Event, EventQuery, PollRequest, Polled};
use lately_table::limits::BATCH_KEYS;
use lately_table::{Guarded, Rounds, TableError, put_revised};

use crate::consumer::{ConsumerError, ConsumerNotFound, existing};
use crate::handle::{ConsumerHandle, Incarnation, Polling};
use crate::latest::page::{DraftEnd, PageItem};
use crate::limits::{PAGE_BYTES, POINTERS_AT_FIRST};
use crate::span::IdRange;

/// A poll's response, and the checkpoint that must be written before the response is given.
type PreparedPoll = (Polled, Option<Checkpoint>);

/// The late events of a batch, and what a poll found in the ledger.
#[derive(Default)]
struct Late {
    /// The other unsettled entries, each with its partition.
    left: BTreeMap<EventId, u8>,
    /// Unsettled entries after the position.
    noted: BTreeSet<EventId>,
    /// The partitions that hold no other unsettled entries than these, and their counters.
    whole: Vec<(u8, u64)>,
    events: Vec<Event>,
    /// Their bytes as sent.
    bytes: usize,
    /// True if the response has no room for the next late event.
    is_full: bool,
    /// True if there are more late events.
    more: bool,
    /// The counters that are dealt with once these events are committed.
    dealt: LedgerCounters,
    /// The partitions that were looked through in part.
    sweeps: Vec<Sweep>,
}

impl Late {
    /// Takes as many events as fit.
    fn take(&mut self, events: Vec<Event>) {
        for event in events {
            let bytes = event.sent_bytes();
            if self.bytes + bytes > PAGE_BYTES && !self.events.is_empty() {
                self.is_full = true;
                self.more = true;
                return;
            }
            self.bytes += bytes;
            self.left.remove(&event.id);
            self.events.push(event);
        }
    }
}

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
        // The announcement comes before every read: from now on, fan-out notes each event that lands behind the
        // watermark.
        let seen = Incarnation::of(self.op, checkpoint).announce_poll(watermark).await?;
        let seen = seen.ok_or_else(|| ConsumerNotFound { consumer: checkpoint.consumer.clone() })?;
        let late = self.late_events(&seen, limit).await?;
        let ahead = self.ahead(watermark, limit, &late).await?;
        let caught_up = !ahead.has_more && !late.more;
        let Late { events: late, noted, dealt, sweeps, .. } = late;
        let revision = checkpoint.revision.next();
        if late.is_empty() && ahead.position.is_none() {
            let polled = Polled { batch: None, events: Vec::new(), late, caught_up };
            // The next poll need not look again at partitions whose entries are all settled.
            let known = checkpoint.known.max(&dealt);
            let is_new = (known, &sweeps) != (checkpoint.known, &checkpoint.sweeps);
            let next = is_new.then(|| Checkpoint { revision, known, sweeps, ..checkpoint.clone() });
            return Ok((polled, next));
        }
        let batch = BatchToken::new(checkpoint.incarnation, revision);
        let ids = late.iter().map(|event| event.id).collect();
        let noted = ahead.events.iter().map(|event| event.id).filter(|id| noted.contains(id)).collect();
        let upto = ahead.position.unwrap_or(checkpoint.position);
        let outstanding = Some(Outstanding { batch, upto, late: ids, noted, dealt });
        let next = Some(Checkpoint { revision, outstanding, sweeps, ..checkpoint.clone() });
        Ok((Polled { batch: Some(batch), events: ahead.events, late, caught_up }, next))
    }

    /// Gives the outstanding batch again. It does not look for events behind the batch.
    async fn again(self, outstanding: &Outstanding) -> Result<PreparedPoll, ConsumerError> {
        let checkpoint = self.checkpoint;
        let topic = self.op.topic(&checkpoint.consumer.topic);
        let events = topic.find_events(self.stored.settings.bucket, &outstanding.late).await?;
        let bytes = events.iter().map(Event::sent_bytes).sum();
        let late = Late { events, bytes, ..Late::default() };
        let limit = usize::from(lately_model::limits::POLL_EVENTS);
        let ahead = self.ahead(outstanding.upto, limit, &late).await?;
        let mut batch = outstanding.batch;
        let mut next = None;
        if ahead.has_more {
            let revision = checkpoint.revision.next();
            batch = BatchToken::new(checkpoint.incarnation, revision);
            let upto = ahead.position.unwrap_or(checkpoint.position);
            let outstanding = Some(Outstanding { batch, upto, ..outstanding.clone() });
            next = Some(Checkpoint { revision, outstanding, ..checkpoint.clone() });
        }
        let polled = Polled { batch: Some(batch), events: ahead.events, late: late.events, caught_up: false };
        Ok((polled, next))
    }

    /// The events of the unsettled entries up to the position, oldest first, as many as may be given. Entries of
    /// deleted events are settled.
    async fn late_events(self, seen: &LedgerCounters, limit: usize) -> Result<Late, TableError> {
        let checkpoint = self.checkpoint;
        let topic = self.op.topic(&checkpoint.consumer.topic);
        let mut late = self.waiting(seen, limit).await?;
        late.more |= late.left.len() > limit;
        let ids: Vec<_> = late.left.keys().copied().take(limit).collect();
        // Events may be large. The first step reads no more than fit at the largest size; later steps go by the mean
        // size of the events before.
        let (mut rest, mut step) = (&*ids, POINTERS_AT_FIRST);
        while !rest.is_empty() {
            let is_spent = self.op.table.is_spent() && rest.len() < ids.len();
            if late.is_full || is_spent {
                late.more = true;
                break;
            }
            let (next, behind) = rest.split_at(step.min(rest.len()));
            rest = behind;
            let events = topic.find_events(self.stored.settings.bucket, next).await?;
            let is_there = |id: &EventId| events.binary_search_by_key(id, |event| event.id).is_ok();
            let gone: Vec<_> = next.iter().copied().filter(|id| !is_there(id)).collect();
            Incarnation::of(self.op, checkpoint).settle(&gone, GONE).await?;
            late.take(events);
            if let Some(mean) = late.bytes.checked_div(late.events.len()) {
                step = (PAGE_BYTES.saturating_sub(late.bytes) / mean.max(1)).clamp(1, BATCH_KEYS);
            }
            for id in &gone {
                late.left.remove(id);
            }
        }
        for (shard, count) in std::mem::take(&mut late.whole) {
            if late.left.values().all(|other| *other != shard) {
                late.dealt.raise(shard, count);
            }
        }
        Ok(late)
    }

    /// Finds the unsettled entries of the partitions whose counters rose, until the request may read no more. It begins
    /// with a random partition, so that each partition gets its turn.
    async fn waiting(self, seen: &LedgerCounters, limit: usize) -> Result<Late, TableError> {
        let Checkpoint { known, position, sweeps, .. } = self.checkpoint;
        let mut risen = seen.risen_since(known);
        let mut waiting = Late { dealt: *known, ..Late::default() };
        if risen.is_empty() {
            return Ok(waiting);
        }
        let first = self.op.ambient().entropy() % risen.len() as u128;
        risen.rotate_left(usize::try_from(first).unwrap_or_default());
        for (walks, shard) in risen.into_iter().enumerate() {
            let sweep = sweeps.iter().find(|sweep| sweep.shard == shard);
            if walks > 0 && self.op.table.is_spent() {
                waiting.sweeps.extend(sweep.cloned());
                waiting.more = true;
                continue;
            }
            let count = sweep.map_or(seen.of(shard), |sweep| sweep.count);
            let ledger = Incarnation::of(self.op, self.checkpoint);
            let walked = ledger.walk(shard, sweep.map(|sweep| sweep.behind), *position, limit).await?;
            // An event that landed since the sweep began may lie before the place that the sweep had reached.
            let begins_again = !walked.is_cut && count < seen.of(shard);
            if !walked.is_cut && walked.ahead.is_empty() {
                waiting.whole.push((shard, count));
            } else if !begins_again {
                waiting.sweeps.extend(walked.behind.map(|behind| Sweep { shard, count, behind }));
            }
            waiting.more |= walked.is_cut || begins_again;
            waiting.left.extend(walked.ids.into_iter().map(|id| (id, shard)));
            waiting.noted.extend(walked.ahead);
        }
        waiting.sweeps.sort_unstable_by_key(|sweep| sweep.shard);
        Ok(waiting)
    }

    /// The events after the position and up to an end, as many as may be given beside the late events.
    async fn ahead(self, to: EventId, limit: usize, late: &Late) -> Result<DraftEnd<Event>, TableError> {
        let ids = self.checkpoint.position.just_after().and_then(|first| IdRange::new(first, to));
        let limit = limit.saturating_sub(late.events.len());
        if ids.is_none() || limit == 0 {
            return Ok(DraftEnd { events: Vec::new(), position: None, has_more: ids.is_some() });
        }
        let query = EventQuery { consistent: true, ..EventQuery::default() };
        let topic = self.op.topic(&self.checkpoint.consumer.topic);
        let ahead = topic.first_events(self.stored, &query, ids, limit, late.bytes).await?;
        // A page takes its first event whatever the event's size. But in this response, late events come before it.
        if let ([only], false) = (&*ahead.events, late.events.is_empty())
            && late.bytes + only.sent_bytes() > PAGE_BYTES
        {
            return Ok(DraftEnd { events: Vec::new(), position: None, has_more: true });
        }
        Ok(ahead)
    }
}

/// The `by` of a settled entry whose event has been deleted.
const GONE: &str = "gone";
