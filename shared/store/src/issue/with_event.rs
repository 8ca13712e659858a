//! A write of an issue and of the event that reports it: one transaction, so both are written or neither.
//!
//! All attempts send the same transaction token. So DynamoDB applies the transaction once, even if an attempt was
//! applied and its response was lost, and a failed condition proves that the transaction was not applied.

use lately_items::Acceptance;
use lately_keys::Topic;
use lately_model::{ISSUES_TOPIC, NewEvent, TopicSettings};
use lately_table::{Fault, Item, TableError, Transacted, Transaction};

use crate::erasure::ActorIsBeingErased;
use crate::handle::IssuesHandle;
use crate::write::error::WriteError;
use crate::write::place::EventWriter;

/// The event's place in the transaction, after the write of the issue.
const EVENT: usize = 1;

/// The topic of the events that report issues.
#[derive(Debug)]
pub(super) struct IssueTopic {
    topic: Topic,
    settings: TopicSettings,
}

/// The outcome of a write.
#[derive(Debug)]
pub(super) enum IssueWrite {
    /// The issue and its event are written.
    Written,
    /// Neither is written, because the issue's condition did not hold. The item that is there instead, if any.
    Stale(Option<Item>),
    /// Neither is written, because the event's actor is being erased.
    Refused(ActorIsBeingErased),
}

impl IssuesHandle<'_> {
    /// The topic of the events that report issues. It is created at first use; an existing topic keeps its settings.
    pub(super) async fn topic(self) -> Result<IssueTopic, TableError> {
        let topic: Topic = ISSUES_TOPIC.parse().expect("the constant is a topic's name");
        let settings = self.op.topic(&topic).settings_or_create().await?;
        Ok(IssueTopic { topic, settings })
    }

    /// Makes the conditional write of an issue, which is the only write of `transaction`, and writes the event that
    /// reports it.
    pub(super) async fn write_and_tell(
        self,
        transaction: Transaction,
        event: NewEvent,
        IssueTopic { topic, settings }: &IssueTopic,
    ) -> Result<IssueWrite, TableError> {
        let writer = EventWriter::of(self.op, topic, settings);
        let acceptance = Acceptance { at: self.op.now(), is_keyed: false };
        let placed = match writer.place(vec![event], None, acceptance).await {
            Ok(placed) => placed,
            Err(WriteError::ActorIsBeingErased(error)) => return Ok(IssueWrite::Refused(error)),
            Err(WriteError::Table(error)) => return Err(error),
            Err(error) => return Err(TableError::unavailable(error)),
        };
        let event = &placed.events[0];
        let transaction = transaction.put(event.item.clone());
        let mut attempts = self.op.table.attempts();
        loop {
            attempts.start_round();
            let faults = match transaction.commit(&self.op.table).await? {
                Transacted::Done => {
                    placed.put_in_own_feed(event).await;
                    return Ok(IssueWrite::Written);
                }
                Transacted::Cancelled { faults, .. } => faults,
            };
            // No other transaction works on the event's new item, so a conflict there is a throttle too.
            if matches!(faults.get(EVENT), Some(Fault::Conflict | Fault::Throttled)) {
                placed.grow_around(event, attempts.made()).await;
            }
            if let Some(Fault::Condition(there)) = faults.into_iter().next() {
                return Ok(IssueWrite::Stale(there));
            }
            attempts.pause_or(|| TableError::unavailable("the issue or its event is too busy")).await?;
        }
    }
}
