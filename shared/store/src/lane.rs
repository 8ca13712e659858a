//! Reading a lane: a partition of the table or of an index whose sort keys are inverted ids, so the newest item comes first.
//!
//! The pages of topics, timelines and feeds, the ranges of reports and the repair of feeds all read lanes, and merge several
//! lanes in their own way. A query that ended before its range did says where it stopped: the rest is read next, or becomes a
//! cursor.

use lately_items::{BEFORE_ENTRIES, id_of_sort_key};
use lately_keys::{EventId, Order, Place};
use lately_table::{Corrupt, Item, Query, TableError, Units};

use crate::op::Op;
use crate::span::{IdRange, behind};

/// A range of ids in a lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneRange<'a> {
    /// The partition key's text, in the table.
    pub(crate) partition: &'a str,
    pub(crate) ids: IdRange,
    pub(crate) order: Order,
    pub(crate) consistent: bool,
}

impl LaneRange<'_> {
    /// The query for the range.
    pub(crate) fn query(&self) -> Query {
        self.query_in(Place::Table)
    }

    /// The query for the range in an index.
    pub(crate) fn query_in(&self, place: Place) -> Query {
        let [least, greatest] = [self.ids.newest, self.ids.oldest].map(|id| id.sort_key().to_string());
        let is_backward = self.order == Order::OldestFirst;
        Query::of(place, self.partition)
            .between(least, greatest)
            .backward(is_backward)
            .consistent(self.consistent)
    }
}

/// The items of a lane that one query has found.
#[derive(Debug)]
pub(crate) struct LanePage<T> {
    /// The items in the order of the range.
    pub(crate) items: Vec<T>,
    /// The items' size as stored.
    pub(crate) bytes: u64,
    /// The number of items that DynamoDB has read, those that a filter has dropped included.
    pub(crate) read: usize,
    /// The price of the query.
    pub(crate) units: Units,
    /// The last item that DynamoDB has read, if the query ended before its range did.
    pub(crate) stopped_at: Option<EventId>,
}

impl<T> LanePage<T> {
    pub(crate) fn of(
        items: &[Item],
        stopped_at: Option<EventId>,
        decode: impl Fn(&Item) -> Result<T, Corrupt>,
    ) -> Result<Self, Corrupt> {
        let bytes = items.iter().map(|item| item.stored_bytes() as u64).sum();
        let read = items.len();
        let items = items.iter().map(decode).collect::<Result<_, _>>()?;
        Ok(Self { items, bytes, read, units: Units::default(), stopped_at })
    }

    /// The part of the range that is still to be read.
    pub(crate) fn rest(&self, range: &LaneRange<'_>) -> Option<IdRange> {
        let next = behind(self.stopped_at?, range.order)?;
        IdRange::walked(next, range.ids.ends(range.order).1, range.order)
    }

    /// Reads a page of a lane, with one query.
    pub(crate) async fn read(
        op: &Op,
        query: &Query,
        decode: impl Fn(&Item) -> Result<T, Corrupt>,
    ) -> Result<Self, TableError> {
        let page = op.table.query_items(query).await?;
        let stopped_at = page.next.as_ref().map(id_of_sort_key).transpose()?;
        Ok(Self { read: page.read, units: page.units, ..Self::of(&page.items, stopped_at, decode)? })
    }

    /// The items that stand before the entries of a timeline or of a feed, and the first entries of a range that begins
    /// with the newest possible entry. If there are no more items before the entries than expected, one query reads all.
    pub(crate) async fn read_first(
        op: &Op,
        range: &LaneRange<'_>,
        wanted: u32,
        expected_before: u32,
        decode: impl Fn(&Item) -> Result<T, Corrupt>,
    ) -> Result<(Vec<Item>, Self), TableError> {
        let part = Query::partition(range.partition).consistent(range.consistent);
        let first = part.clone().up_to(range.ids.oldest.sort_key().to_string());
        let page = op.table.query_items(&first.limit(wanted.saturating_add(expected_before))).await?;
        let mut before = page.items;
        let entries =
            before.split_off(before.iter().take_while(|item| id_of_sort_key(item).is_err()).count());
        let entries = match page.next.as_ref().map(|next| id_of_sort_key(next).ok()) {
            Some(None) => {
                let rest = op.table.query_all(part.before(BEFORE_ENTRIES).start(page.next)).await?;
                op.table.meter().items(rest.len());
                before.extend(rest);
                Self::read(op, &range.query().limit(wanted), decode).await?
            }
            stopped_at => {
                let found = Self::of(&entries, stopped_at.flatten(), decode)?;
                Self { units: page.units, ..found }
            }
        };
        Ok((before, entries))
    }
}
