//! A consumer's late ledger: the events that landed behind what it had announced.
//!
//! ```text
//! LATE#{topic}#{name}#{0..15} / {id}
//!   incarnation N
//!   by S? (the run, by its end, or the batch that settled it), expires_at N? (only then)
//! ```
//!
//! Fan-out creates an entry; a run or a batch settles it, once it has given the event or knows who did. It is not deleted
//! then: the record that made it may be delivered again. An entry that nobody has settled never expires.
//!
//! What must hold: an entry of one incarnation is not touched by what woke from an earlier one.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use lately_keys::table::{ConsumerKey, LateEventKey};
use lately_keys::{EventId, Place, TableKey, UnixMillis};
use lately_model::Revision;

use crate::consumer::checkpoint::incarnation;
use crate::error::TableError;
use crate::item::{Corrupt, Fields, Item, keyed, number, text};
use crate::limits::{REDELIVERED_SECONDS, WRITES_AT_ONCE};
use crate::op::Op;

/// Whose ledger.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ledger<'a> {
    pub(crate) consumer: &'a ConsumerKey,
    pub(crate) incarnation: Revision,
}

/// Some of the unsettled entries of a partition.
#[derive(Debug)]
pub(crate) struct Unsettled {
    /// Oldest first.
    pub(crate) ids: Vec<EventId>,
    /// The last entry that was looked at; none if there are no more.
    pub(crate) last: Option<EventId>,
}

/// A partition as it was looked through, to its end or until a request may read no more.
#[derive(Debug)]
pub(crate) struct Walked {
    /// The unsettled entries up to an id, oldest first.
    pub(crate) ids: Vec<EventId>,
    /// Up to where all are settled, if it is worth to be kept: a page of entries or more.
    pub(crate) behind: Option<EventId>,
    /// Why it ended.
    pub(crate) ending: WalkEnding,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WalkEnding {
    /// There is nothing more.
    Exhausted,
    /// An unsettled entry lies behind the id.
    Ahead,
    /// There may be more.
    Cut,
}

impl Ledger<'_> {
    fn key(self, id: EventId) -> Item {
        keyed(Place::Table, LateEventKey { consumer: self.consumer.clone(), id }.encode())
    }

    /// An entry that waits.
    fn entry(self, id: EventId) -> Item {
        let mut item = self.key(id);
        item.insert("incarnation".to_owned(), self.ours());
        item
    }

    fn partition(self, shard: u8) -> Option<String> {
        LateEventKey::partitions(self.consumer).nth(shard.into())
    }

    fn ours(self) -> AttributeValue {
        number(self.incarnation.get())
    }
}

/// The late ledger of one consumer, in one request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LedgerHandle<'a> {
    pub(crate) op: &'a Op,
    pub(crate) ledger: Ledger<'a>,
}

impl<'a> LedgerHandle<'a> {
    pub(crate) const fn of(op: &'a Op, ledger: Ledger<'a>) -> Self {
        Self { op, ledger }
    }
}

impl LedgerHandle<'_> {
    /// Notes an event as late, unless it is already. Whether it waits to be settled: if so, its partition is to be counted,
    /// also if it was noted before, since whoever did that may not have come to count it.
    pub(crate) async fn note(self, id: EventId) -> Result<bool, TableError> {
        let ledger = self.ledger;
        let item = ledger.entry(id);
        let values = HashMap::from([(":ours".to_owned(), ledger.ours())]);
        let condition = "attribute_not_exists(pk) OR incarnation < :ours";
        Ok(match self.op.table.put_item_if(&item, condition, Some(values)).await?.in_the_way()? {
            None => true,
            Some(there) => waits(&there, ledger.incarnation)?,
        })
    }

    /// Lets entries expire that were noted for a consumer which was deleted meanwhile: its deletion may not have seen them.
    /// Puts them once more: whoever notes may do nothing else with an entry.
    pub(crate) async fn drop(self, ids: &[EventId]) -> Result<(), TableError> {
        let ledger = self.ledger;
        let expires_at = self.op.now().get() / 1000;
        let drops: Vec<_> = ids
            .iter()
            .map(async |id| {
                let mut item = ledger.entry(*id);
                item.insert("by".to_owned(), text("deleted"));
                item.insert("expires_at".to_owned(), number(expires_at));
                let values = HashMap::from([(":ours".to_owned(), ledger.ours())]);
                self.op.table.put_item_if(&item, "incarnation = :ours", Some(values)).await.map(drop)
            })
            .collect();
        let done: Result<(), TableError> =
            stream::iter(drops).buffer_unordered(WRITES_AT_ONCE).try_collect().await;
        done
    }

    /// Looks for the unsettled entries of a partition up to an id, from behind another on. Ends with more than `most`, or
    /// when the request may read no more; one page is read in any case, so that whoever goes on behind it comes to an end.
    pub(crate) async fn walk(
        self,
        shard: u8,
        behind: Option<EventId>,
        upto: EventId,
        most: usize,
    ) -> Result<Walked, TableError> {
        let mut walked = Walked { ids: Vec::new(), behind, ending: WalkEnding::Exhausted };
        let mut after = behind;
        loop {
            let page = self.unsettled(shard, after, LAST).await?;
            let late = page.ids.partition_point(|id| *id <= upto);
            walked.ids.extend(&page.ids[..late]);
            if late < page.ids.len() {
                walked.ending = WalkEnding::Ahead;
                return Ok(walked);
            }
            let Some(last) = page.last else { return Ok(walked) };
            if walked.ids.is_empty() {
                walked.behind = Some(last);
            }
            if walked.ids.len() > most || self.op.table.is_spent() {
                walked.ending = WalkEnding::Cut;
                return Ok(walked);
            }
            after = Some(last);
        }
    }

    /// Unsettled entries of a partition between two ids, 1 MB of the partition at a time.
    pub(crate) async fn unsettled(
        self,
        shard: u8,
        after: Option<EventId>,
        upto: EventId,
    ) -> Result<Unsettled, TableError> {
        let ledger = self.ledger;
        let partition = ledger.partition(shard).unwrap_or_default();
        let after = after.map(|id| ledger.key(id));
        let answer = self
            .op
            .table
            .query(|query| {
                query
                    .key_condition_expression("pk = :pk AND sk <= :upto")
                    .filter_expression("incarnation = :ours AND attribute_not_exists(#by)")
                    .expression_attribute_names("#by", "by")
                    .expression_attribute_values(":pk", text(partition.as_str()))
                    .expression_attribute_values(":upto", text(upto.to_string()))
                    .expression_attribute_values(":ours", ledger.ours())
                    .set_exclusive_start_key(after.clone())
                    .consistent_read(true)
            })
            .await?;
        self.op.table.meter.items(usize::try_from(answer.scanned_count()).unwrap_or(0));
        let ids = answer.items().iter().map(|item| Fields(item).parsed("sk")).collect::<Result<_, _>>()?;
        let last = answer.last_evaluated_key.as_ref().map(|key| Fields(key).parsed("sk")).transpose()?;
        Ok(Unsettled { ids, last })
    }

    /// Marks entries as settled. One that is not there any more, or another incarnation's, is left alone.
    pub(crate) async fn settle(self, ids: &[EventId], by: &str) -> Result<(), TableError> {
        let ledger = self.ledger;
        let expires_at = self.op.now().get() / 1000 + REDELIVERED_SECONDS;
        let settle = |id: &EventId| {
            let key = ledger.key(*id);
            async move {
                self.op
                    .table
                    .update_if(|update| {
                        update
                            .set_key(Some(key.clone()))
                            .update_expression("SET #by = :by, expires_at = :expires_at")
                            .condition_expression("incarnation = :ours")
                            .expression_attribute_names("#by", "by")
                            .expression_attribute_values(":by", text(by))
                            .expression_attribute_values(":expires_at", number(expires_at))
                            .expression_attribute_values(":ours", ledger.ours())
                    })
                    .await
                    .map(drop)
            }
        };
        let writes: Vec<_> = ids.iter().map(settle).collect();
        let done: Result<(), TableError> =
            stream::iter(writes).buffer_unordered(WRITES_AT_ONCE).try_collect().await;
        done
    }

    /// Those of some partitions in which no entry is left to settle, wherever it lies.
    pub(crate) async fn settled_shards(self, shards: Vec<u8>) -> Result<Vec<u8>, TableError> {
        let mut settled = Vec::new();
        for shard in shards {
            let mut after = None;
            let waits = loop {
                let page = self.unsettled(shard, after, LAST).await?;
                if !page.ids.is_empty() {
                    break true;
                }
                after = page.last;
                if after.is_none() {
                    break false;
                }
            };
            if !waits {
                settled.push(shard);
            }
        }
        Ok(settled)
    }
}

/// No event is behind it.
const LAST: EventId = EventId::last_of(UnixMillis::MAX);

/// Whether an entry is one of this incarnation that nobody has settled.
fn waits(item: &Item, ours: Revision) -> Result<bool, Corrupt> {
    let fields = Fields(item);
    Ok(incarnation(fields)? == ours && fields.optional_text("by")?.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_bytes() {
        let consumer = ConsumerKey { topic: "billing".parse().unwrap(), name: "nightly".parse().unwrap() };
        let ledger = Ledger { consumer: &consumer, incarnation: Revision::new(7) };
        let id = "0190a4cd-d3e7-7222-9f99-fdb74feee752";
        let expected =
            [("pk", text("LATE#billing#nightly#2")), ("sk", text(id)), ("incarnation", number(7_u64))];
        assert_eq!(
            ledger.entry(id.parse().unwrap()),
            expected.map(|(name, value)| (name.to_owned(), value)).into()
        );
        assert_eq!(ledger.partition(2).as_deref(), Some("LATE#billing#nightly#2"));
    }

    #[test]
    fn an_entry_waits_until_it_is_settled_and_for_its_own_consumer_alone() {
        let entry = |incarnation: u64, by: Option<&str>| {
            let by = by.map(|by| ("by".to_owned(), text(by)));
            Item::from_iter([("incarnation".to_owned(), number(incarnation))].into_iter().chain(by))
        };
        let ours = Revision::new(7);
        assert_eq!(waits(&entry(7, None), ours), Ok(true));
        assert_eq!(waits(&entry(7, Some("7-8")), ours), Ok(false));
        assert_eq!(waits(&entry(8, None), ours), Ok(false), "made again meanwhile");
        waits(&Item::new(), ours).unwrap_err();
    }
}
