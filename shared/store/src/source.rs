//! A source: over how many shards its followers are spread, and whether its events are pushed or pulled.
//!
//! ```text
//! SOURCE#{source} / #SOURCE
//!   shards N? (of followers; absent means 1)
//!   mode S? (absent: push; promoting; pull), promotion S (the id that marks its start),
//!   unpromoted NS? (the follower shards whose pull markers are not all written), pull_from S? (an id)
//! ```
//!
//! What must hold:
//! - A count of shards is durable before any follower is written to one of them, and only grows. So who reads
//!   the item consistently, and then all of its shards, finds every follower that was there when it was read.
//! - A source goes from push through promoting to pull, and never back.
//! - Events with ids below `pull_from` are pushed, all others are pulled, whenever they are handled.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnConsumedCapacity};
use lately_keys::table::SourceItemKey;
use lately_keys::{EventId, Place, Shard, ShardCount, Source, TableKey, UnixMillis};

use crate::error::TableError;
use crate::item::{Corrupt, Fields, Item, keyed, number, text};
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

/// How a source's events come into feeds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum PushMode {
    /// They are copied into each of them.
    #[default]
    Push,
    /// They are still copied, while pull markers are being written.
    Promoting {
        /// The id that marks its start.
        promotion: EventId,
        /// The follower shards whose markers are not all written yet. Shards that were added since are not among
        /// them: who follows there finds the source promoting, and has a marker from the beginning.
        unpromoted: BTreeSet<Shard>,
    },
    /// Those from this id on are read from the source's timeline.
    Pull {
        /// The id that marks the promotion's start.
        promotion: EventId,
        /// The first of them.
        from: EventId,
    },
}

impl StoredSource {
    pub(crate) fn decode(item: &Item) -> Result<Self, Corrupt> {
        let fields = Fields(item);
        let shards =
            if item.contains_key("shards") { shard_count(fields, "shards")? } else { ShardCount::ONE };
        let promotion = || fields.parsed("promotion");
        let mode = match fields.optional_text("mode")? {
            None => PushMode::Push,
            Some(PROMOTING) => {
                PushMode::Promoting { promotion: promotion()?, unpromoted: unpromoted(fields)? }
            }
            Some(PULL) => PushMode::Pull { promotion: promotion()?, from: fields.parsed("pull_from")? },
            Some(_) => return Err(fields.corrupt("mode")),
        };
        Ok(Self { shards, mode })
    }

    /// The marker in the feed of who follows since then; none while the source is pushed.
    ///
    /// An event from before the follow may land after it, and then belongs to the feed, until it is so late that
    /// it is an import. So a marker begins that much before the follow, and the feed shows the source's last
    /// minute before it too, whatever number of older events was asked for.
    pub(crate) fn marker(&self, source: &Source, since: UnixMillis) -> Option<PullMarker> {
        let promotion = match self.mode {
            PushMode::Push => return None,
            PushMode::Promoting { promotion, .. } | PushMode::Pull { promotion, .. } => promotion,
        };
        let followed = EventId::first_of(since.saturating_sub(PULL_OVERLAP_MILLIS));
        Some(PullMarker { source: source.clone(), since: followed.max(promotion) })
    }

    /// Whether an event of the source is copied into feeds.
    pub(crate) fn pushes(&self, id: EventId) -> bool {
        match self.mode {
            PushMode::Push | PushMode::Promoting { .. } => true,
            PushMode::Pull { from, .. } => id < from,
        }
    }

    /// Whether an event of the source may have been copied into the feeds of all its followers. Until it was pulled, it was
    /// pushed whatever the id: by a clock that is ahead, an id may lie behind the first that is pulled.
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
    /// A source, read consistently; one that nobody wrote yet is pushed to one shard of followers.
    pub(crate) async fn stored(self) -> Result<StoredSource, TableError> {
        let source = self.source;
        let item = self.op.table.get_item(source_key(source)).await?;
        Ok(item.as_ref().map(StoredSource::decode).transpose()?.unwrap_or_default())
    }

    /// Doubles a source's follower shards, unless there are more already than those that were too few; how many
    /// there are then.
    pub(crate) async fn double_followers(self, under: ShardCount) -> Result<ShardCount, TableError> {
        let doubled = under.doubled(FOLLOWER_SHARDS);
        if doubled == under {
            return Ok(under);
        }
        let update = self
            .update()
            .update_expression("SET shards = :doubled")
            .condition_expression(has_shards(under))
            .expression_attribute_values(":doubled", number(doubled.get()))
            .expression_attribute_values(":shards", number(under.get()));
        match self.try_update(update).await? {
            Some(_) => Ok(doubled),
            None => Ok(self.stored().await?.shards),
        }
    }

    /// Begins to promote a source, if it is still pushed to so many shards.
    pub(crate) async fn begin_promotion(
        self,
        shards: ShardCount,
        promotion: EventId,
    ) -> Result<bool, TableError> {
        let all = shards.shards().map(|shard| shard.to_string()).collect();
        let update = self
            .update()
            .update_expression("SET #mode = :promoting, promotion = :promotion, unpromoted = :all")
            .condition_expression(format!("attribute_not_exists(#mode) AND {}", has_shards(shards)))
            .expression_attribute_names("#mode", "mode")
            .expression_attribute_values(":promoting", text(PROMOTING))
            .expression_attribute_values(":promotion", text(promotion.to_string()))
            .expression_attribute_values(":all", AttributeValue::Ns(all))
            .expression_attribute_values(":shards", number(shards.get()));
        Ok(self.try_update(update).await?.is_some())
    }

    /// Notes that the markers of all followers in a shard are written.
    pub(crate) async fn promote_shard(self, shard: Shard, promotion: EventId) -> Result<(), TableError> {
        let update = self
            .update()
            .update_expression("DELETE unpromoted :shard")
            .condition_expression(IS_PROMOTION)
            .expression_attribute_names("#mode", "mode")
            .expression_attribute_values(":promoting", text(PROMOTING))
            .expression_attribute_values(":promotion", text(promotion.to_string()))
            .expression_attribute_values(":shard", AttributeValue::Ns(vec![shard.to_string()]));
        self.try_update(update).await?;
        Ok(())
    }

    /// Ends a promotion whose markers are all written: events from an id on are pulled.
    pub(crate) async fn end_promotion(self, promotion: EventId, from: EventId) -> Result<(), TableError> {
        let update = self
            .update()
            .update_expression("SET #mode = :pull, pull_from = :from")
            .condition_expression(format!("{IS_PROMOTION} AND attribute_not_exists(unpromoted)"))
            .expression_attribute_names("#mode", "mode")
            .expression_attribute_values(":promoting", text(PROMOTING))
            .expression_attribute_values(":promotion", text(promotion.to_string()))
            .expression_attribute_values(":pull", text(PULL))
            .expression_attribute_values(":from", text(from.to_string()));
        self.try_update(update).await?;
        Ok(())
    }

    fn update(self) -> UpdateItemFluentBuilder {
        let source = self.source;
        self.op
            .table
            .client
            .update_item()
            .table_name(&*self.op.table.name)
            .set_key(Some(source_key(source)))
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
    }

    /// Makes an update that may be made twice; `None` if its condition did not hold.
    async fn try_update(self, update: UpdateItemFluentBuilder) -> Result<Option<()>, TableError> {
        let answer = self.op.table.call_if(|| update.clone().send()).await?;
        Ok(answer.map(|answer| self.op.table.meter.write(answer.consumed_capacity())))
    }
}

const PROMOTING: &str = "promoting";
const PULL: &str = "pull";
const IS_PROMOTION: &str = "#mode = :promoting AND promotion = :promotion";

/// The condition that a source has as many shards as `:shards`.
fn has_shards(shards: ShardCount) -> &'static str {
    if shards == ShardCount::ONE {
        "(attribute_not_exists(shards) OR shards = :shards)"
    } else {
        "shards = :shards"
    }
}

fn source_key(source: &Source) -> Item {
    keyed(Place::Table, SourceItemKey { source: source.clone() }.encode())
}

fn unpromoted(fields: Fields<'_>) -> Result<BTreeSet<Shard>, Corrupt> {
    let shards = fields.numbers("unpromoted")?.unwrap_or_default().iter().map(|shard| shard.parse());
    shards.collect::<Result<_, _>>().map_err(|_| fields.corrupt("unpromoted"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROMOTION: &str = "019cec36-3ac0-7000-8000-000000000000";
    const FROM: &str = "019cec36-3ea8-7000-8000-000000000000";

    fn stored(attributes: &[(&str, AttributeValue)]) -> Result<StoredSource, Corrupt> {
        StoredSource::decode(
            &attributes.iter().cloned().map(|(name, value)| (name.to_owned(), value)).collect(),
        )
    }

    fn pulled() -> StoredSource {
        let mode = [("mode", text("pull")), ("promotion", text(PROMOTION)), ("pull_from", text(FROM))];
        stored(&mode).unwrap()
    }

    #[test]
    fn each_mode_is_read_and_what_is_none_is_corrupt() {
        assert_eq!(stored(&[]), Ok(StoredSource::default()));
        assert_eq!(stored(&[("shards", number(8_u64))]).unwrap().shards.get(), 8);
        let promoting = |shards: &[&str]| {
            let shards = AttributeValue::Ns(shards.iter().copied().map(str::to_owned).collect());
            stored(&[("mode", text("promoting")), ("promotion", text(PROMOTION)), ("unpromoted", shards)])
        };
        let unpromoted = [0, 7].map(Shard::from).into();
        let mode = PushMode::Promoting { promotion: PROMOTION.parse().unwrap(), unpromoted };
        assert_eq!(promoting(&["7", "0"]).unwrap().mode, mode);
        assert!(promoting(&["256"]).is_err());
        assert!(stored(&[("mode", text("promoting"))]).is_err());
        assert!(stored(&[("mode", text("pull")), ("promotion", text(PROMOTION))]).is_err());
        assert!(stored(&[("mode", text("neither"))]).is_err());
        assert!(stored(&[("shards", number(3_u64))]).is_err());
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
    fn a_marker_begins_with_the_promotion_or_a_little_before_the_follow() {
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
