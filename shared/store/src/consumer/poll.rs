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
//! the announcement, and polls have no files to look into.
//!
//! The ledger keeps settled entries for a while. A poll looks through the ledger as far as one request may read, stores
//! how far it came, and continues there the next time.
//!
//! A poll that finds nothing costs three reads (the checkpoint, the directory, and one of each shard of the bucket at
//! the position) and one write (the announcement). Each batch costs one more write, and so does its commit.

use std::collections::BTreeMap;

use lately_items::{Checkpoint, ConsumerMode, LedgerCounters, Outstanding, StoredTopic, Sweep};
use lately_keys::{EventId, Fingerprint, Order};
use lately_model::{BatchToken, Event, EventQuery, PollRequest, Polled};
use lately_table::limits::BATCH_KEYS;
use lately_table::{Guarded, Rounds, TableError};

use crate::consumer::announcement::AnnouncementHandle;
use crate::consumer::ledger::{Ledger, LedgerHandle, WalkEnding};
use crate::consumer::{ConsumerError, ConsumerHandle, ConsumerNotFound, existing};
use crate::latest::page::{PageDraft, PageEnd, PageItem};
use crate::latest::span::{IdRange, Span};
use crate::limits::{PAGE_BYTES, POINTERS_AT_FIRST};
use crate::op::Op;

/// A poll's response.
struct PreparedPoll {
    polled: Polled,
    /// The checkpoint that must be written before the response is given.
    next: Option<Checkpoint>,
}

/// The late events of a batch.
#[derive(Default)]
struct Late {
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

/// The unsettled entries that a poll found in the ledger, and the places where it stopped.
#[derive(Default)]
struct UnsettledEntries {
    /// Each with its partition.
    ids: BTreeMap<EventId, u8>,
    /// The partitions that hold no other unsettled entries, and their counters.
    whole: Vec<(u8, u64)>,
    sweeps: Vec<Sweep>,
    /// True if entries that the poll did not reach may be unsettled.
    more: bool,
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
            self.events.push(event);
        }
    }
}

/// The events after the position.
struct Ahead {
    events: Vec<Event>,
    /// The last id up to which the topic was read; `None` if that is the position.
    upto: Option<EventId>,
    /// True if the topic was read up to the end that was asked for.
    complete: bool,
}

impl ConsumerHandle<'_> {
    /// The outstanding batch of a consumer, or its next batch if there is none.
    pub async fn poll(self, request: PollRequest) -> Result<Polled, ConsumerError> {
        let consumer = self.consumer;
        let stored = self.op.topic(&consumer.topic).stored().await?;
        let mut found = self.checkpoint().await?;
        let mut rounds = Rounds::of(&self.op.table, "the consumer");
        loop {
            let checkpoint = self.polled(existing(found, consumer)?).await?;
            let given = match &checkpoint.outstanding {
                Some(batch) => Polling::of(self.op, &checkpoint, &stored).again(batch).await?,
                None => Polling::of(self.op, &checkpoint, &stored).next_batch(request).await?,
            };
            let Some(next) = given.next else { return Ok(given.polled) };
            found = match self.op.table.revised(Some(checkpoint.revision)).put(&next.encode()).await? {
                Guarded::Written => return Ok(given.polled),
                // Another poll was first, or an attempt of this one was applied: its batch is given.
                Guarded::Stale(_) | Guarded::Unknown => self.checkpoint().await?,
            };
            rounds.lose()?;
        }
    }

    /// Marks the consumer as polled, if it has not been used yet.
    async fn polled(self, checkpoint: Checkpoint) -> Result<Checkpoint, ConsumerError> {
        let consumer = checkpoint.consumer.clone();
        let mark = |found: &Checkpoint| match found.mode {
            Some(ConsumerMode::Polls) => Ok(None),
            Some(ConsumerMode::Runs) => Err(ConsumerError::HasRuns),
            None => Ok(Some(Checkpoint { mode: Some(ConsumerMode::Polls), ..found.clone() })),
        };
        Ok(existing(self.change(Some(checkpoint), mark).await?, &consumer)?)
    }
}

/// One poll of a consumer, from the checkpoint that it read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Polling<'a> {
    pub(crate) op: &'a Op,
    pub(crate) checkpoint: &'a Checkpoint,
    pub(crate) stored: &'a StoredTopic,
}

impl<'a> Polling<'a> {
    pub(crate) const fn of(op: &'a Op, checkpoint: &'a Checkpoint, stored: &'a StoredTopic) -> Self {
        Self { op, checkpoint, stored }
    }
}

impl Polling<'_> {
    async fn next_batch(self, request: PollRequest) -> Result<PreparedPoll, ConsumerError> {
        let checkpoint = self.checkpoint;
        let limit = usize::from(request.limit.get());
        let watermark = checkpoint.watermark(self.op.now());
        // The announcement comes before every read: from now on, fan-out notes each event that lands behind the
        // watermark.
        let seen = AnnouncementHandle::of(self.op, checkpoint).announce_poll(watermark).await?;
        let seen = seen.ok_or_else(|| ConsumerNotFound { consumer: checkpoint.consumer.clone() })?;
        let late = self.late_events(&seen, limit).await?;
        let ahead = self.ahead(watermark, limit, &late).await?;
        let caught_up = ahead.complete && !late.more;
        let Late { events: late, dealt, sweeps, .. } = late;
        let revision = checkpoint.revision.next();
        if late.is_empty() && ahead.upto.is_none() {
            let polled = Polled { batch: None, events: Vec::new(), late, caught_up };
            // The next poll need not look again at partitions whose entries are all settled.
            let known = checkpoint.known.max(&dealt);
            let is_new = (known, &sweeps) != (checkpoint.known, &checkpoint.sweeps);
            let next = is_new.then(|| Checkpoint { revision, known, sweeps, ..checkpoint.clone() });
            return Ok(PreparedPoll { polled, next });
        }
        let batch = BatchToken::new(checkpoint.incarnation, revision);
        let ids = late.iter().map(|event| event.id).collect();
        let upto = ahead.upto.unwrap_or(checkpoint.position);
        let outstanding = Some(Outstanding { batch, upto, late: ids, dealt });
        let next = Some(Checkpoint { revision, outstanding, sweeps, ..checkpoint.clone() });
        let polled = Polled { batch: Some(batch), events: ahead.events, late, caught_up };
        Ok(PreparedPoll { polled, next })
    }

    /// Gives the outstanding batch again. It does not look for events behind the batch.
    async fn again(self, outstanding: &Outstanding) -> Result<PreparedPoll, ConsumerError> {
        let stored = self.stored;
        let checkpoint = self.checkpoint;
        let topic = &checkpoint.consumer.topic;
        let events = self.op.topic(topic).find_events(stored.settings.bucket, &outstanding.late).await?;
        let bytes = events.iter().map(Event::sent_bytes).sum();
        let late = Late { events, bytes, ..Late::default() };
        let limit = usize::from(lately_model::limits::POLL_EVENTS);
        let ahead = self.ahead(outstanding.upto, limit, &late).await?;
        let mut batch = outstanding.batch;
        let mut next = None;
        if !ahead.complete {
            let revision = checkpoint.revision.next();
            batch = BatchToken::new(checkpoint.incarnation, revision);
            let upto = ahead.upto.unwrap_or(checkpoint.position);
            let outstanding = Some(Outstanding { batch, upto, ..outstanding.clone() });
            next = Some(Checkpoint { revision, outstanding, ..checkpoint.clone() });
        }
        let polled = Polled { batch: Some(batch), events: ahead.events, late: late.events, caught_up: false };
        Ok(PreparedPoll { polled, next })
    }

    /// The events of the unsettled entries up to the position, oldest first, as many as may be given. Entries of
    /// deleted events are settled.
    async fn late_events(self, seen: &LedgerCounters, limit: usize) -> Result<Late, TableError> {
        let stored = self.stored;
        let checkpoint = self.checkpoint;
        let consumer = &checkpoint.consumer;
        let ledger = Ledger { consumer, incarnation: checkpoint.incarnation };
        let UnsettledEntries { ids: mut left, whole, sweeps, more } = self.waiting(seen, limit).await?;
        let mut late =
            Late { more: more || left.len() > limit, dealt: checkpoint.known, sweeps, ..Late::default() };
        let ids: Vec<_> = left.keys().copied().take(limit).collect();
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
            let events = self.op.topic(&consumer.topic).find_events(stored.settings.bucket, next).await?;
            let is_there = |id: &EventId| events.binary_search_by_key(id, |event| event.id).is_ok();
            let gone: Vec<_> = next.iter().copied().filter(|id| !is_there(id)).collect();
            LedgerHandle::of(self.op, ledger).settle(&gone, GONE).await?;
            late.take(events);
            if let Some(mean) = late.bytes.checked_div(late.events.len()) {
                step = (PAGE_BYTES.saturating_sub(late.bytes) / mean.max(1)).clamp(1, BATCH_KEYS);
            }
            for id in &gone {
                left.remove(id);
            }
        }
        for event in &late.events {
            left.remove(&event.id);
        }
        for (shard, count) in whole {
            if left.values().all(|other| *other != shard) {
                late.dealt.raise(shard, count);
            }
        }
        Ok(late)
    }

    /// Finds the unsettled entries of the partitions whose counters rose, until the request may read no more. It begins
    /// with a random partition, so that each partition gets its turn.
    async fn waiting(self, seen: &LedgerCounters, limit: usize) -> Result<UnsettledEntries, TableError> {
        let Checkpoint { consumer, incarnation, known, position, sweeps, .. } = self.checkpoint;
        let ledger = LedgerHandle::of(self.op, Ledger { consumer, incarnation: *incarnation });
        let mut risen = seen.risen_since(known);
        let mut waiting = UnsettledEntries::default();
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
            let walked = ledger.walk(shard, sweep.map(|sweep| sweep.behind), *position, limit).await?;
            if walked.ending == WalkEnding::Exhausted {
                waiting.whole.push((shard, count));
                // An event that landed since the sweep began may lie before the place that the sweep had reached.
                waiting.more |= count < seen.of(shard);
            } else {
                waiting.sweeps.extend(walked.behind.map(|behind| Sweep { shard, count, behind }));
                waiting.more |= walked.ending == WalkEnding::Cut;
            }
            waiting.ids.extend(walked.ids.into_iter().map(|id| (id, shard)));
        }
        waiting.sweeps.sort_unstable_by_key(|sweep| sweep.shard);
        Ok(waiting)
    }

    /// The events after the position and up to an end, as many as may be given beside the late events.
    async fn ahead(self, to: EventId, limit: usize, late: &Late) -> Result<Ahead, TableError> {
        let stored = self.stored;
        let checkpoint = self.checkpoint;
        let ids = checkpoint.position.just_after().and_then(|first| IdRange::new(first, to));
        let span = Span { order: Order::OldestFirst, ids, position: None, now: self.op.now() };
        let limit = limit.saturating_sub(late.events.len());
        if ids.is_none() || limit == 0 {
            return Ok(Ahead { events: Vec::new(), upto: None, complete: ids.is_none() });
        }
        let query = EventQuery { consistent: true, ..EventQuery::default() };
        let mut draft = PageDraft::beside(late.bytes, limit, Fingerprint::of("poll").finish(), &span);
        let topic = &checkpoint.consumer.topic;
        let ending = self.op.topic(topic).fill(&mut draft, stored, &query, &span).await?;
        let mut events = draft.finish(ending).events;
        let complete = matches!(ending, PageEnd::Exhausted | PageEnd::Full { more: false });
        // A page takes its first event whatever the event's size. But in this response, late events come before it.
        if let ([only], false) = (&*events, late.events.is_empty())
            && late.bytes + only.sent_bytes() > PAGE_BYTES
        {
            events.clear();
            return Ok(Ahead { events, upto: None, complete: false });
        }
        let looked_upto = match ending {
            PageEnd::Cut { at } => at,
            PageEnd::Full { .. } | PageEnd::Exhausted => None,
        };
        let upto = looked_upto.max(events.last().map(|event| event.id));
        Ok(Ahead { events, upto, complete })
    }
}

/// The `by` of a settled entry whose event has been deleted.
const GONE: &str = "gone";
