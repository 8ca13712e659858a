//! Which shards of a bucket, or of a source's timeline, hold the events of which times.
//!
//! With S shards, time is cut into slices of 512 ms / S, and slice number i belongs to shard i mod S. So all events of
//! one moment lie in one partition, and over a second all shards take equally many. A reader that looks for the latest
//! events knows which shards can hold them, and asks no other shard.
//!
//! A bucket has its *base* shards at all times, and *spreads*: spans of time with more shards. A writer places an event
//! by the most shards that it knows for the event's time. A writer that does not know a spread places the event by a
//! narrower one or by the base. So an event may lie where the base or any spread of its time says, and a reader asks all
//! of these. A coverage only grows: it never loses a shard that it once had.
//!
//! A source's timeline is one bucket of all times, with one base shard.

use std::collections::BTreeSet;

use crate::bucket::Bucket;
use crate::id::{EventId, Tick};
use crate::limits::SPREADS;
use crate::shard::{Shard, ShardCount};
use crate::time::{Order, UnixMillis};

/// A span of time with its own number of shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Spread {
    /// The number of shards.
    pub shards: ShardCount,
    /// The first millisecond of the span.
    pub first: UnixMillis,
    /// The last millisecond of the span.
    pub last: UnixMillis,
}

impl Spread {
    fn contains(self, at: UnixMillis) -> bool {
        self.first <= at && at <= self.last
    }

    fn joined(self, other: Self) -> Self {
        Self { first: self.first.min(other.first), last: self.last.max(other.last), ..self }
    }

    /// The stretch of time around or behind `from` in which one of the spread's shards may hold events.
    fn stretch(self, shard: Shard, from: Tick, order: Order) -> Option<Stretch> {
        if !self.shards.covers(shard) {
            return None;
        }
        let (first, last) = (Tick::first_of(self.first), Tick::last_of(self.last));
        let begin = order.pick(last.min(from), first.max(from));
        let Stretch { start, end } = self.shards.slice_from(shard, begin, order)?;
        let (start, end) = order.pick((begin.min(end), first.max(start)), (begin.max(start), last.min(end)));
        let is_empty = order.pick(start < end, end < start);
        (!is_empty).then_some(Stretch { start, end })
    }
}

/// A stretch of time in which a shard may hold events. It starts where a walk comes to it, and ends where the walk
/// leaves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The first tick of the walk.
    pub start: Tick,
    /// The last tick of the walk.
    pub end: Tick,
}

/// The shards that a bucket's events may be in.
///
/// ```
/// use lately_keys::{Bucket, Coverage, ShardCount, Spread, Tick};
///
/// let bucket: Bucket = "2026-03-14T12".parse()?;
/// let [one, four] = [1, 4].map(|count| ShardCount::new(count).unwrap());
/// let mut coverage = Coverage::new(bucket, one);
/// let first = bucket.first().saturating_add(60_000);
/// coverage.add(Spread { shards: four, first, last: first.saturating_add(59_999) });
/// assert_eq!(coverage.spreads_text().as_deref(), Some("60000-119999:4"));
///
/// let shard = |millis| coverage.shard_at(Tick::first_of(bucket.first().saturating_add(millis))).get();
/// assert_eq!([shard(0), shard(59_999), shard(60_000), shard(60_128), shard(120_000)], [0, 0, 0, 1, 0]);
/// # Ok::<(), lately_keys::BucketError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Coverage {
    /// The first and the last moment of the bucket.
    first: UnixMillis,
    last: UnixMillis,
    base: ShardCount,
    /// Sorted, and no two with the same number of shards touch each other.
    spreads: Vec<Spread>,
}

impl Coverage {
    /// The coverage of a bucket without spreads.
    pub fn new(bucket: Bucket, base: ShardCount) -> Self {
        let (first, last) = (bucket.first(), bucket.last());
        Self { first, last, base, spreads: Vec::new() }
    }

    /// The coverage of a source's timeline without spreads.
    pub const fn of_source() -> Self {
        let (first, last) = (UnixMillis::MIN, UnixMillis::MAX);
        Self { first, last, base: ShardCount::ONE, spreads: Vec::new() }
    }

    /// The same base with the spreads of a text; `None` if the text was not made by [`Coverage::spreads_text`].
    pub fn with_spreads(mut self, text: &str) -> Option<Self> {
        for spread in text.split(',') {
            let (span, shards) = spread.split_once(':')?;
            let (first, last) = span.split_once('-')?;
            let at = |text: &str| Some(self.first.saturating_add(text.parse().ok()?));
            let shards = ShardCount::new(shards.parse().ok()?).ok()?;
            let spread = Spread { shards, first: at(first)?, last: at(last)? };
            if spread.first > spread.last || spread.last > self.last {
                return None;
            }
            self.insert(spread);
        }
        Some(self)
    }

    /// The spreads as text: `FIRST-LAST:SHARDS`, in milliseconds of the bucket. None if there are none.
    pub fn spreads_text(&self) -> Option<String> {
        let millis = |at: UnixMillis| at.get() - self.first.get();
        let text =
            |spread: &Spread| format!("{}-{}:{}", millis(spread.first), millis(spread.last), spread.shards);
        (!self.spreads.is_empty()).then(|| self.spreads.iter().map(text).collect::<Vec<_>>().join(","))
    }

    /// The last moment of the bucket.
    pub const fn last(&self) -> UnixMillis {
        self.last
    }

    /// The shards that the bucket has at all times.
    pub const fn base(&self) -> ShardCount {
        self.base
    }

    /// The spreads: the narrowest first, and the oldest first among these.
    pub fn spreads(&self) -> &[Spread] {
        &self.spreads
    }

    /// The spreads, and the base as a spread over the whole bucket.
    fn all(&self) -> impl Iterator<Item = Spread> {
        let base = Spread { shards: self.base, first: self.first, last: self.last };
        self.spreads.iter().copied().chain([base])
    }

    /// The most shards that the bucket has at any time.
    pub fn most_shards(&self) -> ShardCount {
        self.all().map(|spread| spread.shards).max().unwrap_or_default()
    }

    /// The most shards that the bucket has at a time: the number by which an event of this time is placed.
    pub fn shards_at(&self, at: UnixMillis) -> ShardCount {
        self.all().filter(|spread| spread.contains(at)).map(|spread| spread.shards).max().unwrap_or(self.base)
    }

    /// The shard in which an event of this time is placed.
    pub fn shard_at(&self, tick: Tick) -> Shard {
        self.shards_at(tick.at()).shard_at(tick)
    }

    /// The last millisecond for which the bucket has more shards than its base without a gap, from a time on. None if it
    /// has no more than its base at this time.
    pub fn spread_until(&self, at: UnixMillis) -> Option<UnixMillis> {
        let wider = |spread: &&Spread| spread.shards > self.base;
        let end_of = |at| self.spreads.iter().filter(wider).filter(|s| s.contains(at)).map(|s| s.last).max();
        let next = |end: &UnixMillis| end_of(end.saturating_add(1)).filter(|next| next > end);
        std::iter::successors(end_of(at), next).last()
    }

    /// True if an event with this id may have been placed in the bucket.
    pub fn covers(&self, id: EventId) -> bool {
        self.places_at(id.tick()).contains(&id.shard())
    }

    /// The shards in which a writer may place an event of this time: by the base, and by each spread of the time.
    pub fn places_at(&self, tick: Tick) -> BTreeSet<Shard> {
        let spreads = self.all().filter(|spread| spread.contains(tick.at()));
        spreads.map(|spread| spread.shards.shard_at(tick)).collect()
    }

    /// Adds a spread, cut to the bucket.
    ///
    /// Spreads with the same number of shards that touch become one. Beyond [`SPREADS`] spreads, the two with the same
    /// number of shards that lie nearest to each other become one, with the time between them.
    pub fn add(&mut self, spread: Spread) {
        let first = spread.first.max(self.first);
        let last = spread.last.min(self.last);
        if first > last || spread.shards == self.base {
            return;
        }
        self.insert(Spread { first, last, ..spread });
        self.spreads.dedup_by(|next, last| {
            let joins = next.shards == last.shards && next.first <= last.last.saturating_add(1);
            if joins {
                *last = last.joined(*next);
            }
            joins
        });
        while self.spreads.len() > SPREADS {
            self.join_nearest();
        }
    }

    /// Adds the spreads of another coverage of the same bucket.
    pub fn join(&mut self, other: &Self) {
        for spread in &other.spreads {
            if !self.spreads.contains(spread) {
                self.add(*spread);
            }
        }
    }

    /// True if events of any time may be placed by this number of shards.
    pub fn covers_always(&self, shards: ShardCount) -> bool {
        let (first, last) = (self.first, self.last);
        shards == self.base || self.spreads.contains(&Spread { shards, first, last })
    }

    fn insert(&mut self, spread: Spread) {
        let index = self.spreads.partition_point(|old| *old < spread);
        self.spreads.insert(index, spread);
    }

    fn join_nearest(&mut self) {
        let gap = |pair: &[Spread]| match pair {
            [one, next] if one.shards == next.shards => Some(next.first.get().saturating_sub(one.last.get())),
            _ => None,
        };
        let gaps = self.spreads.windows(2).enumerate().filter_map(|(n, pair)| Some((gap(pair)?, n)));
        let (_, n) = gaps.min().expect("there are more spreads than numbers of shards");
        let next = self.spreads.remove(n + 1);
        self.spreads[n] = self.spreads[n].joined(next);
    }

    /// The shards that may hold an event of a span of time, in ascending order.
    pub fn shards_within(&self, first: UnixMillis, last: UnixMillis) -> Vec<Shard> {
        let shards = self.all().flat_map(|spread| {
            let (first, last) = (spread.first.max(first), spread.last.min(last));
            spread.shards.shards_within(Tick::first_of(first), Tick::last_of(last))
        });
        shards.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// True if a shard may hold events at all times of the bucket.
    pub fn holds_always(&self, shard: Shard) -> bool {
        self.base == ShardCount::ONE && shard == Shard::from(0)
    }

    /// The stretch of time around or behind `from`, in the order of a walk, in which a shard may hold events.
    pub fn stretch(&self, shard: Shard, from: Tick, order: Order) -> Option<Stretch> {
        let stretches = self.all().filter_map(|spread| spread.stretch(shard, from, order));
        // If two stretches start together, the longer one is returned.
        match order {
            Order::NewestFirst => stretches.max_by_key(|found| (found.start, std::cmp::Reverse(found.end))),
            Order::OldestFirst => stretches.min_by_key(|found| (found.start, std::cmp::Reverse(found.end))),
        }
    }
}

/// The bits of a tick below the number of its cycle. A cycle is 512 ms, in which each shard has one slice.
const CYCLE_BITS: u32 = 9 + 12;

impl ShardCount {
    /// The shard to which a tick's slice belongs.
    pub const fn shard_at(self, tick: Tick) -> Shard {
        self.pick(tick.get() >> self.slice_bits())
    }

    /// The length of a slice in ticks.
    pub const fn slice_ticks(self) -> u64 {
        1 << self.slice_bits()
    }

    /// The slice that lies `back` slices before a tick's own slice: its shard and its ticks. None before 1970.
    pub fn slice_before(self, tick: Tick, back: u64) -> Option<(Shard, Stretch)> {
        let number = (tick.get() >> self.slice_bits()).checked_sub(back)?;
        Some((self.pick(number), self.slice(number)?))
    }

    const fn slice_bits(self) -> u32 {
        CYCLE_BITS - self.get().trailing_zeros()
    }

    /// The ticks of a slice; `None` after the year 9999.
    fn slice(self, number: u64) -> Option<Stretch> {
        let start = number << self.slice_bits();
        Some(Stretch { start: Tick::from_bits(start)?, end: Tick::clamped(start + (self.slice_ticks() - 1)) })
    }

    /// The shard's slice that holds a tick, or its next slice in the order of a walk.
    fn slice_from(self, shard: Shard, tick: Tick, order: Order) -> Option<Stretch> {
        // One shard has all times in one slice.
        if self == Self::ONE {
            return Some(Stretch { start: Tick::clamped(0), end: Tick::MAX });
        }
        let (number, shard) = (tick.get() >> self.slice_bits(), u64::from(shard.get()));
        let others = u64::from(self.get() - 1);
        self.slice(match order {
            Order::NewestFirst => number.checked_sub(number.wrapping_sub(shard) & others)?,
            Order::OldestFirst => number + (shard.wrapping_sub(number) & others),
        })
    }

    /// The shards whose slices share a tick with a span.
    fn shards_within(self, first: Tick, last: Tick) -> impl Iterator<Item = Shard> {
        let numbers = (first.get() >> self.slice_bits(), last.get() >> self.slice_bits());
        let count = numbers.1.saturating_sub(numbers.0).saturating_add(1).min(self.get().into());
        let count = if first > last { 0 } else { count };
        (0..count).map(move |ahead| self.pick(numbers.0 + ahead))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn count(shards: u16) -> ShardCount {
        ShardCount::new(shards).unwrap()
    }

    fn bucket() -> Bucket {
        "2026-03-14T12".parse().unwrap()
    }

    fn at(millis: u64) -> UnixMillis {
        bucket().first().saturating_add(millis)
    }

    fn shard_count() -> impl Strategy<Value = ShardCount> {
        (0..=8_u32).prop_map(|log| count(1 << log))
    }

    fn spread() -> impl Strategy<Value = Spread> {
        let first = prop_oneof![0..5_000_u64, 0..3_600_000_u64];
        let length = prop_oneof![0..2_000_u64, 0..120_000_u64];
        (shard_count(), first, length).prop_map(|(shards, first, length)| Spread {
            shards,
            first: at(first),
            last: at(first + length),
        })
    }

    fn coverage() -> impl Strategy<Value = Coverage> {
        let spreads = prop::collection::vec(spread(), 0..100);
        (shard_count(), spreads).prop_map(|(base, spreads)| {
            let mut coverage = Coverage::new(bucket(), base);
            spreads.into_iter().for_each(|spread| coverage.add(spread));
            coverage
        })
    }

    fn tick() -> impl Strategy<Value = Tick> {
        (prop_oneof![0..8_000_u64, 0..3_600_000_u64], 0..4096_u64)
            .prop_map(|(millis, fraction)| Tick::clamped(Tick::first_of(at(millis)).get() + fraction))
    }

    /// The shards in which an event of a time may lie, by the definition.
    fn shards_of(coverage: &Coverage, tick: Tick) -> BTreeSet<Shard> {
        let spreads = coverage.spreads().iter().filter(|spread| spread.contains(tick.at()));
        let counts = spreads.map(|spread| spread.shards).chain([coverage.base()]);
        counts.map(|count| count.shard_at(tick)).collect()
    }

    #[test]
    fn slices_take_turns() {
        // 2026-03-14T12:00:00Z is 3,463,846,875 cycles of 512 ms after 1970.
        let shards = |shards: u16, millis: [u64; 6]| {
            millis.map(|millis| count(shards).shard_at(Tick::first_of(at(millis))).get())
        };
        assert_eq!(bucket().first().get() % 512, 0);
        assert_eq!(shards(1, [0, 1, 255, 256, 511, 512]), [0; 6]);
        assert_eq!(shards(2, [0, 1, 255, 256, 511, 512]), [0, 0, 0, 1, 1, 0]);
        assert_eq!(shards(64, [0, 7, 8, 504, 511, 512]), [0, 0, 1, 63, 63, 0]);
        assert_eq!(shards(256, [0, 1, 2, 510, 511, 513]), [0, 0, 1, 255, 255, 0]);
    }

    #[test]
    fn all_shards_take_as_many_writes_of_a_second_but_for_one_slice() {
        for shards in [1, 2, 4, 8, 16, 32, 64, 128, 256].map(count) {
            for start in [0, 3, 100, 511] {
                let mut slices = vec![0_u32; shards.get().into()];
                let slice = shards.slice_ticks();
                let first = Tick::first_of(at(start)).get();
                for tick in (first..first + 1_000 * 4096).step_by(usize::try_from(slice).unwrap().min(4096)) {
                    slices[usize::from(shards.shard_at(Tick::clamped(tick)).get())] += 1;
                }
                let (least, most) = (slices.iter().min().unwrap(), slices.iter().max().unwrap());
                let of_slice = u32::try_from(slice.div_ceil(4096)).unwrap();
                assert!(most - least <= of_slice, "{shards}: {least} to {most}");
            }
        }
    }

    #[test]
    fn touching_spreads_with_the_same_shards_become_one() {
        let mut coverage = Coverage::new(bucket(), ShardCount::ONE);
        let mut add = |shards, first, last| {
            coverage.add(Spread { shards: count(shards), first: at(first), last: at(last) });
            coverage.spreads_text().unwrap()
        };
        assert_eq!(add(4, 1_000, 60_999), "1000-60999:4");
        assert_eq!(add(8, 30_000, 89_999), "1000-60999:4,30000-89999:8");
        assert_eq!(add(4, 61_000, 120_999), "1000-120999:4,30000-89999:8");
        assert_eq!(add(4, 200_000, 259_999), "1000-120999:4,200000-259999:4,30000-89999:8");
        assert_eq!(add(4, 100_000, 199_999), "1000-259999:4,30000-89999:8");
        assert_eq!(add(2, 3_599_000, 9_999_999), "3599000-3599999:2,1000-259999:4,30000-89999:8");
        assert_eq!(add(1, 0, 10), "3599000-3599999:2,1000-259999:4,30000-89999:8", "the base covers it");
    }

    #[test]
    fn the_nearest_spreads_become_one_beyond_the_limit() {
        let mut coverage = Coverage::new(bucket(), ShardCount::ONE);
        for number in 0..=SPREADS as u64 {
            let first = at(number * 10_000 + if number == 7 { 9_000 } else { 0 });
            coverage.add(Spread { shards: count(2), first, last: first.saturating_add(500) });
        }
        assert_eq!(coverage.spreads().len(), SPREADS);
        assert!(
            coverage.spreads().iter().any(|spread| (spread.first, spread.last) == (at(79_000), at(80_500)))
        );
    }

    #[test]
    fn a_spread_lasts_as_long_as_others_go_on() {
        let mut coverage = Coverage::new(bucket(), ShardCount::ONE);
        for (shards, first, last) in
            [(2, 1_000, 2_000), (4, 1_500, 3_000), (2, 3_001, 4_000), (2, 5_000, 6_000)]
        {
            coverage.add(Spread { shards: count(shards), first: at(first), last: at(last) });
        }
        let until = |millis| coverage.spread_until(at(millis));
        assert_eq!([until(999), until(1_000), until(4_000)], [None, Some(at(4_000)), Some(at(4_000))]);
        assert_eq!([until(4_001), until(5_500)], [None, Some(at(6_000))]);
    }

    #[test]
    fn text_that_is_not_of_a_bucket_is_refused() {
        for text in ["", "1-2", "1:4", "2-1:4", "1-2:3", "0-3600000:4", "a-b:4", "1-2:4,", "-1-2:4"] {
            assert_eq!(Coverage::new(bucket(), ShardCount::ONE).with_spreads(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn spreads_read_back_as_written(coverage in coverage()) {
            if let Some(text) = coverage.spreads_text() {
                let empty = Coverage { spreads: Vec::new(), ..coverage.clone() };
                prop_assert_eq!(empty.with_spreads(&text), Some(coverage));
                prop_assert!(text.len() <= SPREADS * "3599999-3599999:256,".len());
            }
        }

        #[test]
        fn a_coverage_only_grows(coverage in coverage(), spread in spread(), ticks in prop::collection::vec(tick(), 50)) {
            let mut grown = coverage.clone();
            grown.add(spread);
            prop_assert!(grown.spreads().len() <= SPREADS);
            for tick in ticks {
                prop_assert!(shards_of(&grown, tick).is_superset(&shards_of(&coverage, tick)));
                if spread.contains(tick.at()) {
                    prop_assert!(grown.shards_at(tick.at()) >= spread.shards);
                }
            }
        }

        #[test]
        fn an_event_is_placed_where_its_time_allows(coverage in coverage(), tick in tick(), entropy: u64) {
            let shard = coverage.shard_at(tick);
            let id = EventId::new(tick, shard, entropy);
            prop_assert!(coverage.covers(id));
            let shards = shards_of(&coverage, tick);
            let within = coverage.shards_within(tick.at(), tick.at());
            for other in ShardCount::MAX.shards() {
                let allowed = shards.contains(&other);
                prop_assert_eq!(coverage.covers(EventId::new(tick, other, entropy)), allowed);
                prop_assert!(within.contains(&other) || !allowed);
                for order in [Order::NewestFirst, Order::OldestFirst] {
                    let found = coverage.stretch(other, tick, order);
                    prop_assert_eq!(found.is_some_and(|found| found.start == tick), allowed);
                }
            }
        }

        #[test]
        fn nothing_lies_before_the_start_of_the_next_stretch(
            coverage in coverage(), from in tick(), tick in tick(), newest in any::<bool>(),
        ) {
            let order = if newest { Order::NewestFirst } else { Order::OldestFirst };
            let is_between = |start: Tick| match order {
                Order::NewestFirst => start < tick && tick <= from,
                Order::OldestFirst => from <= tick && tick < start,
            };
            for shard in shards_of(&coverage, tick) {
                match coverage.stretch(shard, from, order) {
                    Some(found) => prop_assert!(!is_between(found.start), "{shard}: {found:?}"),
                    None => match order {
                        Order::NewestFirst => prop_assert!(tick > from),
                        Order::OldestFirst => prop_assert!(tick < from),
                    },
                }
            }
        }

        #[test]
        fn a_stretch_holds_nothing_but_its_shard(coverage in coverage(), from in tick(), part in 0..=1000_u64) {
            for shard in coverage.shards_within(bucket().first(), bucket().last()) {
                for order in [Order::NewestFirst, Order::OldestFirst] {
                    let Some(Stretch { start, end }) = coverage.stretch(shard, from, order) else { continue };
                    let (low, high) = (start.min(end).get(), start.max(end).get());
                    let within = Tick::clamped(low + (high - low) * part / 1000);
                    prop_assert!(shards_of(&coverage, within).contains(&shard), "{shard} at {within:?}");
                }
            }
        }
    }
}
