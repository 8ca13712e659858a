//! The ids of events that are imported from a table of one of the designs. They are derived, not random.
//!
//! ```text
//!  60 bits  time      the key's time; below the millisecond bits of the hash, if the key has no more digits
//!   8 bits  shard     the shard of the time's slice, with the import's number of shards
//!   8 bits  order     the nanoseconds beyond the time's 4,096ths of a millisecond, if any; else of the hash
//!  46 bits  identity  bits of the hash
//!
//! hash: SHA-256 over the design's name, the partition key and the sort key, each as its length in 4 bytes,
//!       big-endian, and its text
//! ```
//!
//! An item gets the same id in every import, so it replaces itself. Items with the same time get the same shard, so the
//! bits after the shard decide their order, and events that are nanoseconds apart keep their order.
//!
//! Invariant: an id does not change as long as the number of shards does not. A repeated import of a table must
//! use the same number of shards as the first.

use std::time::Duration;

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use super::{PublishedError, WriteKey};
use lately_keys::{EventId, ShardCount, Tick, UnixMillis};

const IDENTITY_BITS: u32 = 46;
const RANGE: PublishedError = PublishedError::Range { until: "9999-12-30" };

/// The event's time in a key, as precise as the key is.
///
/// ```
/// use lately_keys::ShardCount;
/// use lately_designs::{KeyTime, ReverseTicks};
///
/// let at = "2010-05-28T00:00:00.123456789Z".parse()?;
/// let key = ReverseTicks::new("ada".parse()?, at)?.write_key();
/// let id = KeyTime::to_the_nanosecond(at)?.event_id("reverse-ticks", &key, ShardCount::ONE);
/// assert_eq!(id.at().to_string(), "2010-05-28T00:00:00.123Z");
/// assert_eq!(id, KeyTime::to_the_nanosecond(at)?.event_id("reverse-ticks", &key, ShardCount::ONE));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyTime {
    at: UnixMillis,
    within: Within,
}

/// The precision of a key below the millisecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Within {
    Nothing,
    Tick(Tick),
    /// The tick and the nanoseconds beyond it, of which a tick has at most 245.
    Nanosecond(Tick, u8),
}

impl KeyTime {
    /// The time of a key that contains the millisecond or less.
    ///
    /// # Errors
    /// [`PublishedError::Range`] before 1970.
    pub fn to_the_millisecond(at: Timestamp) -> Result<Self, PublishedError> {
        let at = UnixMillis::from_nanos(at.as_nanosecond()).map_err(|_| RANGE)?;
        Ok(Self { at, within: Within::Nothing })
    }

    /// The time of a key that contains the nanosecond, or hundreds of nanoseconds.
    ///
    /// # Errors
    /// [`PublishedError::Range`] before 1970.
    pub fn to_the_nanosecond(at: Timestamp) -> Result<Self, PublishedError> {
        let since_epoch = Duration::try_from(at.as_duration()).map_err(|_| RANGE)?;
        let tick = Tick::from_unix(since_epoch).map_err(|_| RANGE)?;
        // Each nanosecond adds 4,096 to the remainder of dividing a millisecond's million nanoseconds into 4,096ths.
        let remainder = since_epoch.subsec_nanos() % 1_000_000 * 4_096 % 1_000_000;
        let [beyond, ..] = (remainder / 4_096).to_le_bytes();
        Ok(Self { at: tick.at(), within: Within::Nanosecond(tick, beyond) })
    }

    /// The time of a key that contains a UUIDv7: its 60 time bits.
    pub fn of_uuid(id: EventId) -> Self {
        Self { at: id.at(), within: Within::Tick(id.tick()) }
    }

    /// The id of the event that a design stores under a key, for an import into buckets of `shards` shards.
    pub fn event_id(self, design: &str, key: &WriteKey, shards: ShardCount) -> EventId {
        let hash = [design, &key.pk.to_string(), &key.sk.to_string()].into_iter().fold(Sha256::new(), part);
        let hash: [u8; 16] = *hash.finalize().0.first_chunk().expect("SHA-256 has 32 bytes");
        let hash = u128::from_be_bytes(hash);
        let low = low_half(hash);
        let (tick, low) = match self.within {
            Within::Nothing => (EventId::import(self.at, 0.into(), hash).tick(), low),
            Within::Tick(tick) => (tick, low),
            Within::Nanosecond(tick, beyond) => {
                (tick, u64::from(beyond) << IDENTITY_BITS | low & ((1 << IDENTITY_BITS) - 1))
            }
        };
        EventId::new(tick, shards.shard_at(tick), low)
    }
}

fn part(hash: Sha256, part: &str) -> Sha256 {
    let length = u32::try_from(part.len()).expect("a key has at most 2,048 bytes");
    hash.chain_update(length.to_be_bytes()).chain_update(part)
}

#[expect(clippy::cast_possible_truncation, reason = "the low half is what is wanted")]
const fn low_half(hash: u128) -> u64 {
    hash as u64
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use lately_keys::Shard;

    use crate::KeyValue;

    fn key(pk: &str, sk: &str) -> WriteKey {
        WriteKey { pk: KeyValue::S(pk.to_owned()), sk: KeyValue::S(sk.to_owned()) }
    }

    fn noon() -> Timestamp {
        "2026-03-14T12:00:00.123Z".parse().unwrap()
    }

    fn after(nanos: i64) -> Timestamp {
        noon().checked_add(jiff::SignedDuration::from_nanos(nanos)).unwrap()
    }

    #[test]
    fn golden_bytes() {
        let four = ShardCount::new(4).unwrap();
        let id = |time: KeyTime| {
            time.event_id("sharded-day", &key("EVENTS#2026-03-14#SHARD1", "1#a"), four).to_string()
        };
        let uuid = "0190a4cd-d3e7-7222-9f99-fdb74feee752".parse().unwrap();
        assert_eq!(
            [
                id(KeyTime::to_the_millisecond(noon()).unwrap()),
                id(KeyTime::to_the_nanosecond(after(500_100)).unwrap()),
                id(KeyTime::of_uuid(uuid)),
            ],
            [
                "019cec37-b67b-79e4-8039-b95f1bc6808e",
                "019cec37-b67b-7800-8019-395f1bc6808e",
                "0190a4cd-d3e7-7222-80f9-b95f1bc6808e",
            ]
        );
    }

    #[test]
    fn the_parts_of_a_key_stay_apart() {
        let time = KeyTime::to_the_millisecond(noon()).unwrap();
        let id = |design, pk, sk| time.event_id(design, &key(pk, sk), ShardCount::ONE);
        let ids = [id("d", "ab", "c"), id("d", "a", "bc"), id("da", "b", "c"), id("d", "c", "ab")];
        assert_eq!(BTreeSet::from(ids).len(), 4);
    }

    #[test]
    fn nanoseconds_keep_their_order_for_any_shard_count() {
        for shards in [1, 4, 256] {
            let shards = ShardCount::new(shards).unwrap();
            let id = |nanos: i64| {
                let key = key("ada", &nanos.to_string());
                KeyTime::to_the_nanosecond(after(nanos)).unwrap().event_id("reverse-ticks", &key, shards)
            };
            let ids: Vec<_> = (0..10_000).chain(990_000..1_010_000).map(id).collect();
            assert!(ids.is_sorted() && ids.iter().collect::<BTreeSet<_>>().len() == 30_000);
        }
    }

    #[test]
    fn events_are_spread_evenly_over_the_shards() {
        let shards = ShardCount::new(8).unwrap();
        let shard = |n: i64| {
            let time = KeyTime::to_the_millisecond(after(n * 1_000_000)).unwrap();
            time.event_id("quarter-hour", &key("q", &n.to_string()), shards).shard()
        };
        let mut events = [0; 8];
        (0..8_000).for_each(|n| events[usize::from(shard(n).get())] += 1);
        assert!(events.iter().all(|events| (850..1_150).contains(events)), "{events:?}");
    }

    #[test]
    fn items_with_the_same_time_get_the_same_shard() {
        let time = KeyTime::to_the_nanosecond(noon()).unwrap();
        let shard = |user: u32| time.event_id("d", &key(&user.to_string(), "1"), ShardCount::MAX).shard();
        assert_eq!((0..100).map(shard).collect::<BTreeSet<Shard>>().len(), 1);
    }

    proptest! {
        #[test]
        fn an_id_has_the_time_of_its_key(nanos in 0..i64::MAX, sk in "[a-z0-9]{1,20}", id in crate::keys::tests::id()) {
            let at = Timestamp::from_nanosecond(nanos.into()).unwrap();
            let millis = UnixMillis::from_nanos(at.as_nanosecond()).unwrap();
            let of = |time: KeyTime| time.event_id("d", &key("p", &sk), ShardCount::ONE);
            prop_assert_eq!(of(KeyTime::to_the_millisecond(at).unwrap()).at(), millis);
            prop_assert_eq!(of(KeyTime::to_the_nanosecond(at).unwrap()).at(), millis);
            prop_assert_eq!(of(KeyTime::of_uuid(id)).tick(), id.tick());
        }
    }
}
