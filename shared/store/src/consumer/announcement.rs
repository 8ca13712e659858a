//! A consumer's announcement: how far it reads, said before it does.
//!
//! ```text
//! ANNOUNCED#{topic} / {name}
//!   incarnation N, start S (an id), to S (an id: the end of what is about to be read, or was)
//!   mode S?, at N? (when that was said, by the reader's clock), from S? (where a run begins)
//!   l0 … l15 N? (how often an entry was put into each partition of the late ledger)
//! ```
//!
//! It is there as long as its consumer is: made with it in one transaction, and changed by nobody who takes it for that of
//! another incarnation. So a process that wakes after its consumer was deleted brings nothing back.

use aws_sdk_dynamodb::operation::update_item::UpdateItemOutput;
use aws_sdk_dynamodb::types::builders::UpdateBuilder;
use aws_sdk_dynamodb::types::{ReturnValue, Update};
use lately_keys::table::{AnnouncementKey, ConsumerKey};
use lately_keys::{Consumer, EventId, Place, TableKey, UnixMillis};
use lately_model::Revision;

use crate::consumer::checkpoint::{Checkpoint, ConsumerMode, incarnation};
use crate::consumer::counters::Counters;
use crate::consumer::ledger::{Ledger, LedgerHandle};
use crate::error::TableError;
use crate::item::{Corrupt, Fields, Item, keyed, number, text};
use crate::op::Op;
use crate::topic::TopicHandle;

/// What a consumer has announced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Announcement {
    pub(crate) consumer: ConsumerKey,
    pub(crate) incarnation: Revision,
    pub(crate) start: EventId,
    pub(crate) to: EventId,
    /// Of a consumer that reports: where the run begins, and when it was announced.
    pub(crate) run: Option<(EventId, UnixMillis)>,
    pub(crate) counters: Counters,
}

impl Announcement {
    fn key(consumer: &ConsumerKey) -> Item {
        let ConsumerKey { topic, name } = consumer.clone();
        keyed(Place::Table, AnnouncementKey { topic, name }.encode())
    }

    /// The announcement of a consumer that is made now: nothing is read yet.
    pub(crate) fn first(checkpoint: &Checkpoint) -> Item {
        let Checkpoint { consumer, incarnation, start, .. } = checkpoint;
        let mut item = Self::key(consumer);
        item.insert("incarnation".to_owned(), number(incarnation.get()));
        item.insert("start".to_owned(), text(start.to_string()));
        item.insert("to".to_owned(), text(start.to_string()));
        item
    }

    fn decode(item: &Item) -> Result<Self, Corrupt> {
        let fields = Fields(item);
        let key = AnnouncementKey::decode(fields.text("pk")?, fields.text("sk")?);
        let AnnouncementKey { topic, name } = key.ok_or_else(|| fields.corrupt("sk"))?;
        let run = match ConsumerMode::of(fields)? {
            Some(ConsumerMode::Runs) => Some((fields.parsed("from")?, fields.millis("at")?)),
            Some(ConsumerMode::Polls) | None => None,
        };
        Ok(Self {
            consumer: ConsumerKey { topic, name },
            incarnation: incarnation(fields)?,
            start: fields.parsed("start")?,
            to: fields.parsed("to")?,
            run,
            counters: Counters::of_attributes(item)?,
        })
    }
}

/// The announcement of one consumer, in one request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnnouncementHandle<'a> {
    pub(crate) op: &'a Op,
    pub(crate) checkpoint: &'a Checkpoint,
}

impl<'a> AnnouncementHandle<'a> {
    pub(crate) const fn of(op: &'a Op, checkpoint: &'a Checkpoint) -> Self {
        Self { op, checkpoint }
    }
}

impl AnnouncementHandle<'_> {
    /// A consumer's announcement, if it has not been deleted meanwhile. The read is consistent.
    pub(crate) async fn find(self) -> Result<Option<Announcement>, TableError> {
        let checkpoint = self.checkpoint;
        let item = self.op.table.get_item(Announcement::key(&checkpoint.consumer)).await?;
        let found = item.as_ref().map(Announcement::decode).transpose()?;
        Ok(found.filter(|found| found.incarnation == checkpoint.incarnation))
    }
}

impl TopicHandle<'_> {
    /// A topic's consumers, by name, and whether each has begun to report. The read is consistent.
    ///
    /// # Errors
    /// If the table could not be read.
    pub async fn consumers(self) -> Result<Vec<(Consumer, bool)>, TableError> {
        let announcements = self.announcements().await?.into_iter();
        let consumers = announcements.map(|it| (it.consumer.name, it.run.is_some())).collect();
        Ok(consumers)
    }

    /// All announcements of a topic's consumers. The read is consistent.
    pub(crate) async fn announcements(self) -> Result<Vec<Announcement>, TableError> {
        let topic = self.topic;
        let mut found = Vec::new();
        let mut after = None;
        // Bounded by the topic's consumers, a few hundred bytes each: one query, unless many were made before there was a cap.
        loop {
            let answer = self
                .op
                .table
                .query(|query| {
                    query
                        .key_condition_expression("pk = :pk")
                        .expression_attribute_values(":pk", text(AnnouncementKey::partition(topic)))
                        .set_exclusive_start_key(after.clone())
                        .consistent_read(true)
                })
                .await?;
            for item in answer.items() {
                found.push(Announcement::decode(item)?);
            }
            after = answer.last_evaluated_key;
            if after.is_none() {
                return Ok(found);
            }
        }
    }
}

impl AnnouncementHandle<'_> {
    /// The part of a run's transaction that announces it.
    pub(crate) fn announcing_run(self, to: EventId, at: UnixMillis) -> UpdateBuilder {
        let checkpoint = self.checkpoint;
        Update::builder()
            .table_name(&*self.op.table.name)
            .set_key(Some(Announcement::key(&checkpoint.consumer)))
            .update_expression("SET #from = :from, #to = :to, #at = :at, #mode = :mode")
            .condition_expression("incarnation = :ours")
            .expression_attribute_names("#from", "from")
            .expression_attribute_names("#to", "to")
            .expression_attribute_names("#at", "at")
            .expression_attribute_names("#mode", "mode")
            .expression_attribute_values(":from", text(checkpoint.position.to_string()))
            .expression_attribute_values(":to", text(to.to_string()))
            .expression_attribute_values(":at", number(at.get()))
            .expression_attribute_values(":mode", text(ConsumerMode::Runs.as_str()))
            .expression_attribute_values(":ours", number(checkpoint.incarnation.get()))
    }

    /// Announces that a consumer is about to be given what lies up to an id, and reads the counters. None if it was deleted
    /// meanwhile.
    pub(crate) async fn announce_poll(self, to: EventId) -> Result<Option<Counters>, TableError> {
        let checkpoint = self.checkpoint;
        let key = Announcement::key(&checkpoint.consumer);
        let updated = self
            .op
            .table
            .update_if(|update| {
                update
                    .set_key(Some(key.clone()))
                    .update_expression("SET #to = :to, #mode = :mode")
                    .condition_expression("incarnation = :ours AND #to < :to")
                    .expression_attribute_names("#to", "to")
                    .expression_attribute_names("#mode", "mode")
                    .expression_attribute_values(":to", text(to.to_string()))
                    .expression_attribute_values(":mode", text(ConsumerMode::Polls.as_str()))
                    .expression_attribute_values(":ours", number(checkpoint.incarnation.get()))
                    .return_values(ReturnValue::AllNew)
            })
            .await?;
        match updated.as_ref().and_then(UpdateItemOutput::attributes) {
            Some(item) => Ok(Some(Counters::of_attributes(item)?)),
            // That far it was announced already; or there is nothing to announce with.
            None => Ok(self.find().await?.map(|found| found.counters)),
        }
    }

    /// Announces that a consumer wants events from before its start, down to an id.
    pub(crate) async fn lower_start(self, start: EventId) -> Result<(), TableError> {
        let checkpoint = self.checkpoint;
        let key = Announcement::key(&checkpoint.consumer);
        self.op
            .table
            .update_if(|update| {
                update
                    .set_key(Some(key.clone()))
                    .update_expression("SET #start = :start")
                    .condition_expression("incarnation = :ours AND #start > :start")
                    .expression_attribute_names("#start", "start")
                    .expression_attribute_values(":start", text(start.to_string()))
                    .expression_attribute_values(":ours", number(checkpoint.incarnation.get()))
            })
            .await?;
        Ok(())
    }

    /// Deletes a consumer's announcement, unless it is that of a later one of its name.
    pub(crate) async fn delete(self) -> Result<(), TableError> {
        let checkpoint = self.checkpoint;
        let key = Announcement::key(&checkpoint.consumer);
        self.op.consumer(&checkpoint.consumer).delete_up_to(&key, checkpoint.incarnation).await
    }
}

impl LedgerHandle<'_> {
    /// Counts that entries were put into some partitions of a consumer's ledger. False if the consumer was deleted, or made
    /// again: then there is nobody to tell.
    pub(crate) async fn count(self, shards: &[u8]) -> Result<bool, TableError> {
        let Ledger { consumer, incarnation } = self.ledger;
        let counters: Vec<_> =
            shards.iter().map(|shard| format!("{} :one", Counters::attribute(*shard))).collect();
        let key = Announcement::key(consumer);
        let counted = self.op.table.update_if(|update| {
            update
                .set_key(Some(key.clone()))
                .update_expression(format!("ADD {}", counters.join(", ")))
                .condition_expression("incarnation = :ours")
                .expression_attribute_values(":one", number(1_u64))
                .expression_attribute_values(":ours", number(incarnation.get()))
        });
        Ok(counted.await?.is_some())
    }
}

#[cfg(test)]
mod tests {
    use lately_model::SettleSeconds;

    use super::*;

    #[test]
    fn golden_bytes() {
        let consumer = ConsumerKey { topic: "billing".parse().unwrap(), name: "nightly".parse().unwrap() };
        let id = "0190a4cd-d3e7-7222-9f99-fdb74feee752";
        let start: EventId = id.parse().unwrap();
        let checkpoint = Checkpoint::new(&consumer, start, SettleSeconds::default(), Revision::new(7));
        let mut item = Announcement::first(&checkpoint);
        let expected = [
            ("pk", text("ANNOUNCED#billing")),
            ("sk", text("nightly")),
            ("incarnation", number(7_u64)),
            ("start", text(id)),
            ("to", text(id)),
        ];
        assert_eq!(item, expected.map(|(name, value)| (name.to_owned(), value)).into());
        let incarnation = checkpoint.incarnation;
        let counters = Counters::default();
        let first = Announcement { consumer, incarnation, start, to: start, run: None, counters };
        assert_eq!(Announcement::decode(&item).as_ref(), Ok(&first));

        let mut put = |name: &str, value| drop(item.insert(name.to_owned(), value));
        put("mode", text("runs"));
        put("from", text(id));
        put("at", number(8_u64));
        put("l15", number(3_u64));
        let announced = Announcement::decode(&item).unwrap();
        assert_eq!(announced.run, Some((start, UnixMillis::new(8).unwrap())));
        assert_eq!(announced.counters.risen_since(&counters), [15]);
        item.insert("mode".to_owned(), text("polls"));
        assert_eq!(Announcement::decode(&item).unwrap().run, None);
    }
}
