//! Importing: events of the past, which already have their ids.
//!
//! An importer may die at any moment and start again. So it gives the ids, and derives them from the events' origin:
//! then a second import of the same events changes nothing. An id contains its shard, so the importer also gives the
//! number of shards. Each bucket of the import gets at least that many shards, and keeps any that it has beyond.
//!
//! A throttled import does not double the shards: its events' ids name their shards, so new shards would take none of
//! them. Importers must limit their rate to what their shards can take.

use lately_keys::{EventId, ShardCount, UnixMillis};
use lately_model::{AcceptedTimes, Event, NewEvent, TopicSettings};
use lately_table::TableError;

use crate::directory::Directory;
use crate::event::Acceptance;
use crate::placing::PlaceError;
use crate::topic::TopicError;
use crate::topic::TopicHandle;
use crate::write::EventWriter;

/// Why events were not imported, or only some of them. Importing them again is safe.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The topic could not be read, or does not exist.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// An id names a shard beyond the import's number of shards. Nothing was written.
    #[error("an id names a shard beyond the import's {0} shards")]
    Shard(ShardCount),
    /// These events are less than a minute old, so they are not imports. Nothing was written.
    #[error("events are too new to be imported")]
    TooNew(Vec<usize>),
    /// These events are older than the topic's retention. Nothing was written.
    #[error("events are older than the topic's retention")]
    TooOld(Vec<usize>),
    /// The table could not be read or written. Some events may be written.
    #[error(transparent)]
    Table(#[from] TableError),
}

impl From<PlaceError> for ImportError {
    fn from(error: PlaceError) -> Self {
        match error {
            PlaceError::TooOld(events) => Self::TooOld(events),
            PlaceError::Table(error) => Self::Table(error),
        }
    }
}

impl TopicHandle<'_> {
    /// Writes events under their own ids, which must differ, with ids spread over this number of shards. The events are
    /// durable when this returns.
    ///
    /// # Errors
    /// See [`ImportError`].
    pub async fn import(self, shards: ShardCount, events: Vec<Event>) -> Result<(), ImportError> {
        let topic = self.topic;
        let settings = self.settings().await?;
        if events.iter().any(|event| !shards.covers(event.id.shard())) {
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
        let placed = EventWriter::of(self.op, topic, &settings).place(events, Some(ids), acceptance).await?;
        let mut few: Vec<_> =
            placed.iter().map(|placed| &placed.entry).filter(|entry| entry.shards < shards).collect();
        few.dedup_by_key(|entry| entry.bucket);
        for entry in few {
            Directory::of(self.op, topic).raise(entry.bucket, shards).await?;
        }
        let failed = EventWriter::of(self.op, topic, &settings).put_each(&placed).await.into_iter().next();
        failed.map_or_else(|| Ok(()), |(_, error)| Err(error.into()))
    }
}

/// An event's id, and the rest of the event.
fn apart(event: Event) -> (EventId, NewEvent) {
    let Event { id, event_type, actor, subject, data } = event;
    (id, NewEvent { event_type, actor, subject, data, at: Some(id.at()) })
}
