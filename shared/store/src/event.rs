//! One event: fetched by its id, deleted by its actor.

use std::collections::HashMap;

use lately_items::event::{self, KEYED, unless_over};
use lately_items::limits::DELETION_SECONDS;
use lately_items::{DeletedEventKey, EventKey};
use lately_keys::{Actor, BucketWidth, EventId, TableKey};
use lately_model::Event;
use lately_table::{Condition, Item, TableError};

use crate::handle::TopicHandle;
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
        let unkeyed = Condition::lacks(event::ACCEPTED, KEYED);
        let may_delete = match by {
            Some(by) => Condition::equals(event::ACTOR, by.as_str()).and(unkeyed),
            None => unkeyed,
        };
        let may_delete = Condition::no_item().or(may_delete);
        let Some(event) = self.op.table.delete_if(key.clone(), &may_delete).await? else { return Ok(()) };
        let actor: Option<Actor> = event.optional(event::ACTOR).map_err(TableError::from)?;
        if by.is_some_and(|by| actor.as_ref() != Some(by)) {
            return Err(DeleteEventError::NotYours { id });
        }
        self.note_deletion(id).await?;
        let Some(by) = by else { return Ok(self.op.table.delete(key).await?) };
        let may_delete = Condition::no_item().or(Condition::equals(event::ACTOR, by.as_str()));
        match self.op.table.delete_if(key, &may_delete).await? {
            None => Ok(()),
            Some(_) => Err(DeleteEventError::NotYours { id }),
        }
    }

    /// Notes the deletion of an event, before the event is deleted. From then on, no retry of the event's request
    /// writes the event again.
    pub(crate) async fn note_deletion(self, id: EventId) -> Result<(), TableError> {
        let deleted = DeletedEventKey { topic: self.topic.clone(), id };
        self.op.table.put(&Item::mark(&deleted, self.op.now().get() / 1000 + DELETION_SECONDS)).await
    }
}
