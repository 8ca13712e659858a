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

use lately_items::event::{ACTOR, SUBJECT};
use lately_items::limits::ENDING_MARK_SECONDS;
use lately_items::{FeedEntryKey, FeedWalk, FollowerKey, JobKind, JobStep, LeaverKey, TimelineEntry};
use lately_keys::{EventId, Source, UnixMillis};
use lately_table::{Condition, Item, TableError};

use crate::fan_out::batch::FanOut;
use crate::lane::LanePage;
use crate::scan::rest_of;
use crate::work::{self, Next};

/// Begins to remove from a user's feed the entries of a source that the user no longer follows.
pub(crate) async fn begin(
    fan_out: FanOut<'_>,
    key: &FollowerKey,
    id: EventId,
    at: UnixMillis,
) -> Result<(), TableError> {
    let FollowerKey { source, shard, user } = key;
    let leaver_key = LeaverKey { source: source.clone(), shard: *shard, at, user: user.clone() };
    let leaver = Item::mark(&leaver_key, at.get() / 1000 + ENDING_MARK_SECONDS);
    fan_out.op.table.put(&leaver).await?;
    fan_out.op.user(user).whole_follow(key).await?;
    fan_out.settle_marker(user, source).await?;
    let walk = FeedWalk { user: user.clone(), behind: None, backfill: None };
    let first = JobStep::first(JobKind::Walk(walk.clone()), id, source.clone(), at).in_shard(*shard);
    let next = run(fan_out, &first, &walk).await?;
    work::put_after(fan_out.op, next).await
}

/// Cleans up some entries.
pub(super) async fn run(fan_out: FanOut<'_>, step: &JobStep, walk: &FeedWalk) -> Result<Next, TableError> {
    let (op, mut behind) = (fan_out.op, walk.behind);
    let is_of_source = match &step.key.job.source {
        Source::Actor(name) => Condition::equals(ACTOR, name.as_str()),
        Source::Subject(name) => Condition::equals(SUBJECT, name.as_str()),
    };
    for _ in 0..op.store.feeds.queries_per_step {
        let limit = op.store.feeds.entries_per_query;
        let query = rest_of(FeedEntryKey::partition(&walk.user), behind, limit).filter(is_of_source.clone());
        let found = LanePage::read(op, &query, TimelineEntry::decode).await?;
        fan_out.remove_unfollowed(&walk.user, found.items).await?;
        behind = found.stopped_at;
        if behind.is_none() {
            return Ok(Next::Done);
        }
    }
    let task = JobKind::Walk(FeedWalk { behind, ..walk.clone() });
    Ok(Next::Again(JobStep { task, ..step.next() }.encode()))
}
