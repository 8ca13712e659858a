//! Event ids: UUIDv7s that contain everything needed to find the event.
//!
//! ```text
//!  48 bits  unix milliseconds                        ┐ 60 time bits: a `Tick`
//!   4 bits  version 7                                │ (the version stands between them)
//!  12 bits  fraction of the millisecond (method 3)   ┘
//!   2 bits  variant
//!   8 bits  shard number                               rand_b, first
//!  54 bits  random                                     rand_b, rest
//! ```
//!
//! The time in an id names the bucket, and the shard in it names the partition. So an event can be fetched, deleted and
//! written again without an index and without knowing how many shards its bucket had. Order by id is order by time, and
//! it is total.
//!
//! Invariant: every id has a time in the years 1970 to 9999, so that no computation on ids can fail.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use uuid::{Uuid, Variant, Version};

use crate::limits::UUID_TEXT_BYTES;
use crate::shard::Shard;
use crate::text::serde_as_text;
use crate::time::{TimeError, UnixMillis};

const FRACTION_BITS: u32 = 12;
const RANDOM_BITS: u32 = 54;
const VERSION: u64 = 0x7000;
const VARIANT: u64 = 0b10 << 62;
const RAND_B_BITS: u32 = 62;
const RAND_B: u64 = (1 << RAND_B_BITS) - 1;
const RANDOM: u64 = (1 << RANDOM_BITS) - 1;
const FRACTION: u64 = (1 << FRACTION_BITS) - 1;

/// The 60 time bits of an id: milliseconds since 1970, and a fraction in 4,096ths of about 244 ns each.
///
/// ```
/// use lately_keys::Tick;
/// use std::time::Duration;
///
/// let half = Tick::from_unix(Duration::from_micros(1_500))?;
/// assert_eq!(half.get(), 4096 + 2048);
/// assert_eq!(half.at().get(), 1);
/// # Ok::<(), lately_keys::TimeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tick(u64);

impl Tick {
    /// The last tick of the year 9999.
    pub const MAX: Self = Self::last_of(UnixMillis::MAX);

    /// The tick of a clock reading, which is the time since 1970.
    ///
    /// # Errors
    /// [`TimeError::Range`] after the year 9999.
    pub fn from_unix(since_epoch: Duration) -> Result<Self, TimeError> {
        let at =
            u64::try_from(since_epoch.as_millis()).map_err(|_| TimeError::Range).and_then(UnixMillis::new)?;
        let nanos = u64::from(since_epoch.subsec_nanos() % 1_000_000);
        Ok(Self::new(at, nanos * (FRACTION + 1) / 1_000_000))
    }

    /// The first tick of a millisecond.
    pub const fn first_of(at: UnixMillis) -> Self {
        Self::new(at, 0)
    }

    /// The last tick of a millisecond.
    pub const fn last_of(at: UnixMillis) -> Self {
        Self::new(at, FRACTION)
    }

    /// The tick's millisecond.
    pub fn at(self) -> UnixMillis {
        UnixMillis::new(self.0 >> FRACTION_BITS).expect("a tick is made of a UnixMillis, or checked")
    }

    /// The tick this many ticks earlier, but not before 1970.
    pub const fn before(self, ticks: u64) -> Self {
        Self(self.0.saturating_sub(ticks))
    }

    /// The tick this many ticks later, but not after the year 9999.
    pub fn after(self, ticks: u64) -> Self {
        Self::clamped(self.0.saturating_add(ticks))
    }

    /// The 60 bits as a number.
    pub const fn get(self) -> u64 {
        self.0
    }

    const fn new(at: UnixMillis, fraction: u64) -> Self {
        Self(at.get() << FRACTION_BITS | fraction)
    }

    /// The tick of a number, or the last tick.
    pub(crate) fn clamped(bits: u64) -> Self {
        Self(bits.min(Self::MAX.0))
    }

    pub(crate) const fn from_bits(bits: u64) -> Option<Self> {
        if bits <= Self::MAX.0 { Some(Self(bits)) } else { None }
    }
}

/// An event's id.
///
/// ```
/// use lately_keys::{EventId, Shard, Tick};
/// use std::time::Duration;
///
/// let clock = Tick::from_unix(Duration::from_millis(1_720_244_197_351))?;
/// let id = EventId::new(clock, Shard::from(3), 42);
/// assert_eq!(id.to_string(), "0190868b-57e7-7000-80c0-00000000002a");
/// assert_eq!(id.at().to_string(), "2024-07-06T05:36:37.351Z");
/// assert_eq!(id.shard(), Shard::from(3));
/// assert_eq!("0190868B-57E7-7000-80C0-00000000002A".parse(), Ok(id));
/// # Ok::<(), lately_keys::TimeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId(Uuid);

/// The text or the UUID is not an event id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// The text is not 32 hexadecimal digits in the groups 8-4-4-4-12.
    #[error("id: must be a hyphenated UUID")]
    Form,
    /// The UUID is not of version 7 in the RFC's variant.
    #[error("id: must be a UUID of version 7")]
    Version,
    /// The UUIDv7 has a time after the year 9999.
    #[error("id: its time must be in the years 1970 to 9999")]
    Time,
}

impl EventId {
    /// The least id: of the first millisecond of 1970.
    pub const MIN: Self = Self::first_of(UnixMillis::MIN);
    /// The greatest id: of the last millisecond of the year 9999.
    pub const MAX: Self = Self::last_of(UnixMillis::MAX);

    /// The id of a tick and a shard; `entropy` gives its low 54 bits.
    ///
    /// Ids that must strictly increase come from a [`Generator`](crate::Generator) instead.
    pub const fn new(tick: Tick, shard: Shard, entropy: u64) -> Self {
        let rand_b = (shard.get() as u64) << RANDOM_BITS | entropy & RANDOM;
        Self::from_parts(tick, rand_b)
    }

    /// The id of an event at a given time: an import. Its fraction is random too, so events of one millisecond are in a
    /// random order. `entropy` gives the low 66 bits.
    ///
    /// ```
    /// use lately_keys::{EventId, Shard};
    ///
    /// let at = "2024-07-06T05:36:37.351Z".parse()?;
    /// let id = EventId::import(at, Shard::from(0), u128::MAX);
    /// assert_eq!(id.at(), at);
    /// # Ok::<(), lately_keys::TimeError>(())
    /// ```
    #[expect(clippy::cast_possible_truncation, reason = "the low bits are what is wanted")]
    pub const fn import(at: UnixMillis, shard: Shard, entropy: u128) -> Self {
        let fraction = (entropy >> RANDOM_BITS) as u64 & FRACTION;
        Self::new(Tick::new(at, fraction), shard, entropy as u64)
    }

    /// The least id that a millisecond can have: the lower bound of a range that starts there.
    pub const fn first_of(at: UnixMillis) -> Self {
        Self::from_parts(Tick::first_of(at), 0)
    }

    /// The greatest id that a millisecond can have: the upper bound of a range that includes it.
    pub const fn last_of(at: UnixMillis) -> Self {
        Self::from_parts(Tick::last_of(at), RAND_B)
    }

    /// The least id that a tick can have.
    pub const fn first_at(tick: Tick) -> Self {
        Self::from_parts(tick, 0)
    }

    /// The greatest id that a tick can have.
    pub const fn last_at(tick: Tick) -> Self {
        Self::from_parts(tick, RAND_B)
    }

    /// The next greater possible id, for a range that starts after this id.
    pub fn just_after(self) -> Option<Self> {
        Self::from_number(self.number() + 1)
    }

    /// The next smaller possible id, for a range that ends before this id.
    pub fn just_before(self) -> Option<Self> {
        Self::from_number(self.number().checked_sub(1)?)
    }

    /// An id strictly between two others, chosen by `entropy`; none if there is none between them.
    ///
    /// ```
    /// use lately_keys::{EventId, UnixMillis};
    ///
    /// let (one, other) = (EventId::first_of(UnixMillis::new(5)?), EventId::first_of(UnixMillis::new(9)?));
    /// let between = one.between(other, 42).unwrap();
    /// assert!(one < between && between < other && other.between(one, 42) == Some(between));
    /// assert_eq!(one.between(one.just_after().unwrap(), 42), None);
    /// # Ok::<(), lately_keys::TimeError>(())
    /// ```
    pub fn between(self, other: Self, entropy: u128) -> Option<Self> {
        let (least, greatest) = (self.number().min(other.number()), self.number().max(other.number()));
        Self::from_number(least + 1 + entropy.checked_rem((greatest - least).checked_sub(1)?)?)
    }

    /// The event's time.
    pub fn at(self) -> UnixMillis {
        self.tick().at()
    }

    /// The id's 60 time bits.
    pub fn tick(self) -> Tick {
        let (high, _) = self.0.as_u64_pair();
        Tick(high >> 16 << FRACTION_BITS | high & FRACTION)
    }

    /// The shard that the event was written to.
    pub fn shard(self) -> Shard {
        let [.., shard] = (self.rand_b() >> RANDOM_BITS).to_be_bytes();
        Shard::from(shard)
    }

    /// The id with these sixteen bytes; none if they are not an id.
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        Uuid::from_slice(bytes).ok()?.try_into().ok()
    }

    /// The id as a UUID.
    pub const fn as_uuid(self) -> Uuid {
        self.0
    }

    const fn from_parts(tick: Tick, rand_b: u64) -> Self {
        let high = tick.0 >> FRACTION_BITS << 16 | VERSION | tick.0 & FRACTION;
        Self(Uuid::from_u64_pair(high, VARIANT | rand_b))
    }

    fn rand_b(self) -> u64 {
        let (_, low) = self.0.as_u64_pair();
        low & RAND_B
    }

    /// The id without the bits that all ids share. Neighbours have neighbouring numbers.
    fn number(self) -> u128 {
        u128::from(self.tick().0) << RAND_B_BITS | u128::from(self.rand_b())
    }

    #[expect(clippy::cast_possible_truncation, reason = "a number is cut into its two parts")]
    fn from_number(number: u128) -> Option<Self> {
        Some(Self::from_parts(Tick::from_bits((number >> RAND_B_BITS) as u64)?, number as u64 & RAND_B))
    }
}

impl TryFrom<Uuid> for EventId {
    type Error = IdError;

    fn try_from(uuid: Uuid) -> Result<Self, IdError> {
        if uuid.get_version() != Some(Version::SortRand) || uuid.get_variant() != Variant::RFC4122 {
            return Err(IdError::Version);
        }
        let (high, _) = uuid.as_u64_pair();
        UnixMillis::new(high >> 16).map_err(|_| IdError::Time)?;
        Ok(Self(uuid))
    }
}

impl FromStr for EventId {
    type Err = IdError;

    /// Parses hyphenated text in either case, as RFC 9562 requires. Output is in lower case.
    fn from_str(text: &str) -> Result<Self, IdError> {
        parse_hyphenated(text).ok_or(IdError::Form)?.try_into()
    }
}

/// Parses only hyphenated text: no other form that `uuid` accepts has this length.
pub(crate) fn parse_hyphenated(text: &str) -> Option<Uuid> {
    (text.len() == UUID_TEXT_BYTES).then(|| Uuid::try_parse(text).ok()).flatten()
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

serde_as_text!(EventId);
crate::schema!(EventId, "EventId", {
    let hex = "[0-9a-fA-F]";
    text(format!("^{hex}{{8}}-{hex}{{4}}-7{hex}{{3}}-[89abAB]{hex}{{3}}-{hex}{{12}}$"))
        .description(Some("A UUIDv7 whose time is the event's."))
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arbitrary;
    use proptest::prelude::*;

    #[test]
    fn golden_bytes() {
        // 0x0190a4cdd3e7 ms, fraction 0x222, shard 0xab = 10_1010_11, random all ones.
        let id = EventId::new(Tick(0x0190_a4cd_d3e7 << 12 | 0x222), Shard::from(0xab), u64::MAX);
        assert_eq!(id.to_string(), "0190a4cd-d3e7-7222-aaff-ffffffffffff");
    }

    #[test]
    fn a_clock_reading_becomes_milliseconds_and_4096ths() {
        let tick = |nanos| Tick::from_unix(Duration::from_nanos(nanos)).unwrap().get();
        assert_eq!(tick(0), 0);
        assert_eq!(tick(244), 0);
        assert_eq!(tick(245), 1);
        assert_eq!(tick(500_000), 2048);
        assert_eq!(tick(999_999), 4095);
        assert_eq!(tick(1_000_000), 4096);
        assert_eq!(Tick::from_unix(Duration::MAX), Err(TimeError::Range));
        let last = Duration::from_millis(UnixMillis::MAX.get()) + Duration::from_nanos(999_999);
        assert_eq!(Tick::from_unix(last), Ok(Tick::MAX));
        assert_eq!(Tick::from_unix(last + Duration::from_nanos(1)), Err(TimeError::Range));
    }

    #[test]
    fn only_a_hyphenated_uuid_v7_up_to_9999_is_an_id() {
        let parse = |text: &str| text.parse::<EventId>();
        assert!(parse("0190a4cd-d3e7-7222-9f99-fdb74feee752").is_ok());
        for text in [
            "",
            "0190a4cdd3e772229f99fdb74feee752",
            "{0190a4cd-d3e7-7222-9f99-fdb74feee752}",
            "urn:uuid:0190a4cd-d3e7-7222-9f99-fdb74feee752",
            "0190a4cd-d3e7-7222-9f99-fdb74feee75g",
            "0190a4cd_d3e7_7222_9f99_fdb74feee752",
            "0190a4cdd-3e7-7222-9f99-fdb74feee752",
            "é190a4cd-d3e7-7222-9f99-fdb74feee75",
        ] {
            assert_eq!(parse(text), Err(IdError::Form), "{text:?}");
        }
        assert_eq!(parse("0190a4cd-d3e7-4222-9f99-fdb74feee752"), Err(IdError::Version));
        assert_eq!(parse("0190a4cd-d3e7-7222-cf99-fdb74feee752"), Err(IdError::Version));
        assert_eq!(parse("e677d21f-dbff-7fff-bfff-ffffffffffff").unwrap().at(), UnixMillis::MAX);
        assert_eq!(parse("e677d21f-dc00-7000-8000-000000000000"), Err(IdError::Time));
        assert_eq!(parse("ffffffff-ffff-7fff-bfff-ffffffffffff"), Err(IdError::Time));
    }

    #[test]
    fn the_first_and_last_ids_have_only_one_neighbour() {
        let (first, last) = (EventId::MIN, EventId::MAX);
        assert_eq!((first.just_before(), last.just_after()), (None, None));
    }

    proptest! {
        #[test]
        fn an_id_returns_its_parts(
            at in arbitrary::millis(),
            fraction in 0..=FRACTION,
            shard: u8,
            entropy: u64,
            more: u128,
        ) {
            let (tick, shard) = (Tick::new(at, fraction), Shard::from(shard));
            let id = EventId::new(tick, shard, entropy);
            prop_assert_eq!((id.tick(), id.at(), id.shard()), (tick, at, shard));
            prop_assert_eq!(id.rand_b() & RANDOM, entropy & RANDOM);
            prop_assert_eq!(EventId::try_from(id.as_uuid()), Ok(id));
            prop_assert_eq!(id.to_string().parse(), Ok(id));

            let import = EventId::import(at, shard, more);
            prop_assert_eq!((import.at(), import.shard()), (at, shard));
            prop_assert!(EventId::first_of(at) <= import && import <= EventId::last_of(at));
        }

        #[test]
        fn imports_use_all_66_bits(at in arbitrary::millis(), entropy: u128, bit in 0..66_u32) {
            let shard = Shard::from(0);
            let flipped = EventId::import(at, shard, entropy ^ 1 << bit);
            prop_assert_ne!(EventId::import(at, shard, entropy), flipped);
        }

        #[test]
        fn order_by_id_and_by_text_is_order_by_time(a in arbitrary::id(), b in arbitrary::id()) {
            prop_assert_eq!(a.to_string().cmp(&b.to_string()), a.cmp(&b));
            if a.tick() != b.tick() {
                prop_assert_eq!(a.cmp(&b), a.tick().cmp(&b.tick()));
            }
        }

        #[test]
        fn neighbours_are_one_apart(id in arbitrary::id()) {
            if let Some(after) = id.just_after() {
                prop_assert!(after > id);
                prop_assert_eq!(after.just_before(), Some(id));
            }
            if let Some(before) = id.just_before() {
                prop_assert!(before < id);
                prop_assert_eq!(before.just_after(), Some(id));
            }
        }

        #[test]
        fn any_uuid_is_an_id_or_an_error(bits: u128) {
            if let Ok(id) = EventId::try_from(Uuid::from_u128(bits)) {
                prop_assert_eq!(EventId::new(id.tick(), id.shard(), id.rand_b()), id);
            }
        }
    }
}
