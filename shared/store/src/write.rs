//! Writes events: gives each event its place, makes sure that the directory covers it, then puts it.
//!
//! An event keeps its id and its shard through all attempts. So a retry does no harm if an earlier attempt was applied
//! although it seemed to fail. If an event's own key range is too hot, the shards of its bucket are doubled for later
//! writes; the event itself is retried where it is.
//!
//! A request under an idempotency key may stop before it is finished. A retry of the request finishes it, up to a day
//! later. The retry writes only the missing events, under their first ids: the client may know these ids, and an event
//! that may have been written must not appear twice. It does not write an event that was deleted meanwhile: a deletion
//! leaves a note (`event.rs`), and the write, one transaction, requires that there is no note.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::join;
use futures_util::stream::{self, StreamExt};
use lately_items::{Acceptance, DeletedEventKey, EventKey, KeyRecord, TimelineEntry, own_feed};
use lately_keys::{EventId, TableKey, UnixMillis};
use lately_model::{AcceptedTimes, AtError, Event, NewEvent};
use lately_table::limits::{BATCH_ITEMS, BATCHES_AT_ONCE};
use lately_table::{Condition, Fault, Item, TableError, Transacted, Transaction};

use crate::coverage::CoverageKeeper;
use crate::erasure::ActorIsBeingErased;
use crate::idempotency::{Idempotency, KeyedRequest};
use crate::limits::OWN_ENTRY_SECONDS;
use crate::placing::{EventWriter, PlaceError, Placed};
use crate::topic::TopicHandle;
use crate::topic::error::TopicError;

/// The time for the last look for events of a batch that was written in part. By then the request has used up its own
/// time; the function's time ends some seconds later.
const LAST_LOOK: Duration = Duration::from_secs(2);

/// Events to write.
#[derive(Clone, Debug)]
pub struct Submission {
    /// The events.
    pub events: Vec<NewEvent>,
    /// True if events may lie in the past.
    pub may_import: bool,
    /// The idempotency key, by which a retry is recognized.
    pub idempotency: Option<Idempotency>,
}

impl Submission {
    /// A list of new events, without an idempotency key.
    pub const fn new(events: Vec<NewEvent>) -> Self {
        Self { events, may_import: false, idempotency: None }
    }
}

/// Written events.
#[derive(Clone, Debug)]
pub struct Written {
    /// The events, in the order in which they were given.
    pub events: Vec<Event>,
    /// True if the request was a retry, so the events may have been written before.
    pub replayed: bool,
}

/// Why some or all events were not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The topic could not be read, or does not exist.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// These events lie in the past, and the writer may not import. Nothing was written.
    #[error("the writer may not import events of the past")]
    ImportNotAllowed(Vec<usize>),
    /// Events are older than the topic's retention. Nothing was written.
    #[error("events are older than the topic's retention")]
    TooOld(Vec<usize>),
    /// The actor of some of the events is being erased. Nothing was written.
    #[error(transparent)]
    ActorIsBeingErased(#[from] ActorIsBeingErased),
    /// The idempotency key was used with another body. No event was written.
    #[error("the idempotency key was used with another body")]
    KeyReused,
    /// Some events are written, and some are not. An event that is in neither list may be written or not.
    #[error("a batch was written in part: {} events are known to be rejected", rejected.len())]
    Partly {
        /// The events that are written, with their index.
        accepted: Vec<(usize, EventId)>,
        /// The indices of the events that are not written.
        rejected: Vec<usize>,
    },
    /// The table could not be read or written. No event is known to be written.
    #[error(transparent)]
    Table(#[from] TableError),
}

impl From<PlaceError> for WriteError {
    fn from(error: PlaceError) -> Self {
        match error {
            PlaceError::TooOld(indices) => Self::TooOld(indices),
            PlaceError::ActorIsBeingErased(error) => error.into(),
            PlaceError::Table(error) => error.into(),
        }
    }
}

impl TopicHandle<'_> {
    /// Writes events. They are durable when this returns.
    pub async fn write(self, submission: Submission) -> Result<Written, WriteError> {
        let Submission { events, may_import, idempotency } = submission;
        let stored = self.stored().await?;
        let settings = stored.settings;
        let writer = EventWriter::of(self.op, self.topic, &settings).above_floor_of(&stored);
        let first = Acceptance { at: self.op.now(), is_keyed: idempotency.is_some() };
        let checked = check_times(&events, may_import, AcceptedTimes::new(first.at, settings.retention_days));
        let Some(idempotency) = idempotency else {
            checked?;
            let placed = writer.place(events, None, first).await?;
            let failed = writer.put_each(&placed).await;
            let events = writer.outcome(placed, failed).await?;
            return Ok(Written { events, replayed: false });
        };

        let request = KeyedRequest::of(self.op, self.topic, stored.created_at, &idempotency);
        let earlier = match checked {
            // A retry may come so late that its times would be refused now. The time of the first request counts.
            Err(error) => request.recorded().await?.ok_or(error)?,
            Ok(()) => {
                let placed = writer.place(events.clone(), None, first).await?;
                let ids = placed.iter().map(|placed| placed.event.id).collect();
                match request.record(ids, first.at).await? {
                    Some(earlier) => earlier,
                    None => {
                        let failed = writer.put_each(&placed).await;
                        let events = writer.outcome(placed, failed).await?;
                        request.finish().await;
                        return Ok(Written { events, replayed: false });
                    }
                }
            }
        };
        if earlier.body_hash != idempotency.body_hash {
            return Err(WriteError::KeyReused);
        }
        let KeyRecord { ids, accepted_at, done, .. } = earlier;
        if done {
            let events = events.into_iter().zip(ids).map(|(event, id)| Event::of(event, id)).collect();
            return Ok(Written { events, replayed: true });
        }
        let placed = writer.place(events, Some(ids), Acceptance { at: accepted_at, ..first }).await?;
        let failed = writer.put_missing(&placed).await;
        let events = writer.outcome(placed, failed).await?;
        request.finish().await;
        Ok(Written { events, replayed: true })
    }
}

impl EventWriter<'_> {
    /// The outcome of a request: its events if all of them are written.
    ///
    /// An event whose write failed may be in the table nevertheless, for example if the response was lost. A client
    /// without a key sends rejected events again, so a last read looks for the failed events, and only events that it
    /// does not find are rejected. If that read fails too, these events are neither accepted nor rejected.
    async fn outcome(
        self,
        placed: Vec<Placed>,
        failed: Vec<(usize, TableError)>,
    ) -> Result<Vec<Event>, WriteError> {
        let (mut unknown, mut errors): (BTreeSet<usize>, Vec<_>) = failed.into_iter().unzip();
        let Some(error) = errors.pop() else {
            return Ok(placed.into_iter().map(|placed| placed.event).collect());
        };
        if placed.len() == 1 {
            return Err(error.into());
        }
        tracing::warn!(%error, failed = unknown.len(), "events of a batch could not be written");
        let op = self.op.store.op_within(LAST_LOOK);
        let keys: Result<Vec<_>, _> = unknown.iter().map(|index| placed[*index].item.key()).collect();
        let keys = keys.map_err(TableError::from)?;
        let look = tokio::time::timeout(LAST_LOOK, op.table.existing(&keys));
        let mut rejected = Vec::new();
        if let Ok(Ok(there)) = look.await {
            let absent = unknown.into_iter().zip(&keys).filter(|(_, key)| !there.contains(key));
            unknown = absent.map(|(index, _)| index).collect();
            rejected = unknown.iter().copied().collect();
        }
        if unknown.is_empty() {
            return Ok(placed.into_iter().map(|placed| placed.event).collect());
        }
        if unknown.len() == placed.len() {
            return Err(error.into());
        }
        let accepted = placed.iter().enumerate().filter(|(index, _)| !unknown.contains(index));
        let accepted = accepted.map(|(index, placed)| (index, placed.event.id)).collect();
        Err(WriteError::Partly { accepted, rejected })
    }

    /// Puts the events of an unfinished request that are missing and were not deleted. Returns the index and the error
    /// of each event that could not be written. Costs four write units and one call for each event, but is rare.
    async fn put_missing(self, placed: &[Placed]) -> Vec<(usize, TableError)> {
        let puts: Vec<_> = placed
            .iter()
            .enumerate()
            .map(|(index, event)| async move {
                match self.put_if_missing(event).await {
                    Ok(true) if placed.len() == 1 => {
                        self.put_in_own_feed(event).await;
                        None
                    }
                    Ok(_) => None,
                    Err(error) => Some((index, error)),
                }
            })
            .collect();
        let failed: Vec<_> = stream::iter(puts).buffer_unordered(BATCH_ITEMS).collect().await;
        failed.into_iter().flatten().collect()
    }

    /// Puts an event unless it is there or was deleted. Returns whether the event was put.
    async fn put_if_missing(self, placed: &Placed) -> Result<bool, TableError> {
        let deletion = DeletedEventKey { topic: self.topic.clone(), id: placed.event.id };
        let transaction = Transaction::new(self.op.ambient())
            .put_if(placed.item.clone(), Condition::no_item())
            .check(deletion.encode(), Condition::no_item());
        let mut attempts = self.op.table.attempts();
        loop {
            attempts.start_round();
            let faults = match self.op.table.transact(&transaction).await? {
                Transacted::Done => return Ok(true),
                Transacted::Cancelled { faults, .. } => faults,
            };
            if faults.iter().any(|fault| matches!(fault, Fault::Condition(_))) {
                return Ok(false);
            }
            if faults.first() == Some(&Fault::Throttled) {
                self.grow_around(placed, attempts.made()).await;
            }
            attempts.pause_or(|| TableError::unavailable("an event's range of keys is too busy")).await?;
        }
    }

    /// Puts one event, or several in batches. Returns the index and the error of each event that was not written.
    pub(crate) async fn put_each(self, placed: &[Placed]) -> Vec<(usize, TableError)> {
        let look_after = async {
            if let Some(last) = placed.last() {
                self.bucket(&last.entry).look_after(&last.entry.coverage, self.op.now()).await;
            }
        };
        join(self.put_all(placed), look_after).await.0
    }

    async fn put_all(self, placed: &[Placed]) -> Vec<(usize, TableError)> {
        match placed {
            [only] => match self.put(only).await {
                Ok(()) => {
                    self.put_in_own_feed(only).await;
                    Vec::new()
                }
                Err(error) => vec![(0, error)],
            },
            many => {
                let indexed: Vec<_> = many.iter().enumerate().collect();
                let batches = indexed.chunks(BATCH_ITEMS);
                let puts: Vec<_> = batches.map(|batch| self.put_batch(batch)).collect();
                let failed: Vec<_> = stream::iter(puts).buffer_unordered(BATCHES_AT_ONCE).collect().await;
                failed.into_iter().flatten().collect()
            }
        }
    }

    /// Puts an event's entry into the feed of its own actor, so that the author sees the post at once.
    ///
    /// This is tried once, because fan-out puts the permanent entry anyway. However late this entry lands, it shows no
    /// event that was deleted meanwhile, it replaces no other item, and it expires after a day.
    pub(crate) async fn put_in_own_feed(self, placed: &Placed) {
        let settings = self.settings;
        let topic = self.topic;
        let Placed { event, item, .. } = placed;
        let key = EventKey::new(topic.clone(), settings.bucket, event.id);
        let (Ok(Some(entry)), Some(user)) = (TimelineEntry::of(&key, item), own_feed(&event.actor)) else {
            return;
        };
        if !entry.is_for_feeds() {
            return;
        }
        let until = self.op.now().get() / 1000 + OWN_ENTRY_SECONDS;
        let own = entry.before_fan_out(settings.bucket, &user, self.op.store.feeds().retention, until);
        // Fan-out may have been faster; then its entry stays.
        if let Err(error) = self.op.table.try_put_if(&own, &Condition::no_item()).await {
            tracing::warn!(%error, "an own post is not in its feed yet");
        }
    }

    /// Puts up to 25 events with one call. Puts each event that the call left unprocessed alone, because the error of a
    /// single put has a reason.
    async fn put_batch(self, batch: &[(usize, &Placed)]) -> Vec<(usize, TableError)> {
        let items: Vec<&Item> = batch.iter().map(|(_, placed)| &placed.item).collect();
        let left = match self.op.table.put_many(&items).await {
            Ok(left) => left,
            Err(error) => return batch.iter().map(|(index, _)| (*index, error.clone())).collect(),
        };
        let puts: Vec<_> = left
            .into_iter()
            .map(|left| batch[left])
            .map(|(index, placed)| async move {
                let put = self.put(placed).await;
                put.err().map(|error| (index, error))
            })
            .collect();
        let failed: Vec<_> = stream::iter(puts).buffer_unordered(BATCH_ITEMS).collect().await;
        failed.into_iter().flatten().collect()
    }

    async fn put(self, placed: &Placed) -> Result<(), TableError> {
        let mut attempts = self.op.table.attempts();
        while let Some(refusal) = attempts.put(&placed.item).await? {
            if refusal.is_range_hot {
                self.grow_around(placed, attempts.made()).await;
            }
            attempts.pause(refusal).await?;
        }
        Ok(())
    }
}

/// Refuses events whose times are not allowed.
fn check_times(events: &[NewEvent], may_import: bool, times: AcceptedTimes) -> Result<(), WriteError> {
    let indices = |refused: &dyn Fn(UnixMillis) -> bool| -> Vec<usize> {
        let at = events.iter().enumerate().filter_map(|(index, event)| Some((index, event.at?)));
        at.filter(|(_, at)| refused(*at)).map(|(index, _)| index).collect()
    };
    let imports = indices(&|at| times.is_import(at));
    if !may_import && !imports.is_empty() {
        return Err(WriteError::ImportNotAllowed(imports));
    }
    let indices = indices(&|at| matches!(times.check(at), Err(AtError::Expired)));
    if indices.is_empty() { Ok(()) } else { Err(WriteError::TooOld(indices)) }
}
