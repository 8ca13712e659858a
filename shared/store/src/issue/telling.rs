//! A write of an issue and the event that tells of it: one transaction, both or neither.
//!
//! It is one transaction through all attempts: its token makes DynamoDB do it once, also if an attempt was done whose
//! answer is lost. So a condition that fails says for sure that it was not done.

use aws_sdk_dynamodb::types::{Put, TransactWriteItem};
use lately_keys::Topic;
use lately_model::{ISSUES_TOPIC, NewEvent, TopicSettings};

use crate::error::TableError;
use crate::event::Acceptance;
use crate::issue::IssuesHandle;
use crate::item::Item;
use crate::placing::{PlaceError, Placed};
use crate::transaction::{Fault, Transacted, Transaction};
use crate::write::EventWriter;

/// Where in the transaction the event is.
const EVENT: usize = 1;

/// Where issues are told of, and how it is kept.
#[derive(Debug)]
pub(super) struct IssueTopic {
    topic: Topic,
    settings: TopicSettings,
}

/// What became of a write.
#[derive(Debug)]
pub(super) enum Told {
    /// It is done, and told.
    Written,
    /// Neither: this is what is there instead, if anything and if the write asks for it.
    Stale(Option<Item>),
}

impl IssuesHandle<'_> {
    /// The topic that tells of issues. It is created at first use; one that is there is taken as it is.
    pub(super) async fn topic(self) -> Result<IssueTopic, TableError> {
        let topic: Topic = ISSUES_TOPIC.parse().expect("a topic of ours is one");
        let settings = self.op.topic(&topic).settings_or_create().await?;
        Ok(IssueTopic { topic, settings })
    }

    /// Does a conditional write of an issue, and tells of it.
    pub(super) async fn write_and_tell(
        self,
        write: TransactWriteItem,
        event: NewEvent,
        IssueTopic { topic, settings }: &IssueTopic,
    ) -> Result<Told, TableError> {
        let acceptance = Acceptance { at: self.op.now(), is_keyed: false };
        let placed = EventWriter::of(self.op, topic, settings).place(vec![event], None, acceptance).await;
        let placed = placed.map_err(|error| match error {
            PlaceError::Table(error) => error,
            PlaceError::TooOld(_) => TableError::unavailable("the clock stands before what the topic keeps"),
        })?;
        let [placed] = <[Placed; 1]>::try_from(placed).expect("one event has one place");
        let put = Put::builder().table_name(&*self.op.table.name).set_item(Some(placed.item.clone())).build();
        let put = TransactWriteItem::builder().put(put.map_err(TableError::unavailable)?).build();
        let transaction = Transaction::new(vec![write, put], self.op.ambient());
        let mut attempts = self.op.table.attempts();
        loop {
            attempts.start_round();
            let mut faults = match self.op.table.transact(&transaction).await? {
                Transacted::Done => {
                    EventWriter::of(self.op, topic, settings).put_in_own_feed(&placed).await;
                    return Ok(Told::Written);
                }
                Transacted::Cancelled { faults, .. } => faults,
            };
            // A new item is in nobody's way: it was throttled.
            if matches!(faults.get(EVENT), Some(Fault::Conflict | Fault::Throttled)) {
                EventWriter::of(self.op, topic, settings).grow_around(&placed, attempts.made()).await;
            }
            if let Some(Fault::Condition(there)) = faults.drain(..).next() {
                return Ok(Told::Stale(there));
            }
            attempts.pause_or(|| TableError::unavailable("the issue or its event is too busy")).await?;
        }
    }
}
