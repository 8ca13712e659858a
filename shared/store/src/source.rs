//! A source: the number of shards of its followers, and whether its events are pushed or pulled.
//!
//! ```text
//! SOURCE#{source} / #SOURCE
//!   shards N? (of followers; absent means 1)
//!   mode S? (absent: push; promoting; pull), promotion S (the id that marks the promotion's start),
//!   unpromoted NS? (the follower shards whose pull markers are not all written), pull_from S? (an id)
//! ```
//!
//! Three rules hold:
//! - A number of shards is durable before a follower is written to any of them, and only grows. So a reader that reads
//!   the item consistently, and then all its shards, finds every follower that was there when the item was read.
//! - A source goes from push through promoting to pull, and never back.
//! - Events with ids below `pull_from` are pushed and all others are pulled, whenever they are handled.

use std::collections::BTreeSet;

use lately_keys::table::SourceItemKey;
use lately_keys::{EventId, Shard, ShardCount, Source, TableKey, UnixMillis};
use lately_table::{Condition, Corrupt, Item, TableError, Update, Value};

use crate::limits::{FOLLOWER_SHARDS, PULL_OVERLAP_MILLIS};
use crate::op::Op;
use crate::pull_marker::PullMarker;
use crate::topic::shard_count;

/// A source as it is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StoredSource {
    pub(crate) shards: ShardCount,
    pub(crate) mode: PushMode,
}

/// The way in which a source's events reach feeds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum PushMode {
    /// Each event is copied into every follower's feed.
    #[default]
    Push,
    /// Events are still copied, while pull markers are being written.
    Promoting {
        /// The id that marks the promotion's start.
        promotion: EventId,
        /// The follower shards whose markers are not all written yet. Shards that were added since are not among them:
        /// a follower in such a shard found the source promoting, and has had a marker from the beginning.
        unpromoted: BTreeSet<Shard>,
    },
    /// Events from an id on are read from the source's timeline.
    Pull {
        /// The id that marks the promotion's start.
        promotion: EventId,
        /// The first id whose event is pulled.
        from: EventId,
    },
}

impl StoredSource {
    pub(crate) fn decode(item: &Item) -> Result<Self, Corrupt> {
        let shards = if item.has("shards") { shard_count(item, "shards")? } else { ShardCount::ONE };
        let promotion = || item.parsed("promotion");
        let mode = match item.optional_text("mode")? {
            None => PushMode::Push,
            Some(PROMOTING) => {
                PushMode::Promoting { promotion: promotion()?, unpromoted: item.numbers("unpromoted")? }
            }
            Some(PULL) => PushMode::Pull { promotion: promotion()?, from: item.parsed("pull_from")? },
            Some(_) => return Err(item.corrupt("mode")),
        };
        Ok(Self { shards, mode })
    }

    /// The marker in the feed of a user who has followed the source since a time; `None` while the source is pushed.
    ///
    /// An event from before the follow may land after it. It then belongs to the feed, unless it is so late that it is
    /// an import. So a marker begins that much before the follow, and the feed also shows the source's last minute
    /// before the follow, whatever number of older events the user asked for.
    pub(crate) fn marker(&self, source: &Source, since: UnixMillis) -> Option<PullMarker> {
        let promotion = match self.mode {
            PushMode::Push => return None,
            PushMode::Promoting { promotion, .. } | PushMode::Pull { promotion, .. } => promotion,
        };
        let followed = EventId::first_of(since.saturating_sub(PULL_OVERLAP_MILLIS));
        Some(PullMarker { source: source.clone(), since: followed.max(promotion) })
    }

    /// True if an event of the source is copied into feeds.
    pub(crate) fn pushes(&self, id: EventId) -> bool {
        match self.mode {
            PushMode::Push | PushMode::Promoting { .. } => true,
            PushMode::Pull { from, .. } => id < from,
        }
    }

    /// True if an event of the source may have been copied into the feeds of all its followers. Until the source was
    /// pulled, its events were pushed whatever their ids. If a writer's clock was ahead, such an id may be higher than
    /// the first pulled id.
    pub(crate) fn may_have_pushed(&self, id: EventId) -> bool {
        match self.mode {
            PushMode::Push | PushMode::Promoting { .. } => true,
            PushMode::Pull { from, .. } => {
                id < EventId::first_of(from.at().saturating_add(PULL_OVERLAP_MILLIS))
            }
        }
    }
}

/// One source and its followers, in one request.
#[derive(Clone, Copy, Debug)]
pub struct SourceHandle<'a> {
    pub(crate) op: &'a Op,
    pub(crate) source: &'a Source,
}

impl SourceHandle<'_> {
    fn key(self) -> SourceItemKey {
        SourceItemKey { source: self.source.clone() }
    }

    /// The source, read consistently. A source without an item is pushed, and has one shard of followers.
    pub(crate) async fn stored(self) -> Result<StoredSource, TableError> {
        let item = self.op.table.get(self.key().encode()).await?;
        Ok(item.as_ref().map(StoredSource::decode).transpose()?.unwrap_or_default())
    }

    /// Doubles a source's follower shards, unless there are already more than the number that was too low. Returns the
    /// number of shards afterwards.
    pub(crate) async fn double_followers(self, under: ShardCount) -> Result<ShardCount, TableError> {
        let doubled = under.doubled(FOLLOWER_SHARDS);
        if doubled == under {
            return Ok(under);
        }
        let update = Update::of(&self.key()).set("shards", doubled.get()).only_if(has_shards(under));
        match self.op.table.update(&update).await? {
            true => Ok(doubled),
            false => Ok(self.stored().await?.shards),
        }
    }

    /// Begins to promote a source, if it is still pushed and has this number of shards.
    pub(crate) async fn begin_promotion(
        self,
        shards: ShardCount,
        promotion: EventId,
    ) -> Result<bool, TableError> {
        let update = Update::of(&self.key())
            .set("mode", PROMOTING)
            .set("promotion", promotion.to_string())
            .set("unpromoted", Value::numbers(shards.shards()))
            .only_if(Condition::absent("mode").and(has_shards(shards)));
        self.op.table.update(&update).await
    }

    /// Notes that the markers of all followers in a shard are written.
    pub(crate) async fn promote_shard(self, shard: Shard, promotion: EventId) -> Result<(), TableError> {
        let update = Update::of(&self.key())
            .take("unpromoted", Value::numbers([shard]))
            .only_if(is_promotion(promotion));
        self.op.table.update(&update).await.map(drop)
    }

    /// Ends a promotion whose markers are all written: events from an id on are pulled.
    pub(crate) async fn end_promotion(self, promotion: EventId, from: EventId) -> Result<(), TableError> {
        let update = Update::of(&self.key())
            .set("mode", PULL)
            .set("pull_from", from.to_string())
            .only_if(is_promotion(promotion).and(Condition::absent("unpromoted")));
        self.op.table.update(&update).await.map(drop)
    }
}

const PROMOTING: &str = "promoting";
const PULL: &str = "pull";

/// The condition that a promotion is under way.
fn is_promotion(promotion: EventId) -> Condition {
    Condition::equals("mode", PROMOTING).and(Condition::equals("promotion", promotion.to_string()))
}

/// The condition that a source has this number of shards.
fn has_shards(shards: ShardCount) -> Condition {
    let is_stored = Condition::equals("shards", shards.get());
    if shards == ShardCount::ONE { is_stored.or(Condition::absent("shards")) } else { is_stored }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROMOTION: &str = "019cec36-3ac0-7000-8000-000000000000";
    const FROM: &str = "019cec36-3ea8-7000-8000-000000000000";

    fn promoting() -> Item {
        Item::from([("mode", "promoting"), ("promotion", PROMOTION)])
    }

    fn pulled() -> StoredSource {
        let item = Item::from([("mode", "pull"), ("promotion", PROMOTION), ("pull_from", FROM)]);
        StoredSource::decode(&item).unwrap()
    }

    #[test]
    fn each_mode_is_decoded() {
        assert_eq!(StoredSource::decode(&Item::new()), Ok(StoredSource::default()));
        let shards = ShardCount::new(8).unwrap();
        let pushed = StoredSource { shards, mode: PushMode::Push };
        assert_eq!(StoredSource::decode(&Item::new().with("shards", 8_u64)), Ok(pushed));
        let (promotion, from) = (PROMOTION.parse().unwrap(), FROM.parse().unwrap());
        let unpromoted = [0, 7].map(Shard::from).into();
        let stored = StoredSource::decode(&promoting().with("unpromoted", Value::numbers([7, 0]))).unwrap();
        assert_eq!(stored.mode, PushMode::Promoting { promotion, unpromoted });
        assert_eq!(pulled().mode, PushMode::Pull { promotion, from });
    }

    #[test]
    fn an_item_with_a_wrong_or_missing_attribute_is_corrupt() {
        for item in [
            promoting().with("unpromoted", Value::numbers([256])),
            Item::from([("mode", "promoting")]),
            Item::from([("mode", "pull"), ("promotion", PROMOTION)]),
            Item::from([("mode", "neither")]),
            Item::new().with("shards", 3_u64),
        ] {
            StoredSource::decode(&item).unwrap_err();
        }
    }

    #[test]
    fn an_event_is_pushed_or_pulled_by_its_id() {
        let from: EventId = FROM.parse().unwrap();
        let before = from.just_before().unwrap();
        assert!(pulled().pushes(before) && !pulled().pushes(from));
        assert!(StoredSource::default().pushes(from));
        let after = |millis| EventId::first_of(from.at().saturating_add(millis));
        assert!(pulled().may_have_pushed(after(64_999)) && !pulled().may_have_pushed(after(65_000)));
    }

    #[test]
    fn a_marker_begins_at_the_promotion_or_shortly_before_the_follow() {
        let source: Source = "actor:ada".parse().unwrap();
        let promotion: EventId = PROMOTION.parse().unwrap();
        let since = |followed: u64| {
            let followed = UnixMillis::new(followed).unwrap();
            pulled().marker(&source, followed).unwrap().since
        };
        let promoted_at = promotion.at().get();
        assert_eq!(since(promoted_at), promotion);
        assert_eq!(since(promoted_at + 65_000), promotion);
        assert_eq!(since(promoted_at + 65_001).at().get(), promoted_at + 1);
        assert_eq!(StoredSource::default().marker(&source, UnixMillis::MIN), None);
    }
}
