//! One query of a timeline's partition: the entries of a range of ids.

use lately_keys::{EventId, Order, SortKey};
use lately_table::{Corrupt, Page, Query, TableError};

use crate::entry::TimelineEntry;
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

/// The entries that a query has found.
#[derive(Debug)]
pub(crate) struct FoundEntries {
    /// The entries in the order of the range.
    pub(crate) entries: Vec<TimelineEntry>,
    /// The last entry that DynamoDB looked at, if the query ended before its range did.
    pub(crate) stopped_at: Option<EventId>,
}

impl FoundEntries {
    /// The part of a range that is still to be read.
    pub(crate) fn rest(&self, range: &EntryRange<'_>) -> Option<IdRange> {
        let next = behind(self.stopped_at?, range.order)?;
        IdRange::walked(next, range.ids.ends(range.order).1, range.order)
    }

    /// The entries of a page that holds nothing else.
    pub(crate) fn decode(page: &Page) -> Result<Self, Corrupt> {
        let stopped_at = page.next.as_ref().map(|key| key.parsed::<SortKey>("sk"));
        Ok(Self {
            entries: page.items.iter().map(TimelineEntry::decode).collect::<Result<_, _>>()?,
            stopped_at: stopped_at.transpose()?.map(SortKey::id),
        })
    }
}

impl Op {
    /// The first entries of a range: at most `limit`, and at most 1 MB.
    pub(crate) async fn timeline_entries(
        &self,
        range: &EntryRange<'_>,
        limit: u32,
    ) -> Result<FoundEntries, TableError> {
        let EntryRange { partition, ids, order, consistent } = *range;
        // Sort keys are inverted ids, so the newest entry comes first.
        let query = Query::partition(partition)
            .between(ids.newest.sort_key().to_string(), ids.oldest.sort_key().to_string())
            .backward(order == Order::OldestFirst)
            .limit(limit)
            .consistent(consistent);
        let page = self.table.query(&query).await?;
        self.table.meter().items(page.items.len());
        Ok(FoundEntries::decode(&page)?)
    }
}
