//! One event: fetched by its id, deleted by its actor.

use lately_items::event::{self, KEYED, unless_over};
use lately_items::limits::DELETION_SECONDS;
use lately_items::{DeletedEventKey, EventKey};
use lately_keys::{Actor, EventId, TableKey};
use lately_model::Event;
use lately_table::{Condition, Item, TableError};

use crate::error::TopicError;
use crate::handle::EventHandle;

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

impl EventHandle<'_> {
    /// The event. The read is consistent: a client that knows an id finds the event.
    pub async fn get(self) -> Result<Event, GetEventError> {
        let (topic, id) = (self.topic, self.id);
        let stored = self.op.topic(topic).stored().await?;
        if id.at() < stored.oldest_kept(self.op.now()) {
            return Err(EventNotFound { id }.into());
        }
        let key = EventKey::new(topic.clone(), stored.settings.bucket, id);
        let item = self.op.table.get(key.encode()).await?.ok_or(EventNotFound { id })?;
        self.op.table.meter().items(1);
        let event = unless_over(&item, self.op.now()).map_err(TableError::from)?;
        Ok(event.ok_or(EventNotFound { id })?)
    }

    /// Deletes an event, if it exists. If `by` is given, the event must be that actor's.
    pub async fn delete(self, by: Option<&Actor>) -> Result<(), DeleteEventError> {
        let (topic, id) = (self.topic, self.id);
        let width = self.op.topic(topic).stored().await?.settings.bucket;
        let key = EventKey::new(topic.clone(), width, id).encode();
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
        self.note_deletion().await?;
        let Some(by) = by else { return Ok(self.op.table.delete(key).await?) };
        let may_delete = Condition::no_item().or(Condition::equals(event::ACTOR, by.as_str()));
        match self.op.table.delete_if(key, &may_delete).await? {
            None => Ok(()),
            Some(_) => Err(DeleteEventError::NotYours { id }),
        }
    }

    /// Notes the deletion of an event, before the event is deleted. From then on, no retry of the event's request
    /// writes the event again.
    pub(crate) async fn note_deletion(self) -> Result<(), TableError> {
        let deleted = DeletedEventKey { topic: self.topic.clone(), id: self.id };
        self.op.table.put(&Item::mark(&deleted, self.op.now().get() / 1000 + DELETION_SECONDS)).await
    }
}
