//! One query of a timeline's partition: the entries of some ids, and how far it came.

use aws_sdk_dynamodb::operation::query::QueryOutput;
use lately_keys::{EventId, Order, SortKey};

use crate::entry::TimelineEntry;
use crate::error::TableError;
use crate::item::{Corrupt, Fields, text};
use crate::latest::rank::{Placed, behind};
use crate::latest::span::IdRange;
use crate::op::Op;

impl Placed for TimelineEntry {
    fn id(&self) -> EventId {
        self.id
    }
}

/// Entries of one partition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntryRange<'a> {
    /// The partition key's text.
    pub(crate) partition: &'a str,
    pub(crate) ids: IdRange,
    pub(crate) order: Order,
    pub(crate) consistent: bool,
}

/// What a query of entries found.
#[derive(Debug)]
pub(crate) struct FoundEntries {
    /// In the order of the range.
    pub(crate) entries: Vec<TimelineEntry>,
    /// The last entry that was looked at, if the query ended before its range did.
    pub(crate) stopped_at: Option<EventId>,
}

impl FoundEntries {
    /// What of a range is still to be read.
    pub(crate) fn rest(&self, range: &EntryRange<'_>) -> Option<IdRange> {
        let next = behind(self.stopped_at?, range.order)?;
        IdRange::walked(next, range.ids.ends(range.order).1, range.order)
    }

    /// The entries of an answer that holds nothing else.
    fn decode(answer: &QueryOutput) -> Result<Self, Corrupt> {
        let stopped_at = answer.last_evaluated_key().map(|key| Fields(key).parsed::<SortKey>("sk"));
        Ok(Self {
            entries: answer.items().iter().map(TimelineEntry::decode).collect::<Result<_, _>>()?,
            stopped_at: stopped_at.transpose()?.map(SortKey::id),
        })
    }
}

impl Op {
    /// The first entries of a range, at most so many, or 1 MB of them.
    pub(crate) async fn timeline_entries(
        &self,
        range: &EntryRange<'_>,
        limit: Option<u32>,
    ) -> Result<FoundEntries, TableError> {
        let EntryRange { partition, ids, order, consistent } = *range;
        // Sort keys are inverted ids: the newest comes first.
        let (least, greatest) = (ids.newest.sort_key(), ids.oldest.sort_key());
        let answer = self
            .table
            .query(|query| {
                query
                    .key_condition_expression("pk = :pk AND sk BETWEEN :least AND :greatest")
                    .expression_attribute_values(":pk", text(partition))
                    .expression_attribute_values(":least", text(least.to_string()))
                    .expression_attribute_values(":greatest", text(greatest.to_string()))
                    .scan_index_forward(order == Order::NewestFirst)
                    .set_limit(limit.map(|limit| i32::try_from(limit).unwrap_or(i32::MAX)))
                    .consistent_read(consistent)
            })
            .await?;
        self.table.meter.items(answer.items().len());
        Ok(FoundEntries::decode(&answer)?)
    }
}
