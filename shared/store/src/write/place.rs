//! Placing events before they are written: each event gets its id and its key, and the directory covers the key.
//!
//! Ids are made as late as possible, so that little time passes between an id's time and the landing of its event. A
//! placed event keeps its id and its shard through all attempts to write it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::future::try_join;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use lately_items::event;
use lately_items::{Acceptance, DirectoryEntry, EventKey, StoredTopic, oldest_kept};
use lately_keys::{Bucket, Coverage, EventId, EventType, Tick, Topic, UnixMillis};
use lately_model::limits::FUTURE_SECONDS;
use lately_model::{Event, NewEvent, TopicSettings};
use lately_table::limits::BATCHES_AT_ONCE;
use lately_table::{Item, TableError, tick};

use crate::directory::Directory;
use crate::directory::shards::BucketCoverage;
use crate::erasure::ActorIsBeingErased;
use crate::op::Op;
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

/// The writes of one request to one topic, under the topic's settings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventWriter<'a> {
    pub(crate) op: &'a Op,
    pub(crate) topic: &'a Topic,
    pub(crate) settings: &'a TopicSettings,
    /// No older event is accepted, while a change of the retention goes through the topic.
    pub(crate) floor: UnixMillis,
}

impl<'a> EventWriter<'a> {
    pub(crate) const fn of(op: &'a Op, topic: &'a Topic, settings: &'a TopicSettings) -> Self {
        Self { op, topic, settings, floor: UnixMillis::MIN }
    }

    /// The same, for events from the first that the topic shows on.
    pub(crate) fn above_floor_of(self, stored: &StoredTopic) -> Self {
        let floor = stored.changing.map_or(UnixMillis::MIN, |changing| changing.floor);
        Self { floor, ..self }
    }
}

impl<'w> EventWriter<'w> {
    /// Gives each event its id, a new one or a given one, and its item. The directory covers all the events when this
    /// returns. The items store how the request was accepted.
    pub(crate) async fn place(
        self,
        events: Vec<NewEvent>,
        ids: Option<Vec<EventId>>,
        acceptance: Acceptance,
    ) -> Result<PlacedEvents<'w>, WriteError> {
        let settings = self.settings;
        let topic = self.topic;
        let bucket = |at| Bucket::containing(settings.bucket, at);
        let now = self.op.now();
        let expected = events.iter().map(|event| (bucket(event.at.unwrap_or(now)), &event.event_type));
        // An event with an id is covered below, where its id says.
        let expected = expected.filter(|_| ids.is_none());
        let (erased, _) =
            try_join(self.op.erasures().known_erased_actors(), self.cover_all(expected)).await?;
        let drafts = self.drafts(&events, ids.as_deref())?;
        let mut refused = events.iter().zip(&drafts);
        if let Some((event, _)) = refused.find(|(event, draft)| erased.value.cover(&event.actor, draft.at()))
        {
            return Err(ActorIsBeingErased { actor: event.actor.clone() }.into());
        }
        let needed = events.iter().zip(&drafts).map(|(event, draft)| (bucket(draft.at()), &event.event_type));
        let entries = self.cover_all(needed).await?;

        let now = self.op.now();
        let mut too_old = Vec::new();
        let mut placed = Vec::with_capacity(events.len());
        for (index, (event, draft)) in events.into_iter().zip(drafts).enumerate() {
            let entry = &entries[&bucket(draft.at()).first()];
            let is_past = settings.retention_days.is_some_and(|days| draft.at() < oldest_kept(days, now));
            if is_past || draft.at() < self.floor {
                too_old.push(index);
            }
            let id = draft.id(&entry.coverage);
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

    fn drafts(self, events: &[NewEvent], ids: Option<&[EventId]>) -> Result<Vec<EventDraft>, TableError> {
        if let Some(ids) = ids {
            return Ok(ids.iter().copied().map(EventDraft::Given).collect());
        }
        let clock = tick(self.op.ambient()).map_err(TableError::unavailable)?;
        let latest = clock.at().saturating_add(FUTURE_SECONDS * 1000);
        let draft = |event: &NewEvent| {
            let entropy = self.op.ambient().entropy();
            match event.at {
                Some(at) => {
                    Ok(EventDraft::New { tick: EventId::import(at, 0.into(), entropy).tick(), entropy })
                }
                None => {
                    let id = self
                        .op
                        .store
                        .generator()
                        .next(clock, 0.into(), 0)
                        .map_err(TableError::unavailable)?;
                    // If the clock once stood far ahead, the ids continue from there and must not be used.
                    if id.at() > latest {
                        return Err(TableError::unavailable("this process's ids run ahead of its clock"));
                    }
                    Ok(EventDraft::New { tick: id.tick(), entropy })
                }
            }
        };
        events.iter().map(draft).collect()
    }

    /// Covers buckets and types. Returns the entries by the first moments of their buckets.
    async fn cover_all<'a>(
        self,
        needed: impl Iterator<Item = (Bucket, &'a EventType)>,
    ) -> Result<BTreeMap<UnixMillis, Arc<DirectoryEntry>>, TableError> {
        let mut types: BTreeMap<UnixMillis, (Bucket, BTreeSet<EventType>)> = BTreeMap::new();
        for (bucket, event_type) in needed {
            let (_, types) = types.entry(bucket.first()).or_insert_with(|| (bucket, BTreeSet::new()));
            if !types.contains(event_type) {
                types.insert(event_type.clone());
            }
        }
        let covers: Vec<_> = types
            .into_iter()
            .map(|(first, (bucket, types))| async move {
                let entry = Directory::of(self.op, self.topic).cover(self.settings, bucket, &types).await?;
                Ok((first, entry))
            })
            .collect();
        stream::iter(covers).buffer_unordered(BATCHES_AT_ONCE).try_collect().await
    }

    /// The coverage of an event's bucket.
    pub(crate) const fn bucket(&self, entry: &DirectoryEntry) -> BucketCoverage<'w> {
        let directory = Directory::of(self.op, self.topic);
        BucketCoverage { directory, bucket: entry.bucket, max_shards: self.settings.max_shards }
    }
}

/// An id without its shard. The shard follows from the id's time and the coverage of its bucket.
#[derive(Clone, Copy, Debug)]
enum EventDraft {
    Given(EventId),
    New { tick: Tick, entropy: u128 },
}

impl EventDraft {
    fn at(self) -> UnixMillis {
        match self {
            Self::Given(id) => id.at(),
            Self::New { tick, .. } => tick.at(),
        }
    }

    fn id(self, coverage: &Coverage) -> EventId {
        match self {
            Self::Given(id) => id,
            Self::New { tick, entropy } => EventId::new(tick, coverage.shard_at(tick), low_half(entropy)),
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the low half is what is wanted")]
const fn low_half(entropy: u128) -> u64 {
    entropy as u64
}
