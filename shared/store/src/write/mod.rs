//! Writes events: gives each event its place, makes sure that the directory covers it (`place.rs`), then puts it
//! (`put.rs`).
//!
//! An event keeps its id and its shard through all attempts. So a retry does no harm if an earlier attempt was applied
//! although it seemed to fail. If an event's own key range is too hot, the shards of its bucket are doubled for later
//! writes; the event itself is retried where it is.
//!
//! A request under an idempotency key may stop before it is finished. A retry of the request finishes it, up to a day
//! later. The retry writes only the missing events, under their first ids: the client may know these ids, and an event
//! that may have been written must not appear twice. It does not write an event that was deleted meanwhile: a deletion
//! leaves a note (`event.rs`), and the write, one transaction, requires that there is no note.
//!
//! An importer may die at any moment and start again. So it gives the ids of its events, and derives them from the events'
//! origin: then a second import of the same events changes nothing. An id contains its shard, which follows from the
//! event's time and the number of shards, so the importer also gives this number. Each bucket of the import gets a place
//! for events of that many shards, and keeps the places that it has. A throttled import does not grow the buckets: its
//! events' ids name their shards, so new shards would take none of them. Importers must limit their rate to what their
//! shards can take.

pub(crate) mod error;
pub(crate) mod place;
mod put;

use lately_items::{Acceptance, Idempotency, KeyRecord, StoredTopic};
use lately_keys::{EventId, ShardCount, UnixMillis};
use lately_model::{AcceptedTimes, AtError, Event, NewEvent, TopicSettings};

use crate::handle::TopicHandle;
use crate::write::error::{ImportError, WriteError};
use crate::write::place::PlacedEvent;

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

impl TopicHandle<'_> {
    /// Writes events. They are durable when this returns.
    pub async fn write(self, submission: Submission) -> Result<Written, WriteError> {
        let Submission { events, may_import, idempotency } = submission;
        let stored = self.stored().await?;
        let writer = self.op.event_writer(self.topic, &stored);
        let first = Acceptance { at: self.op.now(), is_keyed: idempotency.is_some() };
        let times = AcceptedTimes::new(first.at, stored.settings.retention_days);
        let checked = check_times(&events, may_import, times);
        let Some(idempotency) = idempotency else {
            checked?;
            let events = writer.place(events, None, first).await?.put().await?;
            return Ok(Written { events, replayed: false });
        };

        let request = self.op.keyed_request(self.topic, &stored, &idempotency);
        let earlier = match checked {
            // A retry may come so late that its times would be refused now. The time of the first request counts.
            Err(error) => request.recorded().await?.ok_or(error)?,
            Ok(()) => {
                let placed = writer.place(events.clone(), None, first).await?;
                let ids = placed.events.iter().map(|placed| placed.event.id).collect();
                match request.record(ids, first.at).await? {
                    Some(earlier) => earlier,
                    None => {
                        let events = placed.put().await?;
                        request.finish().await;
                        return Ok(Written { events, replayed: false });
                    }
                }
            }
        };
        let KeyRecord { body_hash, ids, accepted_at, done } = earlier;
        if body_hash != idempotency.body_hash {
            return Err(WriteError::KeyReused);
        }
        if done {
            let events = events.into_iter().zip(ids).map(|(event, id)| Event::of(event, id)).collect();
            return Ok(Written { events, replayed: true });
        }
        let placed = writer.place(events, Some(ids), Acceptance { at: accepted_at, ..first }).await?;
        let events = placed.put_missing().await?;
        request.finish().await;
        Ok(Written { events, replayed: true })
    }

    /// Writes events under their own ids, which must differ, and whose shards follow from their times and this number of
    /// shards. The events are durable when this returns.
    pub async fn import(self, shards: ShardCount, events: Vec<Event>) -> Result<(), ImportError> {
        let stored = self.stored().await.map_err(WriteError::from)?;
        let settings = stored.settings;
        if events.iter().any(|event| shards.shard_at(event.id.tick()) != event.id.shard()) {
            return Err(ImportError::Shard(shards));
        }
        let acceptance = Acceptance { at: self.op.now(), is_keyed: false };
        let times = AcceptedTimes::new(acceptance.at, settings.retention_days);
        let (ids, events): (Vec<EventId>, Vec<NewEvent>) = events.into_iter().map(apart).unzip();
        let new = indices(&events, |at| !times.is_import(at));
        if !new.is_empty() {
            return Err(ImportError::TooNew(new));
        }
        let old = indices(&events, |at| times.check(at).is_err());
        if !old.is_empty() {
            return Err(WriteError::TooOld(old).into());
        }

        // New buckets begin with the import's number of shards, and the import doubles no bucket's shards.
        let min_shards = settings.min_shards.max(shards);
        let settings = TopicSettings { min_shards, max_shards: shards, ..settings };
        let stored = StoredTopic { settings, ..stored };
        let writer = self.op.event_writer(self.topic, &stored);
        let placed = writer.place(events, Some(ids), acceptance).await?;
        for PlacedEvent { event, entry, .. } in &placed.events {
            if !entry.coverage.covers(event.id) {
                writer.bucket(entry).raise().await.map_err(WriteError::from)?;
            }
        }
        let failed = placed.put_each().await.into_iter().next();
        failed.map_or(Ok(()), |(_, error)| Err(WriteError::Table(error).into()))
    }
}

/// Refuses events whose times are not allowed.
fn check_times(events: &[NewEvent], may_import: bool, times: AcceptedTimes) -> Result<(), WriteError> {
    let imports = indices(events, |at| times.is_import(at));
    if !may_import && !imports.is_empty() {
        return Err(WriteError::ImportNotAllowed(imports));
    }
    let expired = indices(events, |at| matches!(times.check(at), Err(AtError::Expired)));
    if expired.is_empty() { Ok(()) } else { Err(WriteError::TooOld(expired)) }
}

/// The events that name a refused time.
fn indices(events: &[NewEvent], is_refused: impl Fn(UnixMillis) -> bool) -> Vec<usize> {
    let refused = events.iter().enumerate().filter(|(_, event)| event.at.is_some_and(&is_refused));
    refused.map(|(index, _)| index).collect()
}

/// An event's id, and the rest of the event.
fn apart(event: Event) -> (EventId, NewEvent) {
    let Event { id, event_type, actor, subject, data } = event;
    (id, NewEvent { event_type, actor, subject, data, at: Some(id.at()) })
}
