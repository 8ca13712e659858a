//! Importing: events of the past, which already have their ids.
//!
//! An importer may die at any moment and start again. So it gives the ids, and derives them from the events' origin:
//! then a second import of the same events changes nothing. An id contains its shard, which follows from the event's time
//! and the number of shards, so the importer also gives this number. Each bucket of the import gets a place for events
//! of that many shards, and keeps the places that it has.
//!
//! A throttled import does not grow the buckets: its events' ids name their shards, so new shards would take none of
//! them. Importers must limit their rate to what their shards can take.

use lately_items::{Acceptance, StoredTopic};
use lately_keys::{EventId, ShardCount};
use lately_model::{AcceptedTimes, Event, NewEvent, TopicSettings};

use crate::handle::TopicHandle;
use crate::write::error::WriteError;
use crate::write::indices;
use crate::write::place::{EventWriter, PlacedEvent};

/// Why events were not imported, or only some of them. Importing them again is safe.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// An id names another shard than its time has, with the import's number of shards. Nothing was written.
    #[error("an id names another shard than its time has with the import's {0} shards")]
    Shard(ShardCount),
    /// These events are less than a minute old, so they are not imports. Nothing was written.
    #[error("events are too new to be imported")]
    TooNew(Vec<usize>),
    /// The events could not be written, or only some of them.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl TopicHandle<'_> {
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
        let writer = EventWriter::of(self.op, self.topic, &stored);
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

/// An event's id, and the rest of the event.
fn apart(event: Event) -> (EventId, NewEvent) {
    let Event { id, event_type, actor, subject, data } = event;
    (id, NewEvent { event_type, actor, subject, data, at: Some(id.at()) })
}
