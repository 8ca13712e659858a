//! Cleanup: when a user no longer follows a source, the source's entries leave the user's feed.
//!
//! Cleanup first records the leaver, then walks through the feed. A process that read the followers before the user left
//! writes its entries first and reads the leavers then. So one of the two removes each entry, also after a crash.
//!
//! The user may follow again at any moment, and the backfill of that follow runs beside the cleanup. So after it removed
//! entries, the cleanup reads the follows again, and puts back the entries that they allow.
//!
//! The walk takes place even if the user follows the source again by now. An event that was deleted between the two
//! follows was removed from the feeds of the followers of that moment, and the user was none of them.

use lately_keys::table::{FeedEntryKey, FollowerKey, LeaverKey};
use lately_keys::{EventId, SortKey, Source, UnixMillis, User};

use crate::entry::TimelineEntry;
use crate::error::TableError;
use crate::fan_out::FanOut;
use crate::fan_out::walk::{FeedWalk, Purpose, WalkStep};
use crate::follow::leaver;
use crate::item::{Fields, text};

/// What sorts before every entry of a feed, and behind its marks.
const BEFORE_ENTRIES: &str = "$";

impl FanOut<'_> {
    /// Begins to take out of a feed the entries that only a source brought there that is no longer followed.
    pub(super) async fn cleanup(
        &self,
        key: &FollowerKey,
        id: EventId,
        at: UnixMillis,
    ) -> Result<(), TableError> {
        let FollowerKey { source, shard, user } = key;
        let left = LeaverKey { source: source.clone(), shard: *shard, at, user: user.clone() };
        self.op.table.put_item(&leaver(&left)).await?;
        self.op.user(&key.user).whole_follow(key).await?;
        self.feed(user).settle_marker(source).await?;
        let walk = FeedWalk { user: user.clone(), behind: None, purpose: Purpose::Cleanup };
        self.begin_walk(key, id, at, walk).await
    }
}

impl WalkStep<'_> {
    /// Cleans up some entries; the walk that is left.
    pub(super) async fn clean_some(self, walk: FeedWalk) -> Result<Option<FeedWalk>, TableError> {
        let (entries, behind) = self.read_feed(&walk.user, walk.behind).await?;
        self.fan_out.feed(&walk.user).withdraw(entries).await?;
        Ok(behind.map(|behind| FeedWalk { behind: Some(behind), ..walk }))
    }

    /// The entries that a source lists on a page of a feed, read consistently, and the last entry that was looked at if
    /// there may be more.
    async fn read_feed(
        self,
        user: &User,
        behind: Option<EventId>,
    ) -> Result<(Vec<TimelineEntry>, Option<EventId>), TableError> {
        let op = self.fan_out.op;
        let (filter, name) = match self.source {
            Source::Actor(name) => ("a = :name", name.as_str()),
            Source::Subject(name) => ("s = :name", name.as_str()),
        };
        let least = behind.map_or(BEFORE_ENTRIES.to_owned(), |behind| behind.sort_key().to_string());
        let answer = op
            .table
            .query(|query| {
                query
                    .key_condition_expression("pk = :pk AND sk > :least")
                    .filter_expression(filter)
                    .expression_attribute_values(":pk", text(FeedEntryKey::partition(user)))
                    .expression_attribute_values(":least", text(least.as_str()))
                    .expression_attribute_values(":name", text(name))
                    .limit(i32::try_from(op.store.feeds().entries_per_query).unwrap_or(i32::MAX))
                    .consistent_read(true)
            })
            .await?;
        op.table.meter.items(usize::try_from(answer.scanned_count()).unwrap_or(0));
        let entries = answer.items().iter().map(TimelineEntry::decode).collect::<Result<_, _>>()?;
        let stopped_at = answer.last_evaluated_key().map(|key| Fields(key).parsed::<SortKey>("sk"));
        Ok((entries, stopped_at.transpose()?.map(SortKey::id)))
    }
}
