//! What stands in a feed's partition before its entries: the sources that it pulls, and how far it was seen.
//!
//! ```text
//! FEED#{user} / #PULL#{source}    since S         see pull_marker.rs
//! FEED#{user} / #SEEN            id S            see seen.rs
//! ```

use lately_keys::table::{FeedEntryKey, PullMarkerKey, SeenMarkKey};
use lately_keys::{EventId, Place, SortKey, Source, TableKey, User};

use crate::entry::TimelineEntry;
use crate::error::TableError;
use crate::feed::FeedHandle;
use crate::item::{Corrupt, Fields, Item, keyed, text};
use crate::pull_marker::PullMarker;
use crate::timeline::range::{EntryRange, FoundEntries};

/// The marks of a feed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    pub(crate) pulls: Vec<PullMarker>,
    /// The newest event that the user has seen.
    pub(crate) seen: Option<EventId>,
}

impl Marks {
    /// Whether an event is pulled, if a source lists it.
    pub(super) fn pull(&self, source: &Source, id: EventId) -> bool {
        self.pulls.iter().any(|pull| pull.source == *source && pull.since <= id)
    }

    /// Takes an item that is no entry.
    fn take(&mut self, item: &Item) -> Result<(), Corrupt> {
        if is_seen_mark(item)? {
            self.seen = Some(Fields(item).parsed("id")?);
        } else {
            self.pulls.push(PullMarker::decode(item)?);
        }
        Ok(())
    }
}

fn is_seen_mark(item: &Item) -> Result<bool, Corrupt> {
    let fields = Fields(item);
    Ok(SeenMarkKey::decode(fields.text("pk")?, fields.text("sk")?).is_some())
}

/// Whether an item, or a key, is an entry's: its sort key is an id.
fn entry_id(item: &Item) -> Option<EventId> {
    Fields(item).parsed::<SortKey>("sk").ok().map(SortKey::id)
}

/// The item of a user's seen mark.
pub(super) fn seen_mark(user: &User, id: EventId) -> Item {
    let mut item = keyed(Place::Table, SeenMarkKey { user: user.clone() }.encode());
    item.insert("id".to_owned(), text(id.to_string()));
    item
}

impl FeedHandle<'_> {
    /// All marks of a feed; those after one, if it is given.
    ///
    /// A user has at most some hundred marks: 1 MB of them is some thousand, and one query.
    pub(crate) async fn marks(self, after: Option<Item>, consistent: bool) -> Result<Marks, TableError> {
        let user = self.user;
        let last = SeenMarkKey { user: user.clone() }.encode();
        let mut marks = Marks::default();
        let mut start = after;
        loop {
            let answer = self
                .op
                .table
                .query(|query| {
                    query
                        .key_condition_expression("pk = :pk AND sk BETWEEN :first AND :last")
                        .expression_attribute_values(":pk", text(&*last.pk))
                        .expression_attribute_values(":first", text(PullMarkerKey::PREFIX))
                        .expression_attribute_values(":last", text(&*last.sk))
                        .set_exclusive_start_key(start.clone())
                        .consistent_read(consistent)
                })
                .await?;
            self.op.table.meter.items(answer.items().len());
            for item in answer.items() {
                marks.take(item)?;
            }
            start = answer.last_evaluated_key;
            if start.is_none() {
                return Ok(marks);
            }
        }
    }

    /// A feed from its start, in one query: its marks, and the first entries of a range that begins with the
    /// newest there can be. If the marks are more than was expected, they are read to their end, and the entries
    /// are not begun.
    pub(crate) async fn start(
        self,
        range: &EntryRange<'_>,
        wanted: u32,
    ) -> Result<(Marks, Option<FoundEntries>), TableError> {
        let user = self.user;
        let oldest = range.ids.oldest.sort_key();
        let expected = self.op.store.pulls_of().get(user).unwrap_or(0);
        // One more for the seen mark. Where there is none, one entry more says whether the feed goes on.
        let limit = wanted.saturating_add(expected).saturating_add(1);
        let answer = self
            .op
            .table
            .query(|query| {
                query
                    .key_condition_expression("pk = :pk AND sk <= :oldest")
                    .expression_attribute_values(":pk", text(FeedEntryKey::partition(user)))
                    .expression_attribute_values(":oldest", text(oldest.to_string()))
                    .limit(i32::try_from(limit).unwrap_or(i32::MAX))
                    .consistent_read(range.consistent)
            })
            .await?;
        self.op.table.meter.items(answer.items().len());
        let marked = answer.items().iter().take_while(|item| entry_id(item).is_none()).count();
        let (marks_read, entries) = answer.items().split_at(marked);
        let mut marks = Marks::default();
        for item in marks_read {
            marks.take(item)?;
        }
        let stopped = answer.last_evaluated_key();
        let found = match stopped.map(entry_id) {
            Some(None) => {
                let rest = self.marks(stopped.cloned(), range.consistent).await?;
                marks.pulls.extend(rest.pulls);
                marks.seen = marks.seen.or(rest.seen);
                None
            }
            stopped_at => Some(FoundEntries {
                entries: entries.iter().map(TimelineEntry::decode).collect::<Result<_, _>>()?,
                stopped_at: stopped_at.flatten(),
            }),
        };
        self.op.store.pulls_of().insert(user.clone(), u32::try_from(marks.pulls.len()).unwrap_or(u32::MAX));
        Ok((marks, found))
    }
}
