//! A source's timeline, and the item that says how feeds read the source.
//!
//! ```text
//! table   pk  SOURCE#{source}             sk  {inverted id}    an entry of its timeline: see timeline_entry.rs
//!                                         sk  #SOURCE          its spreads, its mode and its follower shards
//!   spreads S? (of its timeline, see `Coverage`; absent means that all entries are in the first shard)
//!   shards N? (of followers; absent means 1)
//!   mode S? (absent: push; promoting; pull), promotion S (the id that marks the promotion's start),
//!   unpromoted NS? (the follower shards whose pull markers are not all written), pull_from S? (an id)
//!   expires_at N? (after an erasure of the actor, until the item changes or the source has a follower outside the first shard)
//!         pk  SOURCE#{source}#SHARD{n}    sk  {inverted id}    an entry of a busy time, n from 1
//! ```
//!
//! `#` sorts before every digit, so the item comes before the entries of the first shard. One query reads both.

use std::collections::BTreeSet;
use std::sync::Arc;

use lately_keys::{Coverage, EventId, Key, Place, Shard, ShardCount, Source, TableKey, UnixMillis};
use lately_model::limits::{FUTURE_SECONDS, IMPORT_SECONDS};

use crate::directory::spread;
use crate::feed::PullMarker;
use crate::form::{Form, NewestFirst};
use crate::item::{Corrupt, Item};
use crate::key::{exact, key};

/// An event in the timeline of one of its sources.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceEntryKey {
    /// The source.
    pub source: Source,
    /// The shard of the timeline.
    pub shard: Shard,
    /// The event.
    pub id: EventId,
}

impl SourceEntryKey {
    /// The partition of a shard. The first shard's partition also holds the source's item.
    pub fn partition(source: &Source, shard: Shard) -> String {
        match shard.get() {
            0 => format!("SOURCE#{source}"),
            shard => format!("SOURCE#{source}#SHARD{shard}"),
        }
    }
}

impl TableKey for SourceEntryKey {
    const PLACE: Place = Place::Table;

    fn encode(&self) -> Key {
        Key { pk: Self::partition(&self.source, self.shard), sk: self.id.sort_key().to_string() }
    }

    fn decode(pk: &str, sk: &str) -> Option<Self> {
        let text = pk.strip_prefix("SOURCE#")?;
        let (source, shard) = text.split_once("#SHARD").unwrap_or((text, "0"));
        let (source, shard) = (source.parse().ok()?, shard.parse().ok()?);
        exact(Self { source, shard, id: NewestFirst::read(sk)? }, pk, sk)
    }
}

key! {
    /// The item of a source: the spreads of its timeline, its mode (push or pull) and the number of shards of its
    /// followers.
    pub struct SourceItemKey {
        /// The source.
        pub source: Source,
    }
    Table: pk "SOURCE#{source}" sk "#SOURCE"
}

/// A pull marker begins this long before its follow: the longest delay of an event that is not an import, plus the
/// largest difference between two clocks.
const PULL_OVERLAP_MILLIS: u64 = (IMPORT_SECONDS + FUTURE_SECONDS) * 1000;

/// A source as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSource {
    /// The shards of the timeline.
    pub coverage: Arc<Coverage>,
    /// The shards of the followers.
    pub shards: ShardCount,
    /// The way in which its events reach feeds.
    pub mode: PushMode,
}

impl Default for StoredSource {
    fn default() -> Self {
        Self { coverage: Arc::new(Coverage::of_source()), shards: ShardCount::ONE, mode: PushMode::Push }
    }
}

/// The way in which a source's events reach feeds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PushMode {
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

impl PushMode {
    /// The stored word of [`PushMode::Promoting`].
    pub const PROMOTING: &str = "promoting";
    /// The stored word of [`PushMode::Pull`].
    pub const PULL: &str = "pull";
}

impl StoredSource {
    /// The attribute of the number of follower shards.
    pub const SHARDS: &str = "shards";
    /// The attribute of the mode.
    pub const MODE: &str = "mode";
    /// The attribute of the id that marks the promotion's start.
    pub const PROMOTION: &str = "promotion";
    /// The attribute of the follower shards whose pull markers are not all written.
    pub const UNPROMOTED: &str = "unpromoted";
    /// The attribute of the first id whose event is pulled.
    pub const PULL_FROM: &str = "pull_from";

    /// The source of an item.
    pub fn decode(item: &Item) -> Result<Self, Corrupt> {
        let promotion = || item.get(Self::PROMOTION);
        let mode = match item.optional::<String>(Self::MODE)?.as_deref() {
            None => PushMode::Push,
            Some(PushMode::PROMOTING) => PushMode::Promoting {
                promotion: promotion()?,
                unpromoted: item.optional(Self::UNPROMOTED)?.unwrap_or_default(),
            },
            Some(PushMode::PULL) => {
                PushMode::Pull { promotion: promotion()?, from: item.get(Self::PULL_FROM)? }
            }
            Some(_) => return Err(item.corrupt(Self::MODE)),
        };
        let shards = item.optional(Self::SHARDS)?.unwrap_or_default();
        Ok(Self { coverage: Arc::new(Self::coverage_of(item)?), shards, mode })
    }

    /// The coverage of the timeline, in the source's item.
    pub fn coverage_of(item: &Item) -> Result<Coverage, Corrupt> {
        spread(Coverage::of_source(), item)
    }

    /// The marker in the feed of a user who has followed the source since a time; `None` while the source is pushed.
    ///
    /// An event from before the follow may land after it. It then belongs to the feed, unless it is so late that it is
    /// an import. So a marker begins that much before the follow, and the feed also shows the source's last minute
    /// before the follow, whatever number of older events the user asked for.
    pub fn marker(&self, source: &Source, since: UnixMillis) -> Option<PullMarker> {
        let promotion = match self.mode {
            PushMode::Push => return None,
            PushMode::Promoting { promotion, .. } | PushMode::Pull { promotion, .. } => promotion,
        };
        let followed = EventId::first_of(since.saturating_sub(PULL_OVERLAP_MILLIS));
        Some(PullMarker { source: source.clone(), since: followed.max(promotion) })
    }

    /// True if an event of the source is copied into feeds.
    pub fn pushes(&self, id: EventId) -> bool {
        match self.mode {
            PushMode::Push | PushMode::Promoting { .. } => true,
            PushMode::Pull { from, .. } => id < from,
        }
    }

    /// True if an event of the source may have been copied into the feeds of all its followers. Until the source was
    /// pulled, its events were pushed whatever their ids. If a writer's clock was ahead, such an id may be higher than
    /// the first pulled id.
    pub fn may_have_pushed(&self, id: EventId) -> bool {
        match self.mode {
            PushMode::Push | PushMode::Promoting { .. } => true,
            PushMode::Pull { from, .. } => {
                id < EventId::first_of(from.at().saturating_add(PULL_OVERLAP_MILLIS))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribute::Value;

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
        let pushed = StoredSource { shards, ..StoredSource::default() };
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
            Item::from([("spreads", "5-4:2")]),
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
