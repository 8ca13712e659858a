//! Waves of a few lanes over a simulated table, which answers as DynamoDB does: up to the limit, or up to one megabyte.

mod sliced;

use lately_keys::{BucketWidth, Shard, Tick, UnixMillis};
use lately_model::Event;
use proptest::prelude::*;

use super::*;

/// 2026-03-14T12:00:00Z, the start of a quarter of an hour.
const START: u64 = 1_773_489_600_000;
const QUARTER_MILLIS: u64 = 15 * 60 * 1000;

/// An event in the table: its bucket, its time in the bucket, its shard, and whether it matches the filter.
#[derive(Clone, Debug)]
struct Stored {
    bucket: u8,
    at: u64,
    shard: u8,
    entropy: u64,
    matches: bool,
}

/// A table, and the wave that reads it.
#[derive(Clone, Debug)]
struct Case {
    order: Order,
    shards: [u16; 3],
    is_sparse: [bool; 3],
    stored: Vec<Stored>,
    wanted: usize,
    event_bytes: u32,
    /// The most events of each answer, in turn, because one megabyte may hold few events or many.
    megabytes: Vec<u32>,
}

impl Case {
    fn bucket(number: usize) -> Bucket {
        let at = UnixMillis::new(START + number as u64 * QUARTER_MILLIS).unwrap();
        Bucket::containing(BucketWidth::QuarterHour, at)
    }

    fn wave(&self) -> Wave<Event> {
        let mut lanes = Vec::new();
        for number in 0..3 {
            let bucket = Self::bucket(number);
            let ids = IdRange::new(EventId::first_of(bucket.first()), EventId::last_of(bucket.last()));
            lanes.extend((0..self.shards[number]).map(|shard| WaveLane {
                partition: format!("{number}/{shard}"),
                by_type: false,
                is_sparse: self.is_sparse[number],
                shards: self.shards[number],
                ids: ids.unwrap(),
                slices: None,
            }));
        }
        let last = match self.order {
            Order::NewestFirst => Self::bucket(0),
            Order::OldestFirst => Self::bucket(2),
        };
        Wave::new(self.order, lanes, bucket_end(last, self.order))
    }

    /// The events of each lane in the order of the walk, and whether each matches.
    fn shelves(&self) -> Vec<Vec<(Event, bool)>> {
        let starts = [0, self.shards[0], self.shards[0] + self.shards[1]];
        let mut shelves = vec![Vec::new(); self.shards.iter().copied().map(usize::from).sum()];
        for stored in &self.stored {
            let bucket = usize::from(stored.bucket);
            let shard = u16::from(stored.shard) % self.shards[bucket];
            let at = UnixMillis::new(START + u64::from(stored.bucket) * QUARTER_MILLIS + stored.at).unwrap();
            let id = EventId::new(Tick::first_of(at), Shard::from(shard.to_le_bytes()[0]), stored.entropy);
            let matches = stored.matches || !self.is_sparse[bucket];
            shelves[usize::from(starts[bucket] + shard)].push((event(id), matches));
        }
        for shelf in &mut shelves {
            shelf.sort_by_key(|(event, _)| rank(event.id, self.order));
            shelf.dedup_by_key(|(event, _)| event.id);
        }
        shelves
    }

    /// All events that match, in the order of the walk.
    fn truth(&self) -> Vec<Event> {
        let mut all: Vec<_> = self.shelves().into_iter().flatten().filter(|(_, matches)| *matches).collect();
        all.sort_by_key(|(event, _)| rank(event.id, self.order));
        all.into_iter().map(|(event, _)| event).collect()
    }

    /// Answers a round as DynamoDB does; `answered` is the number of answers so far.
    fn answer(&self, asks: Vec<Ask>, answered: &mut usize) -> Vec<LaneAnswer<Event>> {
        let shelves = self.shelves();
        let answer = |ask: Ask| {
            let megabyte = self.megabytes[*answered % self.megabytes.len()];
            *answered += 1;
            let within = |id: EventId| id >= ask.ids.oldest && id <= ask.ids.newest;
            let range: Vec<_> = shelves[ask.lane].iter().filter(|(event, _)| within(event.id)).collect();
            let looked_at = range.len().min(ask.limit.min(megabyte) as usize);
            // At the limit DynamoDB stops without looking for more.
            let stopped = looked_at == ask.limit as usize || looked_at < range.len();
            let stopped_at = range[..looked_at].last().filter(|_| stopped).map(|(event, _)| event.id);
            let matching = range[..looked_at].iter().filter(|(_, matches)| *matches);
            lane_answer(ask, matching.map(|(event, _)| event.clone()).collect(), stopped_at)
        };
        asks.into_iter().map(answer).collect()
    }
}

/// The answer of a lane.
fn lane_answer(ask: Ask, items: Vec<Event>, stopped_at: Option<EventId>) -> LaneAnswer<Event> {
    let found = LanePage { read: items.len(), items, bytes: 0, stopped_at };
    LaneAnswer { ask, found, further: None }
}

fn event(id: EventId) -> Event {
    let (event_type, actor) = ("note".parse().unwrap(), "ada".parse().unwrap());
    Event { id, event_type, actor, subject: None, data: None }
}

fn case(shards: impl Strategy<Value = u16> + Clone) -> impl Strategy<Value = Case> {
    let shards = [shards.clone(), shards.clone(), shards];
    let stored = (0..3_u8, prop_oneof![0..4_u64, 0..QUARTER_MILLIS], any::<u8>(), 0..4_u64, any::<bool>());
    let stored = stored.prop_map(|(bucket, at, shard, entropy, matches)| Stored {
        bucket,
        at,
        shard,
        entropy,
        matches,
    });
    // All events in one shard, or in any shard.
    let stored = (prop::collection::vec(stored, 0..300), prop_oneof![3 => Just(u8::MAX), 1 => Just(0)])
        .prop_map(|(stored, mask)| {
            stored.into_iter().map(|stored| Stored { shard: stored.shard & mask, ..stored }).collect()
        });
    let order = prop_oneof![Just(Order::NewestFirst), Just(Order::OldestFirst)];
    (
        order,
        shards,
        any::<[bool; 3]>(),
        stored,
        1..=100_usize,
        1..3_000_u32,
        prop::collection::vec(1..200_u32, 1..8),
    )
        .prop_map(|(order, shards, is_sparse, stored, wanted, event_bytes, megabytes)| Case {
            order,
            shards,
            is_sparse,
            stored,
            wanted,
            event_bytes,
            megabytes,
        })
}

fn shards() -> impl Strategy<Value = u16> + Clone {
    (0..=5_u32).prop_map(|log| 1 << log)
}

proptest! {
    #[test]
    fn any_answers_lead_to_the_first_events_of_all_lanes(case in case(shards())) {
        let truth = case.truth();
        let mut wave = case.wave();
        let mut answered = 0;
        let mut rounds = 0;
        loop {
            let asks = wave.asks(case.wanted, case.event_bytes);
            if asks.is_empty() {
                break;
            }
            for ask in &asks {
                prop_assert!(ask.ids.oldest <= ask.ids.newest && ask.limit > 0, "{ask:?} requests nothing");
            }
            wave.absorb(case.answer(asks, &mut answered));
            rounds += 1;
            prop_assert!(rounds < 1_000, "no end");

            // After every round, the settled events are the first events of the truth.
            let settled = wave.settled();
            prop_assert_eq!(settled, &truth[..settled.len()]);
        }
        let more = wave.edge().more;
        let (found, rest) = wave.into_events(case.wanted);
        prop_assert_eq!(&found[..], &truth[..truth.len().min(case.wanted)]);
        prop_assert!(more || truth.len() == found.len() + rest, "there is more, but the wave reports no more");
    }

    #[test]
    fn a_wave_given_up_reports_the_known_part(case in case(shards()), rounds in 1..4_u32) {
        let truth = case.truth();
        let mut wave = case.wave();
        let mut answered = 0;
        for _ in 0..rounds {
            let asks = wave.asks(case.wanted, case.event_bytes);
            wave.absorb(case.answer(asks, &mut answered));
        }
        wave.cut();
        let WaveEdge { frontier, cut, .. } = wave.edge();
        let frontier = frontier.expect("every lane has answered");
        prop_assert!(cut);
        let last = rank(frontier, case.order);
        let known = truth.partition_point(|event| rank(event.id, case.order) <= last);
        prop_assert_eq!(&wave.into_events(usize::MAX).0[..], &truth[..known]);
    }

    #[test]
    fn small_unfiltered_lanes_need_at_most_two_rounds(case in case(shards())) {
        let case = Case { is_sparse: [false; 3], megabytes: vec![u32::MAX], ..case };
        let mut wave = case.wave();
        let mut answered = 0;
        for _ in 0..2 {
            let asks = wave.asks(case.wanted, case.event_bytes);
            wave.absorb(case.answer(asks, &mut answered));
        }
        prop_assert_eq!(wave.asks(case.wanted, case.event_bytes), vec![]);
    }
}

#[test]
fn a_wave_without_wanted_events_asks_nothing() {
    let case = Case {
        order: Order::NewestFirst,
        shards: [1, 2, 4],
        is_sparse: [false; 3],
        stored: Vec::new(),
        wanted: 0,
        event_bytes: 512,
        megabytes: vec![1],
    };
    assert_eq!(case.wave().asks(0, 512), []);
}
