//! Cleanup: when a user no longer follows a source, the source's entries are removed from the user's feed.
//!
//! Cleanup first records the leaver, then walks through the feed. A process that read the followers before the user
//! unfollowed writes its entries first and reads the leavers then. So one of the two removes each entry, also after a crash.
//!
//! The user may follow again at any moment, and the backfill of that follow runs beside the cleanup. So after it
//! removed entries, the cleanup reads the follows again, and puts back the entries that they allow.
//!
//! The walk takes place even if the user follows the source again by now. An event that was deleted between the two
//! follows was removed only from the feeds of the followers at that time, so not from this user's feed.

use lately_items::limits::ENDING_MARK_SECONDS;
use lately_items::{
    BEFORE_ENTRIES, FeedEntryKey, FeedWalk, FollowerKey, LeaverKey, TimelineEntry, WalkPurpose,
};
use lately_keys::{EventId, Source, UnixMillis};
use lately_table::{Condition, Query, TableError};

use crate::fan_out::batch::FanOut;
use crate::fan_out::walk::WalkStep;
use crate::lane::LanePage;

impl FanOut<'_> {
    /// Begins to remove from a user's feed the entries of a source that the user no longer follows.
    pub(super) async fn cleanup(
        &self,
        key: &FollowerKey,
        id: EventId,
        at: UnixMillis,
    ) -> Result<(), TableError> {
        let FollowerKey { source, shard, user } = key;
        let leaver_key = LeaverKey { source: source.clone(), shard: *shard, at, user: user.clone() };
        self.op.table.put(&leaver_key.item(at.get() / 1000 + ENDING_MARK_SECONDS)).await?;
        self.op.user(&key.user).whole_follow(key).await?;
        self.feed(user).settle_marker(source).await?;
        let walk = FeedWalk { user: user.clone(), behind: None, purpose: WalkPurpose::Cleanup };
        self.begin_walk(key, id, at, walk, None).await
    }
}

impl WalkStep<'_> {
    /// Cleans up some entries. Returns the remaining walk.
    pub(super) async fn clean_some(self, walk: FeedWalk) -> Result<Option<FeedWalk>, TableError> {
        let found = self.read_feed(&walk).await?;
        self.fan_out.feed(&walk.user).withdraw(found.items).await?;
        Ok(found.stopped_at.map(|behind| FeedWalk { behind: Some(behind), ..walk }))
    }

    /// Reads a page of the feed, consistently, and returns the entries of the source.
    async fn read_feed(self, walk: &FeedWalk) -> Result<LanePage<TimelineEntry>, TableError> {
        let op = self.fan_out.op;
        let is_of_source = match self.source {
            Source::Actor(name) => Condition::equals("a", name.as_str()),
            Source::Subject(name) => Condition::equals("s", name.as_str()),
        };
        let least = walk.behind.map_or(BEFORE_ENTRIES.to_owned(), |behind| behind.sort_key().to_string());
        let query = Query::partition(FeedEntryKey::partition(&walk.user))
            .after(least)
            .filter(is_of_source)
            .limit(op.store.feeds().entries_per_query)
            .consistent(true);
        op.lane_page(&query, TimelineEntry::decode).await
    }
}
