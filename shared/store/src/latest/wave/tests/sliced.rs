//! Waves over the shards of one bucket, whose events lie in slices of time: exact under any coverage, and the price of
//! the latest events.

use std::sync::Arc;

use lately_keys::{Bucket, Coverage, EventId, Order, Shard, ShardCount, Spread, Tick, UnixMillis};
use lately_model::Event;
use proptest::prelude::*;

use super::*;
use crate::latest::pace::Pace;

fn bucket() -> Bucket {
    "2026-03-14T12".parse().unwrap()
}

fn at(millis: u64) -> UnixMillis {
    bucket().first().saturating_add(millis)
}

fn count(shards: u16) -> ShardCount {
    ShardCount::new(shards).unwrap()
}

/// A simulated bucket: its shards hold events, newest first.
struct Shelves {
    coverage: Arc<Coverage>,
    held: Vec<Vec<EventId>>,
    /// Later events have not landed.
    landed: EventId,
}

impl Shelves {
    fn of(coverage: Coverage, mut ids: Vec<EventId>) -> Self {
        ids.sort_unstable_by(|one, other| other.cmp(one));
        let mut held = vec![Vec::new(); 256];
        for id in ids {
            assert!(coverage.covers(id));
            held[usize::from(id.shard().get())].push(id);
        }
        Self { coverage: Arc::new(coverage), held, landed: EventId::MAX }
    }

    fn wave(&self, order: Order, ids: IdRange) -> Wave<Event> {
        let shards = self.coverage.shards_within(ids.oldest.at(), ids.newest.at());
        let lane = |shard: &Shard| WaveLane {
            partition: shard.to_string(),
            by_type: false,
            is_sparse: false,
            shards: u16::try_from(shards.len()).unwrap(),
            ids,
            slices: Some(Slices { coverage: Arc::clone(&self.coverage), shard: *shard }),
        };
        let (_, end) = ids.ends(order);
        Wave::new(order, shards.iter().map(lane).collect(), end)
    }

    /// The answer to a query, with at most `megabyte` events, and the number of events that it looked at.
    fn answer(
        &self,
        wave: &Wave<Event>,
        ask: Ask,
        order: Order,
        megabyte: u32,
    ) -> (LaneAnswer<Event>, usize) {
        let shard: usize = wave.lane(ask.lane).partition.parse().unwrap();
        let held = &self.held[shard];
        let newest = held.partition_point(|id| *id > ask.ids.newest.min(self.landed));
        let behind = held.partition_point(|id| *id >= ask.ids.oldest);
        let held = held[newest..behind.max(newest)].iter().map(|id| (*id, true));
        match order {
            Order::NewestFirst => answer(ask, held, megabyte),
            Order::OldestFirst => answer(ask, held.rev(), megabyte),
        }
    }
}

/// The times of a bucket's spreads, as the coverage holds them, and events where their writers may have placed them.
fn coverage_and_ids() -> impl Strategy<Value = (Coverage, Vec<EventId>)> {
    let shards = || (0..=6_u32).prop_map(|log| count(1 << log));
    let spread = (shards(), 0..4_000_u64, 0..4_000_u64).prop_map(|(shards, first, length)| Spread {
        shards,
        first: at(first),
        last: at(first + length),
    });
    let coverage = (shards(), prop::collection::vec(spread, 0..6)).prop_map(|(base, spreads)| {
        let mut coverage = Coverage::new(bucket(), base);
        spreads.into_iter().for_each(|spread| coverage.add(spread));
        coverage
    });
    let events = prop::collection::vec((0..8_000_u64, 0..4096_u64, any::<u64>(), any::<usize>()), 0..400);
    (coverage, events).prop_map(|(coverage, events)| {
        let place = |(millis, fraction, entropy, stale): (u64, u64, u64, usize)| {
            let tick = Tick::first_of(at(millis)).after(fraction);
            // A writer may know any of the spreads that hold, or none.
            let spreads = coverage.spreads().iter();
            let known = spreads.filter(|spread| spread.first <= at(millis) && at(millis) <= spread.last);
            let known: Vec<_> = known.map(|spread| spread.shards).chain([coverage.base()]).collect();
            EventId::new(tick, known[stale % known.len()].shard_at(tick), entropy)
        };
        let ids = events.into_iter().map(place).collect();
        (coverage, ids)
    })
}

fn any_pace() -> impl Strategy<Value = Option<Pace>> {
    let pace = (-9.0..-1.0_f64, 0..8_000_000_u64);
    proptest::option::of(pace.prop_map(|(log, lag)| Pace { per_tick: 10_f64.powf(log), lag }))
}

proptest! {
    #[test]
    fn slices_lead_to_the_first_events_of_all_lanes(
        (coverage, ids) in coverage_and_ids(),
        order in any_order(),
        first in 0..8_000_u64,
        wanted in 1..=100_usize,
        pace in any_pace(),
        megabytes in prop::collection::vec(1..200_u32, 1..8),
    ) {
        let (oldest, newest) = order.pick((bucket().first(), at(first)), (at(first), bucket().last()));
        let range = IdRange { oldest: EventId::first_of(oldest), newest: EventId::last_of(newest) };
        let mut truth: Vec<_> = ids.iter().copied().filter(|id| *id >= range.oldest && *id <= range.newest).collect();
        truth.sort_by_key(|id| rank(*id, order));
        truth.dedup();
        let shelves = Shelves::of(coverage, ids);
        let fresh = pace.map(|pace: Pace| Tick::first_of(at(first)).before(pace.lag));
        let wave = shelves.wave(order, range).at_pace(pace, fresh.filter(|_| order == Order::NewestFirst));
        let mut megabytes = megabytes.iter().cycle();
        let answer = |wave: &Wave<Event>, ask| shelves.answer(wave, ask, order, *megabytes.next().unwrap()).0;
        assert_leads_to(&truth, wave, (wanted, 512), answer)?;
    }
}

/// The mean price of pages.
#[derive(Clone, Copy, Debug, Default)]
struct Price {
    units: f64,
    rounds: f64,
    most: f64,
}

/// A steady topic, with writes at chance times, and the pages that a reader reads.
struct Steady {
    shards: u16,
    per_second: u32,
    wanted: usize,
    /// The age of the newest event that has landed.
    lag_micros: u64,
    /// The age of the newest event that the reader expects.
    expected_lag_micros: u64,
    /// The pace that the reader expects, as a multiple of the topic's pace. `None` if it knows no pace.
    guess: Option<f64>,
    /// True for a page in the middle of a walk.
    walked: bool,
}

impl Steady {
    /// Three seconds of the topic.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the time is a count of ticks"
    )]
    fn shelves(&self) -> Shelves {
        let mut random = fastrand::Rng::with_seed(7);
        let gap = 4_096_000.0 / f64::from(self.per_second);
        let coverage = Coverage::new(bucket(), count(self.shards));
        let (mut passed, mut ids) = (0.0, Vec::new());
        while passed < 3_000.0 * 4096.0 {
            passed -= gap * (1.0 - random.f64()).ln();
            let tick = Tick::first_of(at(0)).after(passed as u64);
            ids.push(EventId::new(tick, coverage.shard_at(tick), random.u64(..)));
        }
        Shelves::of(coverage, ids)
    }

    fn price(&self, shelves: &mut Shelves) -> Price {
        let mut random = fastrand::Rng::with_seed(11);
        let gap = 4_096_000.0 / f64::from(self.per_second);
        let mut total = Price::default();
        let pages = 60;
        for _ in 0..pages {
            let now = Tick::first_of(at(random.u64(1_500..2_900))).after(random.u64(0..4096));
            shelves.landed = EventId::last_at(now.before(self.lag_micros * 4096 / 1000));
            let slice = count(self.shards).slice_ticks();
            let newest = if self.walked { shelves.landed.tick() } else { now.after(slice) };
            let range =
                IdRange { oldest: EventId::first_of(bucket().first()), newest: EventId::last_at(newest) };
            let lag = self.expected_lag_micros * 4096 / 1000;
            let pace = self.guess.map(|guess| Pace { per_tick: guess / gap, lag });
            let fresh = if self.walked { None } else { pace.map(|pace| now.before(pace.lag)) };
            let mut wave = shelves.wave(Order::NewestFirst, range).at_pace(pace, fresh);
            let mut units = 0.0;
            loop {
                let asks = wave.asks(self.wanted, 512);
                if asks.is_empty() {
                    break;
                }
                let answers = asks.into_iter().map(|ask| {
                    let (answer, looked_at) = shelves.answer(&wave, ask, Order::NewestFirst, 2_000);
                    units += 0.5 * ((looked_at as f64 * 512.0 / 4096.0).ceil()).max(1.0);
                    answer
                });
                let answers = answers.collect();
                wave.absorb(answers);
                total.rounds += 1.0;
            }
            assert_eq!(wave.into_events(self.wanted).0.len(), self.wanted);
            total.units += units;
            total.most = total.most.max(units);
        }
        Price { units: total.units / f64::from(pages), rounds: total.rounds / f64::from(pages), ..total }
    }
}

#[test]
fn the_latest_events_cost_little_more_than_one_partition_would() {
    // The most units of the latest 10, 50 and 100, and of 50 in the middle of a walk.
    let bounds = [
        (4, 1_500, [2.0, 4.6, 8.1], 5.0),
        (16, 8_000, [2.3, 5.0, 8.5], 5.0),
        (64, 20_000, [2.3, 5.5, 9.0], 5.0),
        (256, 80_000, [3.0, 6.5, 10.0], 5.0),
    ];
    for (shards, per_second, most, most_walked) in bounds {
        let (lag_micros, guess) = (5_000, Some(1.0));
        let steady = Steady {
            shards,
            per_second,
            wanted: 50,
            lag_micros,
            expected_lag_micros: 5_000,
            guess,
            walked: false,
        };
        let mut shelves = steady.shelves();
        for ((wanted, floor), most) in [(10, 1.0), (50, 3.5), (100, 6.5)].into_iter().zip(most) {
            let mut price = |guess| Steady { wanted, guess, ..steady }.price(&mut shelves);
            let known = price(Some(1.0));
            assert!(known.units <= most && known.rounds <= 2.0, "{wanted} of {shards}: {known:?}");
            // A wrong guess, or none, costs at most as much again as one partition, and half a unit for each other shard.
            for guess in [Some(4.0), Some(0.25), None] {
                let (price, all) = (price(guess), 2.0 * floor + 0.5 * f64::from(shards - 1));
                assert!(
                    price.units <= all && price.rounds <= 4.0,
                    "{wanted} of {shards}, {guess:?}: {price:?}"
                );
            }
        }
        let walked = Steady { walked: true, ..steady }.price(&mut shelves);
        assert!(walked.units <= most_walked, "50 of {shards}, walked: {walked:?}");
    }
}

#[test]
fn after_a_rest_the_latest_events_cost_little_more_than_one_unit_of_each_shard() {
    for (shards, per_second) in [(2, 1_500), (16, 8_000), (64, 20_000)] {
        let (lag_micros, guess) = (700_000, None);
        let (wanted, expected_lag_micros) = (50, 5_000);
        let steady =
            Steady { shards, per_second, wanted, lag_micros, expected_lag_micros, guess, walked: false };
        let mut shelves = steady.shelves();
        for (wanted, floor, more) in [(10, 1.0, 1.0), (50, 3.5, 2.0), (100, 6.5, 3.5)] {
            for (guess, expected_lag_micros) in [
                (None, 0),
                (Some(1.0), 5_000),
                (Some(4.0), 5_000),
                (Some(0.25), 5_000),
                (Some(1.0), lag_micros),
            ] {
                let price = Steady { wanted, guess, expected_lag_micros, ..steady }.price(&mut shelves);
                let each = floor + 0.5 * f64::from(shards - 1);
                assert!(
                    price.units <= each + more && price.rounds <= 3.3,
                    "{wanted} of {shards}, {guess:?}, {expected_lag_micros}: {price:?}"
                );
            }
        }
    }
}
