//! Placing events before they are written: each event gets its id and its key, and the directory covers the key.
//!
//! Ids are made as late as possible, so that little time passes between an id's time and the landing of its event. A
//! placed event keeps its id and its shard through all attempts to write it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::future::try_join;
use lately_items::event;
use lately_items::{Acceptance, DirectoryEntry, EventKey};
use lately_keys::{Bucket, Coverage, EventId, EventType, UnixMillis};
use lately_model::limits::FUTURE_SECONDS;
use lately_model::{Event, NewEvent};
use lately_table::limits::BATCHES_AT_ONCE;
use lately_table::{Item, TableError};

use crate::at_once::collect_all;
use crate::directory::shards::BucketCoverage;
use crate::erasure::ActorIsBeingErased;
use crate::handle::EventWriter;
use crate::write::error::WriteError;

/// An event with its id, its directory entry and its item.
#[derive(Clone, Debug)]
pub(crate) struct PlacedEvent {
    pub(crate) event: Event,
    pub(crate) entry: Arc<DirectoryEntry>,
    pub(crate) item: Item,
}

/// The events of one request, whose ids are made and whose shards the directory covers. They can be put.
#[derive(Debug)]
pub(crate) struct PlacedEvents<'a> {
    pub(crate) writer: EventWriter<'a>,
    pub(crate) events: Vec<PlacedEvent>,
}

impl<'a> EventWriter<'a> {
    /// Gives each event its id, a new one or a given one, and its item. The directory covers all the events when this
    /// returns. The items store how the request was accepted.
    pub(crate) async fn place(
        self,
        events: Vec<NewEvent>,
        ids: Option<Vec<EventId>>,
        acceptance: Acceptance,
    ) -> Result<PlacedEvents<'a>, WriteError> {
        let Self { topic, stored, .. } = self;
        let settings = &stored.settings;
        let now = self.op.now();
        let expected = events.iter().map(|event| (event.at.unwrap_or(now), &event.event_type));
        // An event with an id is covered below, where its id says.
        let expected = expected.filter(|_| ids.is_none());
        let (erased, _) =
            try_join(self.op.erasures().known_erased_actors(), self.cover_all(expected)).await?;
        let are_new = ids.is_none();
        let ids = ids.map_or_else(|| self.new_ids(&events), Ok)?;
        let mut refused = events.iter().zip(&ids);
        if let Some((event, _)) = refused.find(|(event, id)| erased.value.cover(&event.actor, id.at())) {
            return Err(ActorIsBeingErased { actor: event.actor.clone() }.into());
        }
        let needed = events.iter().zip(&ids).map(|(event, id)| (id.at(), &event.event_type));
        let entries = self.cover_all(needed).await?;

        // While a change of the retention goes through the topic, no event below its floor is accepted.
        let oldest_kept = stored.oldest_kept(self.op.now());
        let mut too_old = Vec::new();
        let mut placed = Vec::with_capacity(events.len());
        for (index, (event, id)) in events.into_iter().zip(ids).enumerate() {
            let entry = &entries[&Bucket::containing(settings.bucket, id.at()).first()];
            if id.at() < oldest_kept {
                too_old.push(index);
            }
            let id = if are_new { in_shard_of(id, &entry.coverage) } else { id };
            let key = EventKey::new(topic.clone(), settings.bucket, id);
            let accepted = acceptance.letters(&event);
            let event = Event::of(event, id);
            let item = event::encode(&event, &key, entry, settings, accepted);
            placed.push(PlacedEvent { event, entry: Arc::clone(entry), item });
        }
        match too_old.is_empty() {
            true => Ok(PlacedEvents { writer: self, events: placed }),
            false => Err(WriteError::TooOld(too_old)),
        }
    }

    /// New ids, whose shard is not known yet.
    fn new_ids(self, events: &[NewEvent]) -> Result<Vec<EventId>, TableError> {
        let latest = self.op.now().saturating_add(FUTURE_SECONDS * 1000);
        let id = |event: &NewEvent| match event.at {
            Some(at) => Ok(EventId::import(at, 0.into(), self.op.ambient().entropy())),
            None => match self.op.new_id()? {
                // If the clock once stood far ahead, the ids continue from there and must not be used.
                id if id.at() > latest => {
                    Err(TableError::unavailable("this process's ids run ahead of its clock"))
                }
                id => Ok(id),
            },
        };
        events.iter().map(id).collect()
    }

    /// Covers the types of events with these times. Returns the entries by the first moments of their buckets.
    async fn cover_all<'e>(
        self,
        needed: impl Iterator<Item = (UnixMillis, &'e EventType)>,
    ) -> Result<BTreeMap<UnixMillis, Arc<DirectoryEntry>>, TableError> {
        let bucket = |at| Bucket::containing(self.stored.settings.bucket, at);
        let mut types: BTreeMap<UnixMillis, BTreeSet<EventType>> = BTreeMap::new();
        for (at, event_type) in needed {
            types.entry(bucket(at).first()).or_default().insert(event_type.clone());
        }
        let covers = types.into_iter().map(async |(first, types)| {
            let directory = self.op.directory(self.topic);
            directory.cover(&self.stored.settings, bucket(first), &types).await.map(|entry| (first, entry))
        });
        Ok(collect_all(BATCHES_AT_ONCE, covers).await?.into_iter().collect())
    }

    /// The coverage of an event's bucket.
    pub(crate) const fn bucket(&self, entry: &DirectoryEntry) -> BucketCoverage<'a> {
        let directory = self.op.directory(self.topic);
        BucketCoverage { directory, bucket: entry.bucket, max_shards: self.stored.settings.max_shards }
    }
}

/// A new id with its shard, which follows from the id's time and the coverage of its bucket.
#[expect(clippy::cast_possible_truncation, reason = "the low bits are what is wanted")]
fn in_shard_of(id: EventId, coverage: &Coverage) -> EventId {
    EventId::new(id.tick(), coverage.shard_at(id.tick()), id.as_uuid().as_u128() as u64)
}
