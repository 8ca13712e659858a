//! One event: as it is stored, fetched by its id, deleted by its actor.
//!
//! ```text
//! EVENTS#{topic}#{label}#SHARD{n} / {inverted id}
//!   t S (type), a S (actor), s S? (subject), d S? (data, the client's JSON text), expires_at N?
//!   v S? (letters: a, s, f where else it belongs: the views by actor and subject, fan-out;
//!         p a post, or i an import; k written under an idempotency key), gsi1pk, gsi1sk (the view by type)
//! ```
//!
//! Whether an event is an import is decided when its request is accepted, and stored: how late the event lands changes
//! nothing. An event with neither `p` nor `i` is of a release that decided when the event had landed
//! (docs/adr/0010-accepted-events.md).
//!
//! Attribute names are short: an event of up to about 900 bytes fits 1 KB, which is one write unit.

use std::collections::HashMap;

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::delete_item::{DeleteItemError, DeleteItemOutput};
use aws_sdk_dynamodb::types::{ReturnConsumedCapacity, ReturnValuesOnConditionCheckFailure};
use lately_keys::table::{DeletedEventKey, EventKey, TypeViewKey};
use lately_keys::{Actor, BucketWidth, EventId, Place, SortKey, TableKey, UnixMillis};
use lately_model::{AcceptedTimes, Data, Event, NewEvent, TopicSettings};

use crate::call::Failed;
use crate::directory::Entry;
use crate::error::TableError;
use crate::item::{Corrupt, Fields, Item, keyed, number, text};
use crate::limits::DELETION_SECONDS;
use crate::topic::TopicError;
use crate::topic::TopicHandle;

/// The topic has no such event: it was never written, was deleted, or has expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no event {id}")]
pub struct EventNotFound {
    /// The event that was asked for.
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
    /// An event by its id. The read is consistent: who was told an id finds the event.
    ///
    /// # Errors
    /// See [`GetEventError`].
    pub async fn event(self, id: EventId) -> Result<Event, GetEventError> {
        let topic = self.topic;
        let settings = self.settings().await?;
        let key = EventKey::new(topic.clone(), settings.bucket, id).encode();
        let item = self.op.table.get_item(keyed(Place::Table, key)).await?.ok_or(EventNotFound { id })?;
        self.op.table.meter.items(1);
        let event =
            unless_over(&item, self.op.now()).map_err(TableError::from)?.ok_or(EventNotFound { id })?;
        Ok(event)
    }

    /// Those of some events that there are, in the order asked for; none of them twice. The read is
    /// consistent.
    ///
    /// # Errors
    /// See [`TopicError`].
    pub async fn events_of(self, ids: &[EventId]) -> Result<Vec<Event>, TopicError> {
        let width = self.settings().await?.bucket;
        let events = self.find_events(width, ids).await?;
        Ok(events)
    }

    /// Those of some events that there are, in the order asked for.
    pub(crate) async fn find_events(
        self,
        width: BucketWidth,
        ids: &[EventId],
    ) -> Result<Vec<Event>, TableError> {
        let topic = self.topic;
        let key = |id: &EventId| keyed(Place::Table, EventKey::new(topic.clone(), width, *id).encode());
        let keys: Vec<_> = ids.iter().map(key).collect();
        let now = self.op.now();
        let mut found = HashMap::new();
        for item in self.op.table.get_items(&keys, true).await? {
            found.extend(unless_over(&item, now)?.map(|event| (event.id, event)));
        }
        Ok(ids.iter().filter_map(|id| found.remove(id)).collect())
    }

    /// Deletes an event, if it is there. With `by`, only if it is that actor's.
    ///
    /// # Errors
    /// See [`DeleteEventError`].
    pub async fn delete_event(self, id: EventId, by: Option<&Actor>) -> Result<(), DeleteEventError> {
        let topic = self.topic;
        let settings = self.settings().await?;
        let key = keyed(Place::Table, EventKey::new(topic.clone(), settings.bucket, id).encode());
        let mut note = false;
        loop {
            match self.delete_unless(&key, by, note).await {
                Ok(answer) => {
                    self.op.table.meter.write(answer.consumed_capacity());
                    return Ok(());
                }
                Err(Failed::Condition { error, .. }) => {
                    let there = in_the_way(error).unwrap_or_default();
                    let actor = Fields(&there).optional_text("a").map_err(TableError::from)?;
                    if note || by.is_some_and(|by| actor != Some(by.as_str())) {
                        return Err(DeleteEventError::NotYours { id });
                    }
                }
                Err(Failed::Table(error)) => return Err(error.into()),
            }
            self.note_deletion(id).await?;
            note = true;
        }
    }

    /// Deletes an event, if it is there, with `by` if it is that actor's; and, unless its deletion is noted, only if no
    /// repetition of a request can bring it back.
    async fn delete_unless(
        self,
        key: &Item,
        by: Option<&Actor>,
        noted: bool,
    ) -> Result<DeleteItemOutput, Failed<SdkError<DeleteItemError>>> {
        let conditions: Vec<_> = [(by.is_some(), "a = :actor"), (!noted, "NOT contains(v, :keyed)")]
            .into_iter()
            .filter_map(|(wanted, condition)| wanted.then_some(condition))
            .collect();
        self.op
            .table
            .call(|| {
                let mut delete = self
                    .op
                    .table
                    .client
                    .delete_item()
                    .table_name(&*self.op.table.name)
                    .set_key(Some(key.clone()))
                    .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
                    .return_consumed_capacity(ReturnConsumedCapacity::Total);
                if !conditions.is_empty() {
                    let condition = format!("attribute_not_exists(pk) OR ({})", conditions.join(" AND "));
                    delete = delete.condition_expression(condition);
                }
                if let Some(actor) = by {
                    delete = delete.expression_attribute_values(":actor", text(actor.as_str()));
                }
                if !noted {
                    delete = delete.expression_attribute_values(":keyed", text(KEYED));
                }
                delete.send()
            })
            .await
    }

    /// Notes that an event is deleted, before it is: from then on no repetition of its request writes it.
    async fn note_deletion(self, id: EventId) -> Result<(), TableError> {
        let topic = self.topic;
        let mut note = keyed(Place::Table, DeletedEventKey { topic: topic.clone(), id }.encode());
        note.insert("expires_at".to_owned(), number(self.op.now().get() / 1000 + DELETION_SECONDS));
        self.op.table.put_item(&note).await
    }
}

/// The event whose deletion a condition has prevented.
fn in_the_way(error: SdkError<DeleteItemError>) -> Option<Item> {
    match error.into_service_error() {
        DeleteItemError::ConditionalCheckFailedException(failed) => failed.item,
        _ => None,
    }
}

/// The letter of events that were written under an idempotency key.
const KEYED: &str = "k";

/// How a request was accepted, when it first came. What follows from it is stored with the request's events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Acceptance {
    /// When the request came.
    pub(crate) at: UnixMillis,
    /// Whether the request may be repeated, under an idempotency key.
    pub(crate) is_keyed: bool,
}

impl Acceptance {
    /// Whether an event of the request is an import.
    pub(crate) fn is_import(self, event: &NewEvent) -> bool {
        event.at.is_some_and(|at| AcceptedTimes::new(self.at, None).is_import(at))
    }

    /// The letters that are stored with an event of the request.
    pub(crate) fn letters(self, event: &NewEvent) -> [&'static str; 2] {
        [if self.is_import(event) { "i" } else { "p" }, if self.is_keyed { KEYED } else { "" }]
    }
}

/// Whether an item's time is over, though it may not have been removed yet.
pub(crate) fn is_over(item: &Item, now: UnixMillis) -> Result<bool, Corrupt> {
    let expires_at: Option<u64> = Fields(item).optional_number("expires_at")?;
    Ok(expires_at.is_some_and(|seconds| seconds <= now.get() / 1000))
}

/// An event out of its item, unless its time is over: to the millisecond, as for pages, which know the retention.
///
/// The item has the second in which the event's last millisecond lies. A retention is whole days, so which millisecond of
/// that second it is, the event's own time says.
pub(crate) fn unless_over(item: &Item, now: UnixMillis) -> Result<Option<Event>, Corrupt> {
    let event = decode(item)?;
    let expires_at: Option<u64> = Fields(item).optional_number("expires_at")?;
    let over = expires_at.is_some_and(|seconds| {
        let early = (1000 - event.at().get() % 1000) % 1000;
        seconds.saturating_mul(1000).saturating_sub(early) <= now.get()
    });
    Ok((!over).then_some(event))
}

/// The item of an event in a bucket; `accepted` are the letters of how its request was accepted.
pub(crate) fn encode(
    event: &Event,
    key: &EventKey,
    entry: &Entry,
    settings: &TopicSettings,
    accepted: [&str; 2],
) -> Item {
    let mut item = keyed(Place::Table, key.encode());
    item.insert("t".to_owned(), text(event.event_type.as_str()));
    item.insert("a".to_owned(), text(event.actor.as_str()));
    if let Some(subject) = &event.subject {
        item.insert("s".to_owned(), text(subject.as_str()));
    }
    if let Some(data) = &event.data {
        item.insert("d".to_owned(), text(data.as_str()));
    }
    let elsewhere = [(settings.views.actor, "a"), (settings.views.subject, "s"), (settings.fan_out, "f")]
        .into_iter()
        .filter_map(|(wanted, letter)| wanted.then_some(letter));
    item.insert("v".to_owned(), text(elsewhere.chain(accepted).collect::<String>()));
    if let Some(retention) = entry.retention {
        // Rounded up: an event is kept for no less than its time.
        let expires_at = event.at().saturating_add(retention.millis()).get().div_ceil(1000);
        item.insert("expires_at".to_owned(), number(expires_at));
    }
    if entry.types.are_kept() {
        item.extend(keyed(Place::Gsi1, TypeViewKey::new(key, event.event_type.clone()).encode()));
    }
    item
}

/// An event, out of its item: as a read gives it, or the table's stream.
///
/// # Errors
/// If the item is no event's.
pub fn decode(item: &Item) -> Result<Event, Corrupt> {
    let fields = Fields(item);
    let data = fields.optional_text("d")?.map(|text| Data::from_stored(text.to_owned()));
    Ok(Event {
        id: fields.parsed::<SortKey>("sk")?.id(),
        event_type: fields.parsed("t")?,
        actor: fields.parsed("a")?,
        subject: fields.optional_parsed("s")?,
        data: data.transpose().map_err(|_| fields.corrupt("d"))?,
    })
}
