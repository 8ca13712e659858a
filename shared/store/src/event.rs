//! One event: as it is stored, fetched by its id, deleted by its actor.
//!
//! ```text
//! EVENTS#{topic}#{label}#SHARD{n} / {inverted id}
//!   t S (type), a S (actor), s S? (subject), d S? (data, the client's JSON text), expires_at N?
//!   v S? (letters: a in the view by actor, s in the view by subject, f fans out, p a post, i an import,
//!         k written under an idempotency key), gsi1pk, gsi1sk (the view by type)
//! ```
//!
//! When a request is accepted, Lately decides whether its events are imports, and stores the decision: a late landing
//! does not change it. See docs/adr/0010-accepted-events.md.
//!
//! Attribute names are short: an event of up to about 900 bytes fits 1 KB, which is one write unit.

use std::collections::HashMap;

use lately_items::{DeletedEventKey, EventKey, TypeViewKey};
use lately_keys::{Actor, BucketWidth, EventId, SortKey, Subject, TableKey, UnixMillis};
use lately_model::{AcceptedTimes, Data, Event, NewEvent, RetentionDays, TopicSettings};
use lately_table::{Condition, Corrupt, Item, TableError};

use crate::directory::entry::Entry;
use crate::limits::DELETION_SECONDS;
use crate::topic::TopicHandle;
use crate::topic::error::TopicError;

/// The topic has no such event: nobody wrote it, it was deleted, or it has expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no event {id}")]
pub struct EventNotFound {
    /// The id that was looked up.
    pub id: EventId,
}

/// Why an event could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum GetEventError {
    /// The topic could not be read, or does not exist.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// The event does not exist.
    #[error(transparent)]
    NotFound(#[from] EventNotFound),
    /// The table could not be read.
    #[error(transparent)]
    Table(#[from] TableError),
}

/// Why an event could not be deleted.
#[derive(Debug, thiserror::Error)]
pub enum DeleteEventError {
    /// The topic could not be read, or does not exist.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// The event belongs to another actor.
    #[error("the event {id} belongs to another actor")]
    NotYours {
        /// The event that was to be deleted.
        id: EventId,
    },
    /// The table could not be written.
    #[error(transparent)]
    Table(#[from] TableError),
}

impl TopicHandle<'_> {
    /// An event by its id. The read is consistent: a client that knows an id finds the event.
    pub async fn event(self, id: EventId) -> Result<Event, GetEventError> {
        let stored = self.stored().await?;
        if id.at() < stored.oldest_kept(self.op.now()) {
            return Err(EventNotFound { id }.into());
        }
        let key = EventKey::new(self.topic.clone(), stored.settings.bucket, id);
        let item = self.op.table.get(key.encode()).await?.ok_or(EventNotFound { id })?;
        self.op.table.meter().items(1);
        let event = unless_over(&item, self.op.now()).map_err(TableError::from)?;
        Ok(event.ok_or(EventNotFound { id })?)
    }

    /// Events by their ids, in the order of the ids, without those that do not exist. No event is returned twice. The
    /// read is consistent.
    pub async fn events_of(self, ids: &[EventId]) -> Result<Vec<Event>, TopicError> {
        let stored = self.stored().await?;
        let mut events = self.find_events(stored.settings.bucket, ids).await?;
        let oldest = stored.oldest_kept(self.op.now());
        events.retain(|event| event.at() >= oldest);
        Ok(events)
    }

    /// As [`TopicHandle::events_of`], in buckets of a known width.
    pub(crate) async fn find_events(
        self,
        width: BucketWidth,
        ids: &[EventId],
    ) -> Result<Vec<Event>, TableError> {
        let key = |id: &EventId| EventKey::new(self.topic.clone(), width, *id).encode();
        let keys: Vec<_> = ids.iter().map(key).collect();
        let now = self.op.now();
        let mut found = HashMap::new();
        for item in self.op.table.get_many(&keys, true).await? {
            found.extend(unless_over(&item, now)?.map(|event| (event.id, event)));
        }
        Ok(ids.iter().filter_map(|id| found.remove(id)).collect())
    }

    /// Deletes an event, if it exists. If `by` is given, the event must be that actor's.
    pub async fn delete_event(self, id: EventId, by: Option<&Actor>) -> Result<(), DeleteEventError> {
        let key = EventKey::new(self.topic.clone(), self.settings().await?.bucket, id).encode();
        // An event that came without an idempotency key is deleted with one call.
        let unkeyed = Condition::lacks("v", KEYED);
        let may_delete = match by {
            Some(by) => Condition::equals("a", by.as_str()).and(unkeyed),
            None => unkeyed,
        };
        let may_delete = Condition::no_item().or(may_delete);
        let Some(event) = self.op.table.delete_or_get(key.clone(), &may_delete).await? else { return Ok(()) };
        let actor = event.optional_text("a").map_err(TableError::from)?;
        if by.is_some_and(|by| actor != Some(by.as_str())) {
            return Err(DeleteEventError::NotYours { id });
        }
        self.note_deletion(id).await?;
        let Some(by) = by else { return Ok(self.op.table.delete(key).await?) };
        let may_delete = Condition::no_item().or(Condition::equals("a", by.as_str()));
        match self.op.table.delete_if(key, &may_delete).await? {
            true => Ok(()),
            false => Err(DeleteEventError::NotYours { id }),
        }
    }

    /// Notes the deletion of an event, before the event is deleted. From then on, no retry of the event's request
    /// writes the event again.
    pub(crate) async fn note_deletion(self, id: EventId) -> Result<(), TableError> {
        let note = Item::at(&DeletedEventKey { topic: self.topic.clone(), id })
            .with("expires_at", self.op.now().get() / 1000 + DELETION_SECONDS);
        self.op.table.put(&note).await
    }
}

/// The letter of events that were written under an idempotency key.
const KEYED: &str = "k";

/// True if the event of an item was written under an idempotency key.
pub(crate) fn is_keyed(item: &Item) -> Result<bool, Corrupt> {
    Ok(item.optional_text("v")?.is_some_and(|letters| letters.contains(KEYED)))
}

/// The circumstances in which a request was first accepted. The letters of the request's events follow from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Acceptance {
    /// When the request arrived.
    pub(crate) at: UnixMillis,
    /// True if the request has an idempotency key, so that it may be retried.
    pub(crate) is_keyed: bool,
}

impl Acceptance {
    /// True if an event of the request is an import.
    pub(crate) fn is_import(self, event: &NewEvent) -> bool {
        event.at.is_some_and(|at| AcceptedTimes::new(self.at, None).is_import(at))
    }

    /// The letters that are stored with an event of the request.
    pub(crate) fn letters(self, event: &NewEvent) -> [&'static str; 2] {
        [if self.is_import(event) { "i" } else { "p" }, if self.is_keyed { KEYED } else { "" }]
    }
}

/// True if an item has expired. TTL may not have removed it yet.
pub(crate) fn is_over(item: &Item, now: UnixMillis) -> Result<bool, Corrupt> {
    let expires_at: Option<u64> = item.optional_number("expires_at")?;
    Ok(expires_at.is_some_and(|seconds| seconds <= now.get() / 1000))
}

/// The event of an item, unless the event has expired. The end is exact to the millisecond, as for pages, which know
/// the retention.
///
/// The item stores the end in seconds, rounded up. A retention is whole days, so the event's end has the same
/// milliseconds within a second as the event's own time.
pub(crate) fn unless_over(item: &Item, now: UnixMillis) -> Result<Option<Event>, Corrupt> {
    let event = decode(item)?;
    let expires_at: Option<u64> = item.optional_number("expires_at")?;
    let over = expires_at.is_some_and(|seconds| {
        let early = (1000 - event.at().get() % 1000) % 1000;
        seconds.saturating_mul(1000).saturating_sub(early) <= now.get()
    });
    Ok((!over).then_some(event))
}

/// The item of an event in a bucket, with the letters of its request's [`Acceptance`].
pub(crate) fn encode(
    event: &Event,
    key: &EventKey,
    entry: &Entry,
    settings: &TopicSettings,
    accepted: [&str; 2],
) -> Item {
    let views = [(settings.views.actor, "a"), (settings.views.subject, "s"), (settings.fan_out, "f")];
    let views = views.into_iter().filter_map(|(wanted, letter)| wanted.then_some(letter));
    let item = Item::at(key)
        .with("t", event.event_type.as_str())
        .with("a", event.actor.as_str())
        .with_some("s", event.subject.as_ref().map(Subject::as_str))
        .with_some("d", event.data.as_ref().map(Data::as_str))
        .with("v", views.chain(accepted).collect::<String>())
        .with_some("expires_at", settings.retention_days.map(|days| expiry(event.at(), days)));
    match entry.types.are_kept() {
        true => item.also_at(&TypeViewKey::new(key, event.event_type.clone())),
        false => item,
    }
}

/// When an event expires, in unix seconds. Rounded up, so that an event is kept for no less than its retention.
pub(crate) fn expiry(at: UnixMillis, days: RetentionDays) -> u64 {
    at.saturating_add(days.millis()).get().div_ceil(1000)
}

/// The event of an item that a read returned.
///
/// # Errors
/// If the item is not an event.
pub(crate) fn decode(item: &Item) -> Result<Event, Corrupt> {
    let data = item.optional_text("d")?.map(|text| Data::from_stored(text.to_owned()));
    Ok(Event {
        id: item.parsed::<SortKey>("sk")?.id(),
        event_type: item.parsed("t")?,
        actor: item.parsed("a")?,
        subject: item.optional_parsed("s")?,
        data: data.transpose().map_err(|_| item.corrupt("d"))?,
    })
}
