//! The marks in a feed's partition, which come before the entries: the sources that the feed pulls, and how far the
//! user has seen the feed.
//!
//! ```text
//! FEED#{user} / #PULL#{source}    since S         see pull_marker.rs
//! FEED#{user} / #SEEN             id S            see seen.rs
//! ```

use lately_keys::table::{FeedEntryKey, PullMarkerKey, SeenMarkKey};
use lately_keys::{EventId, SortKey, Source, TableKey, User};
use lately_table::{Corrupt, Item, Query, TableError};

use crate::entry::TimelineEntry;
use crate::feed::FeedHandle;
use crate::lane::{LanePage, LaneRange};
use crate::pull_marker::PullMarker;

/// The marks of a feed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    pub(crate) pulls: Vec<PullMarker>,
    /// The newest event that the user has seen.
    pub(crate) seen: Option<EventId>,
}

impl Marks {
    /// True if the feed pulls an event that a source lists.
    pub(super) fn pull(&self, source: &Source, id: EventId) -> bool {
        self.pulls.iter().any(|pull| pull.source == *source && pull.since <= id)
    }

    fn decode(items: &[Item]) -> Result<Self, Corrupt> {
        let mut marks = Self::default();
        for item in items {
            if SeenMarkKey::decode(item.text("pk")?, item.text("sk")?).is_some() {
                marks.seen = Some(item.parsed("id")?);
            } else {
                marks.pulls.push(PullMarker::decode(item)?);
            }
        }
        Ok(marks)
    }
}

/// The id of an item, or of a key, if it is an entry's. The sort key of an entry is an id.
fn entry_id(item: &Item) -> Option<EventId> {
    item.parsed::<SortKey>("sk").ok().map(SortKey::id)
}

/// The item of a user's seen mark.
pub(super) fn seen_mark(user: &User, id: EventId) -> Item {
    Item::at(&SeenMarkKey { user: user.clone() }).with("id", id.to_string())
}

impl FeedHandle<'_> {
    /// All marks of a feed. With `after`, only those after this key.
    ///
    /// A user has at most some hundred marks. One query reads 1 MB, which is some thousand marks.
    pub(crate) async fn marks(self, after: Option<Item>, consistent: bool) -> Result<Marks, TableError> {
        let last = SeenMarkKey { user: self.user.clone() }.encode();
        let query = Query::partition(last.pk)
            .between(PullMarkerKey::PREFIX, last.sk)
            .start(after)
            .consistent(consistent);
        let items = self.op.table.query_all(query).await?;
        self.op.table.meter().items(items.len());
        Ok(Marks::decode(&items)?)
    }

    /// The start of a feed, with one query: its marks, and the first entries of a range that begins with the newest
    /// possible entry. If there are more marks than expected, further queries read the other marks, and no entries are
    /// returned.
    pub(crate) async fn start(
        self,
        range: &LaneRange<'_>,
        wanted: u32,
    ) -> Result<(Marks, Option<LanePage<TimelineEntry>>), TableError> {
        let user = self.user;
        let expected = self.op.memory().pulls.get(user).unwrap_or(0);
        // One more item, for the seen mark. Without such a mark, one more entry says whether the feed continues.
        let limit = wanted.saturating_add(expected).saturating_add(1);
        let query = Query::partition(FeedEntryKey::partition(user))
            .up_to(range.ids.oldest.sort_key().to_string())
            .limit(limit)
            .consistent(range.consistent);
        let page = self.op.table.query(&query).await?;
        self.op.table.meter().items(page.items.len());
        let marked = page.items.iter().take_while(|item| entry_id(item).is_none()).count();
        let (marks_read, entries) = page.items.split_at(marked);
        let mut marks = Marks::decode(marks_read)?;
        let found = match page.next.as_ref().map(entry_id) {
            Some(None) => {
                let rest = self.marks(page.next, range.consistent).await?;
                marks.pulls.extend(rest.pulls);
                marks.seen = marks.seen.or(rest.seen);
                None
            }
            stopped_at => Some(LanePage::of(entries, stopped_at.flatten(), TimelineEntry::decode)?),
        };
        self.op.memory().pulls.insert(user.clone(), u32::try_from(marks.pulls.len()).unwrap_or(u32::MAX));
        Ok((marks, found))
    }
}
