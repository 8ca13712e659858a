//! Reads the start of a feed: its marks, and the first of its entries.

use futures_util::future::try_join;
use lately_items::{FeedEntryKey, FeedMarks, PullMarkerKey, SeenMarkKey, TimelineEntry};
use lately_keys::{EventId, Order, SortKey, TableKey, UnixMillis, User};
use lately_table::{Item, Query, TableError};

use crate::handle::FeedHandle;
use crate::lane::{LanePage, LaneRange};
use crate::latest::round::WaveReader;
use crate::latest::span::IdRange;
use crate::latest::wave::{LaneAnswer, Wave};
use crate::limits::EXPECTED_EVENT_BYTES;
use crate::timeline::reading::{OWN_LANE, TimelineReading};

impl TimelineReading<'_> {
    /// Reads the marks of a feed, and as many of its own entries as one query returns. Then the wave knows all of its
    /// lanes.
    pub(super) async fn begin_feed(
        &mut self,
        user: &User,
        wave: &mut Wave<TimelineEntry>,
        ids: IdRange,
        wanted: usize,
    ) -> Result<FeedMarks, TableError> {
        self.op.table.meter().round();
        let begins = self.order == Order::NewestFirst && ids.newest == EventId::last_of(UnixMillis::MAX);
        let asks = wave.asks(wanted, EXPECTED_EVENT_BYTES);
        let ask = *asks.first().expect("a page asks its only lane for entries");
        let own = wave.lane(OWN_LANE);
        let (marks, answer) = if begins {
            let range = self.range(&own.partition, ask.ids);
            let (marks, found) = self.op.feed(user).start(&range, ask.limit).await?;
            (marks, found.map(|found| LaneAnswer { ask, found, coverage: None }))
        } else {
            let marks = self.op.feed(user).marks(None, self.consistent);
            let (marks, answer) = try_join(marks, self.query(ask, own)).await?;
            (marks, Some(answer))
        };
        if let Some(answer) = answer {
            self.absorb(wave, vec![answer]);
        }
        self.push_pulls(wave, &marks.pulls, ids);
        Ok(marks)
    }
}

impl FeedHandle<'_> {
    /// All marks of a feed. With `after`, only those after this key.
    ///
    /// A user has at most some hundred marks. One query reads 1 MB, which is some thousand marks.
    pub(crate) async fn marks(self, after: Option<Item>, consistent: bool) -> Result<FeedMarks, TableError> {
        let last = SeenMarkKey { user: self.user.clone() }.encode();
        let query = Query::partition(last.pk)
            .between(PullMarkerKey::PREFIX, last.sk)
            .start(after)
            .consistent(consistent);
        let items = self.op.table.query_all(query).await?;
        self.op.table.meter().items(items.len());
        Ok(FeedMarks::decode(&items)?)
    }

    /// The start of a feed, with one query: its marks, and the first entries of a range that begins with the newest
    /// possible entry. If there are more marks than expected, further queries read the other marks, and no entries are
    /// returned.
    pub(crate) async fn start(
        self,
        range: &LaneRange<'_>,
        wanted: u32,
    ) -> Result<(FeedMarks, Option<LanePage<TimelineEntry>>), TableError> {
        let user = self.user;
        let expected = self.op.memory().pulls.get(user).unwrap_or(0);
        // One more item, for the seen mark. Without such a mark, one more entry says whether the feed continues.
        let limit = wanted.saturating_add(expected).saturating_add(1);
        let query = Query::partition(FeedEntryKey::partition(user))
            .up_to(range.ids.oldest.sort_key().to_string())
            .limit(limit)
            .consistent(range.consistent);
        let page = self.op.table.query_items(&query).await?;
        let marked = page.items.iter().take_while(|item| entry_id(item).is_none()).count();
        let (marks_read, entries) = page.items.split_at(marked);
        let mut marks = FeedMarks::decode(marks_read)?;
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

/// The id of an item, or of a key, if it is an entry's. The sort key of an entry is an id.
fn entry_id(item: &Item) -> Option<EventId> {
    item.get::<SortKey>("sk").ok().map(SortKey::id)
}
