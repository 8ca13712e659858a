//! Writing events: placed, covered by the directory, then put.
//!
//! An event keeps its id and its shard through all attempts, so an attempt that was applied although it
//! seemed to fail is repeated to no effect. If its own key range was too hot, the bucket's shards are doubled
//! for later writes; this one goes on trying where it is.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::ReturnConsumedCapacity;
use futures_util::stream::{self, StreamExt};
use lately_keys::table::EventKey;
use lately_keys::{EventId, Place, Topic, UnixMillis};
use lately_model::{AcceptedTimes, AtError, Event, NewEvent, TopicSettings};

use crate::call::{Meaning, Operation, TableError, Unavailable, is_own_range_hot, meaning, unavailable};
use crate::cost::Cost;
use crate::entry::{TimelineEntry, own_feed};
use crate::idempotency::{Idempotency, Record, Recorded};
use crate::item::Item;
use crate::limits::{BATCH_ITEMS, BATCHES_AT_ONCE};
use crate::placing::{PlaceError, Placed};
use crate::store::Store;
use crate::topic::TopicError;

/// Events to write.
#[derive(Clone, Debug)]
pub struct Submission {
    /// Where to.
    pub topic: Topic,
    /// What.
    pub events: Vec<NewEvent>,
    /// Whether events may lie in the past.
    pub may_import: bool,
    /// What makes a repetition of this known as such.
    pub idempotency: Option<Idempotency>,
}

/// Events that are written.
#[derive(Clone, Debug)]
pub struct Written {
    /// The events, in the order in which they were given.
    pub events: Vec<Event>,
    /// Whether this was a repetition, and they may have been written before.
    pub replayed: bool,
}

/// Why events were not written, or not all.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// There is no such topic.
    #[error("no such topic")]
    TopicNotFound,
    /// These events lie in the past, and may not. Nothing was written.
    #[error("events in the past may not be written")]
    ImportNotAllowed(Vec<usize>),
    /// These events are older than what the topic keeps. Nothing was written.
    #[error("events are older than what the topic keeps")]
    TooOld(Vec<usize>),
    /// The idempotency key was used for something else. No event was written.
    #[error("the idempotency key was used with another body")]
    KeyReused,
    /// Some events are written; these, by index, are not.
    #[error("{} events could not be written", rejected.len())]
    Partly {
        /// The events that are written, with their index.
        accepted: Vec<(usize, EventId)>,
        /// The index of those that are not.
        rejected: Vec<usize>,
    },
    /// The table could not be read or written. No event is known to be written.
    #[error(transparent)]
    Table(#[from] TableError),
}

impl From<TopicError> for WriteError {
    fn from(error: TopicError) -> Self {
        match error {
            TopicError::NotFound => Self::TopicNotFound,
            TopicError::Table(error) => Self::Table(error),
        }
    }
}

impl From<PlaceError> for WriteError {
    fn from(error: PlaceError) -> Self {
        match error {
            PlaceError::TooOld(events) => Self::TooOld(events),
            PlaceError::Table(error) => Self::Table(error),
        }
    }
}

impl From<Unavailable> for WriteError {
    fn from(error: Unavailable) -> Self {
        Self::Table(error.into())
    }
}

impl Store {
    /// Writes events. When it returns, they are durable.
    ///
    /// # Errors
    /// See [`WriteError`].
    pub async fn write(&self, submission: Submission) -> Result<(Written, Cost), WriteError> {
        let operation = self.operation();
        let Submission { topic, events, may_import, idempotency } = submission;
        let settings = self.settings(&topic, &operation).await?;
        let checked = self.check_times(&events, may_import, &settings);
        let Some(idempotency) = idempotency else {
            checked?;
            let placed = self.place(&topic, &settings, events, None, &operation).await?;
            let events = self.put_all(&topic, &settings, placed, &operation).await?;
            return Ok((Written { events, replayed: false }, operation.meter.total()));
        };

        let (record, placed) = match checked {
            // A repetition may come so late that its times would be refused now: what counts is the first time.
            Err(error) => {
                let found = self.recorded(&topic, &idempotency, &operation).await?;
                (found.ok_or(error)?, None)
            }
            Ok(()) => {
                let placed = self.place(&topic, &settings, events.clone(), None, &operation).await?;
                let ids = placed.iter().map(|placed| placed.event.id).collect();
                (self.record(&topic, &idempotency, ids, &operation).await?, Some(placed))
            }
        };
        let (ids, replayed) = match record {
            Recorded::First => (None, false),
            Recorded::Before(record) if record.body_hash != idempotency.body_hash => {
                return Err(WriteError::KeyReused);
            }
            Recorded::Before(Record { ids, done: true, .. }) => {
                let events = events.into_iter().zip(ids).map(|(event, id)| Event::of(event, id)).collect();
                return Ok((Written { events, replayed: true }, operation.meter.total()));
            }
            Recorded::Before(record) => (Some(record.ids), true),
        };
        let placed = match (ids, placed) {
            (None, Some(placed)) => placed,
            // Begun before and not known to be finished: write the same ids again.
            (ids, _) => self.place(&topic, &settings, events, ids, &operation).await?,
        };
        let events = self.put_all(&topic, &settings, placed, &operation).await?;
        self.finish_record(&topic, &idempotency, &operation).await;
        Ok((Written { events, replayed }, operation.meter.total()))
    }

    fn check_times(
        &self,
        events: &[NewEvent],
        may_import: bool,
        settings: &TopicSettings,
    ) -> Result<(), WriteError> {
        let times = AcceptedTimes::new(self.now(), settings.retention_days);
        let indices = |refused: &dyn Fn(UnixMillis) -> bool| -> Vec<usize> {
            let at = events.iter().enumerate().filter_map(|(index, event)| Some((index, event.at?)));
            at.filter(|(_, at)| refused(*at)).map(|(index, _)| index).collect()
        };
        let imports = indices(&|at| times.is_import(at));
        if !may_import && !imports.is_empty() {
            return Err(WriteError::ImportNotAllowed(imports));
        }
        let too_old = indices(&|at| matches!(times.check(at), Err(AtError::Expired)));
        if too_old.is_empty() { Ok(()) } else { Err(WriteError::TooOld(too_old)) }
    }

    /// Puts events, one by one or in batches; the events if all are written.
    async fn put_all(
        &self,
        topic: &Topic,
        settings: &TopicSettings,
        placed: Vec<Placed>,
        operation: &Operation<'_>,
    ) -> Result<Vec<Event>, WriteError> {
        let failed = self.put_each(topic, settings, &placed, operation).await;
        let rejected: BTreeSet<usize> = failed.iter().map(|(index, _)| *index).collect();
        match failed.into_iter().next() {
            None => Ok(placed.into_iter().map(|placed| placed.event).collect()),
            Some((_, error)) if rejected.len() == placed.len() => Err(error.into()),
            Some((_, error)) => {
                tracing::warn!(%error, rejected = rejected.len(), "a batch was written in part");
                let accepted = placed.iter().enumerate().filter(|(index, _)| !rejected.contains(index));
                let accepted = accepted.map(|(index, placed)| (index, placed.event.id)).collect();
                Err(WriteError::Partly { accepted, rejected: rejected.into_iter().collect() })
            }
        }
    }

    /// Puts events, one by one or in batches; those that are not written, by index.
    pub(crate) async fn put_each(
        &self,
        topic: &Topic,
        settings: &TopicSettings,
        placed: &[Placed],
        operation: &Operation<'_>,
    ) -> Vec<(usize, Unavailable)> {
        match placed {
            [only] => match self.put(topic, settings, only, operation).await {
                Ok(()) => {
                    self.put_in_own_feed(topic, settings, only, operation).await;
                    Vec::new()
                }
                Err(error) => vec![(0, error)],
            },
            many => {
                let indexed: Vec<_> = many.iter().enumerate().collect();
                let batches = indexed.chunks(BATCH_ITEMS);
                let puts: Vec<_> =
                    batches.map(|batch| self.put_batch(topic, settings, batch, operation)).collect();
                let failed: Vec<_> = stream::iter(puts).buffer_unordered(BATCHES_AT_ONCE).collect().await;
                failed.into_iter().flatten().collect()
            }
        }
    }

    /// Puts an event's entry into its actor's own feed, so that who has posted sees it at once.
    ///
    /// It is a help and no duty, and tried once: fan-out puts the same entry.
    pub(crate) async fn put_in_own_feed(
        &self,
        topic: &Topic,
        settings: &TopicSettings,
        placed: &Placed,
        operation: &Operation<'_>,
    ) {
        let Placed { event, item, .. } = placed;
        let is_import = AcceptedTimes::new(self.now(), settings.retention_days).is_import(event.at());
        if !settings.fan_out || is_import {
            return;
        }
        let key = EventKey::new(topic.clone(), settings.bucket, event.id);
        let (Ok(Some(entry)), Some(user)) = (TimelineEntry::of(&key, item), own_feed(&event.actor)) else {
            return;
        };
        operation.meter.call();
        let put = self
            .client()
            .put_item()
            .table_name(self.table())
            .set_item(Some(entry.in_feed(&user, self.feeds().retention)))
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .send()
            .await;
        match put {
            Ok(answer) => operation.meter.write(answer.consumed_capacity()),
            Err(error) => {
                let error = unavailable(&error);
                tracing::warn!(%error, "an own post is not in its feed yet");
            }
        }
    }

    /// Puts up to 25 events with one call, and alone what the call did not take: then the error says why.
    async fn put_batch(
        &self,
        topic: &Topic,
        settings: &TopicSettings,
        batch: &[(usize, &Placed)],
        operation: &Operation<'_>,
    ) -> Vec<(usize, Unavailable)> {
        let items: Vec<&Item> = batch.iter().map(|(_, placed)| &placed.item).collect();
        let left = match self.batch_put(&items, [Place::Table.pk(), Place::Table.sk()], operation).await {
            Ok(left) => left,
            Err(error) => return batch.iter().map(|(index, _)| (*index, error.clone())).collect(),
        };
        let puts: Vec<_> = left
            .into_iter()
            .map(|left| batch[left])
            .map(|(index, placed)| async move {
                let put = self.put(topic, settings, placed, operation).await;
                put.err().map(|error| (index, error))
            })
            .collect();
        let failed: Vec<_> = stream::iter(puts).buffer_unordered(BATCH_ITEMS).collect().await;
        failed.into_iter().flatten().collect()
    }

    async fn put(
        &self,
        topic: &Topic,
        settings: &TopicSettings,
        placed: &Placed,
        operation: &Operation<'_>,
    ) -> Result<(), Unavailable> {
        let mut attempts = operation.attempts();
        loop {
            attempts.start();
            let put = self
                .client()
                .put_item()
                .table_name(self.table())
                .set_item(Some(placed.item.clone()))
                .return_consumed_capacity(ReturnConsumedCapacity::Total)
                .send()
                .await;
            let error = match put {
                Ok(answer) => {
                    operation.meter.write(answer.consumed_capacity());
                    return Ok(());
                }
                Err(error) => error,
            };
            if is_own_range_hot(&error) {
                self.grow_around(topic, settings, placed, operation).await;
            }
            match meaning(&error) {
                Meaning::Refused | Meaning::Ambiguous => attempts.pause(&error).await?,
                Meaning::Condition | Meaning::Final => return Err(unavailable(&error)),
            }
        }
    }
}
