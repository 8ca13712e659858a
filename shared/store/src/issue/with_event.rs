//! A write of an issue and of the event that reports it: one transaction, so both are written or neither.
//!
//! All attempts send the same transaction token. So DynamoDB applies the transaction once, even if an attempt was
//! applied and its response was lost, and a failed condition proves that the transaction was not applied.

use lately_items::{Acceptance, StoredTopic};
use lately_keys::Topic;
use lately_model::{ISSUES_TOPIC, NewEvent, TopicChange};
use lately_table::{Fault, Item, TableError, Transaction};

use crate::erasure::ActorIsBeingErased;
use crate::handle::IssuesHandle;
use crate::topic::PutTopicError;
use crate::write::error::WriteError;

/// The event's place in the transaction, after the write of the issue.
const EVENT: usize = 1;

/// The outcome of a write.
#[derive(Debug)]
pub(super) enum IssueWrite {
    /// The issue and its event are written.
    Written,
    /// Neither is written, because the issue's condition did not hold. The item that is there instead, if any.
    Stale(Option<Item>),
}

impl IssuesHandle<'_> {
    /// The topic of the events that report issues. It is created at first use; an existing topic keeps its settings.
    pub(super) async fn topic(self) -> Result<StoredTopic, TableError> {
        let topic = issues_topic();
        if let Some(stored) = self.op.topic(&topic).stored_if_any().await? {
            return Ok(stored);
        }
        match self.op.topic(&topic).ensure(&TopicChange::default()).await {
            Ok((stored, _)) => Ok(stored),
            Err(PutTopicError::Table(error)) => Err(error),
            Err(error) => Err(TableError::unavailable(error)),
        }
    }

    /// Makes the conditional write of an issue, which is the only write of `transaction`, and writes the event that
    /// reports it.
    ///
    /// # Errors
    /// If the event's actor is being erased, or the table cannot be read or written.
    pub(super) async fn write_and_tell<E: From<ActorIsBeingErased> + From<TableError>>(
        self,
        transaction: Transaction,
        event: NewEvent,
        topic: &StoredTopic,
    ) -> Result<IssueWrite, E> {
        let name = issues_topic();
        let writer = self.op.event_writer(&name, topic);
        let acceptance = Acceptance { at: self.op.now(), is_keyed: false };
        let placed = match writer.place(vec![event], None, acceptance).await {
            Ok(placed) => placed,
            Err(WriteError::ActorIsBeingErased(error)) => return Err(error.into()),
            Err(WriteError::Table(error)) => return Err(error.into()),
            Err(error) => return Err(TableError::unavailable(error).into()),
        };
        let event = &placed.events[0];
        let transaction = transaction.put(event.item.clone());
        // No other transaction works on the event's new item, so a conflict there is a throttle too.
        let is_hot = |faults: &[Fault]| matches!(faults.get(EVENT), Some(Fault::Conflict | Fault::Throttled));
        let Some(faults) = placed.commit(event, &transaction, is_hot).await? else {
            placed.put_in_own_feed(event).await;
            return Ok(IssueWrite::Written);
        };
        // Only the write of the issue has a condition.
        let there = faults.into_iter().find_map(|fault| match fault {
            Fault::Condition(there) => there,
            _ => None,
        });
        Ok(IssueWrite::Stale(there))
    }
}

fn issues_topic() -> Topic {
    ISSUES_TOPIC.parse().expect("the constant is a topic's name")
}
