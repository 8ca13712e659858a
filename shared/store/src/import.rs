//! Importing: events of the past, which already have their ids.
//!
//! An importer may die at any moment and start again. So it gives the ids, and derives them from the events' origin:
//! then a second import of the same events changes nothing. An id contains its shard, which follows from the event's time
//! and the number of shards, so the importer also gives this number. Each bucket of the import gets a place for events
//! of that many shards, and keeps the places that it has.
//!
//! A throttled import does not grow the buckets: its events' ids name their shards, so new shards would take none of
//! them. Importers must limit their rate to what their shards can take.

use lately_items::Acceptance;
use lately_keys::{EventId, ShardCount, UnixMillis};
use lately_model::{AcceptedTimes, Event, NewEvent, TopicSettings};
use lately_table::TableError;

use crate::erasure::ActorIsBeingErased;
use crate::placing::{EventWriter, PlaceError, Placed};
use crate::topic::TopicHandle;
use crate::topic::error::TopicError;

/// Why events were not imported, or only some of them. Importing them again is safe.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The topic could not be read, or does not exist.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// An id names another shard than its time has, with the import's number of shards. Nothing was written.
    #[error("an id names another shard than its time has with the import's {0} shards")]
    Shard(ShardCount),
    /// These events are less than a minute old, so they are not imports. Nothing was written.
    #[error("events are too new to be imported")]
    TooNew(Vec<usize>),
    /// These events are older than the topic's retention. Nothing was written.
    #[error("events are older than the topic's retention")]
    TooOld(Vec<usize>),
    /// The actor of some of the events is being erased. Nothing was written.
    #[error(transparent)]
    ActorIsBeingErased(#[from] ActorIsBeingErased),
    /// The table could not be read or written. Some events may be written.
    #[error(transparent)]
    Table(#[from] TableError),
}

impl From<PlaceError> for ImportError {
    fn from(error: PlaceError) -> Self {
        match error {
            PlaceError::TooOld(events) => Self::TooOld(events),
            PlaceError::ActorIsBeingErased(error) => error.into(),
            PlaceError::Table(error) => Self::Table(error),
        }
    }
}

impl TopicHandle<'_> {
    /// Writes events under their own ids, which must differ, and whose shards follow from their times and this number of
    /// shards. The events are durable when this returns.
    pub async fn import(self, shards: ShardCount, events: Vec<Event>) -> Result<(), ImportError> {
        let topic = self.topic;
        let stored = self.stored().await?;
        let settings = stored.settings;
        if events.iter().any(|event| shards.shard_at(event.id.tick()) != event.id.shard()) {
            return Err(ImportError::Shard(shards));
        }
        let acceptance = Acceptance { at: self.op.now(), is_keyed: false };
        let times = AcceptedTimes::new(acceptance.at, settings.retention_days);
        let refused = |refused: &dyn Fn(UnixMillis) -> bool| -> Vec<usize> {
            let events = events.iter().enumerate().filter(|(_, event)| refused(event.at()));
            events.map(|(index, _)| index).collect()
        };
        match (refused(&|at| !times.is_import(at)), refused(&|at| times.check(at).is_err())) {
            (new, _) if !new.is_empty() => return Err(ImportError::TooNew(new)),
            (_, old) if !old.is_empty() => return Err(ImportError::TooOld(old)),
            _ => {}
        }

        // New buckets begin with the import's number of shards, and the import doubles no bucket's shards.
        let min_shards = settings.min_shards.max(shards);
        let settings = TopicSettings { min_shards, max_shards: shards, ..settings };
        let (ids, events): (Vec<EventId>, Vec<NewEvent>) = events.into_iter().map(apart).unzip();
        let writer = EventWriter::of(self.op, topic, &settings).above_floor_of(&stored);
        let placed = writer.place(events, Some(ids), acceptance).await?;
        for Placed { event, entry, .. } in &placed {
            if !entry.coverage.covers(event.id) {
                writer.bucket(entry).raise().await?;
            }
        }
        let failed = writer.put_each(&placed).await.into_iter().next();
        failed.map_or_else(|| Ok(()), |(_, error)| Err(error.into()))
    }
}

/// An event's id, and the rest of the event.
fn apart(event: Event) -> (EventId, NewEvent) {
    let Event { id, event_type, actor, subject, data } = event;
    (id, NewEvent { event_type, actor, subject, data, at: Some(id.at()) })
}
