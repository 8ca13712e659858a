//! Waves of a few lanes over a simulated table, which answers as DynamoDB does: up to the limit, or up to one megabyte.

mod sliced;

use lately_keys::{Bucket, BucketWidth, Shard, Tick, UnixMillis};
use lately_model::Event;
use lately_table::Units;
use proptest::prelude::*;

use super::*;
use crate::span::bucket_end;

/// 2026-03-14T12:00:00Z, the start of a quarter of an hour.
const START: u64 = 1_773_489_600_000;
const QUARTER_MILLIS: u64 = 15 * 60 * 1000;

/// A table, and the wave that reads it.
#[derive(Clone, Debug)]
struct Case {
    order: Order,
    /// The shards of each bucket, and whether few of its events match the filter.
    buckets: [(u16, bool); 3],
    /// The events of each lane in the order of the walk, and whether each matches.
    shelves: Vec<Vec<(EventId, bool)>>,
    wanted: usize,
    event_bytes: u32,
    /// The most events of each answer, in turn, because one megabyte may hold few events or many.
    megabytes: Vec<u32>,
}

fn bucket(number: usize) -> Bucket {
    let at = UnixMillis::new(START + number as u64 * QUARTER_MILLIS).unwrap();
    Bucket::containing(BucketWidth::QuarterHour, at)
}

impl Case {
    fn wave(&self) -> Wave<Event> {
        let mut lanes = Vec::new();
        for (number, (shards, is_sparse)) in self.buckets.into_iter().enumerate() {
            let ids = IdRange::new(
                EventId::first_of(bucket(number).first()),
                EventId::last_of(bucket(number).last()),
            );
            lanes.extend((0..shards).map(|shard| WaveLane {
                partition: format!("{number}/{shard}"),
                by_type: false,
                is_sparse,
                shards,
                ids: ids.unwrap(),
                slices: None,
            }));
        }
        let last = self.order.pick(bucket(0), bucket(2));
        Wave::new(self.order, lanes, bucket_end(last, self.order))
    }

    /// All events that match, in the order of the walk.
    fn truth(&self) -> Vec<EventId> {
        let matching = self.shelves.iter().flatten().filter(|(_, matches)| *matches);
        let mut all: Vec<_> = matching.map(|(id, _)| *id).collect();
        all.sort_by_key(|id| rank(*id, self.order));
        all
    }

    /// The answer to an ask; `answered` is the number of answers so far.
    fn answer(&self, ask: Ask, answered: &mut usize) -> LaneAnswer<Event> {
        let megabyte = self.megabytes[*answered % self.megabytes.len()];
        *answered += 1;
        let is_within = |id: EventId| id >= ask.ids.oldest && id <= ask.ids.newest;
        let held = self.shelves[ask.lane].iter().copied().filter(|(id, _)| is_within(*id));
        answer(ask, held, megabyte).0
    }
}

/// The answer of a lane that holds these events in the asked range, each with whether it matches; and the number of events
/// that it looked at.
fn answer(
    ask: Ask,
    held: impl Iterator<Item = (EventId, bool)>,
    megabyte: u32,
) -> (LaneAnswer<Event>, usize) {
    let most = ask.limit.min(megabyte) as usize;
    let held: Vec<_> = held.take(most + 1).collect();
    let looked_at = held.len().min(most);
    // At the limit DynamoDB stops without looking for more.
    let stopped = looked_at == ask.limit as usize || looked_at < held.len();
    let held = &held[..looked_at];
    let stopped_at = held.last().filter(|_| stopped).map(|(id, _)| *id);
    let items: Vec<_> = held.iter().filter(|(_, matches)| *matches).map(|(id, _)| event(*id)).collect();
    let found = LanePage { read: items.len(), items, bytes: 0, units: Units::default(), stopped_at };
    (LaneAnswer { ask, found, further: None }, looked_at)
}

fn event(id: EventId) -> Event {
    let (event_type, actor) = ("note".parse().unwrap(), "ada".parse().unwrap());
    Event { id, event_type, actor, subject: None, data: None }
}

fn ids(events: &[Event]) -> Vec<EventId> {
    events.iter().map(|event| event.id).collect()
}

fn any_order() -> impl Strategy<Value = Order> {
    prop_oneof![Just(Order::NewestFirst), Just(Order::OldestFirst)]
}

fn case() -> impl Strategy<Value = Case> {
    let bucket_of = || ((0..=5_u32).prop_map(|log| 1_u16 << log), any::<bool>());
    let stored =
        (0..3_usize, prop_oneof![0..4_u64, 0..QUARTER_MILLIS], any::<u16>(), 0..4_u64, any::<bool>());
    // All events in one shard, or in any shard.
    let stored = (prop::collection::vec(stored, 0..300), prop_oneof![3 => Just(u16::MAX), 1 => Just(0)]);
    let buckets = [bucket_of(), bucket_of(), bucket_of()];
    let megabytes = prop::collection::vec(1..200_u32, 1..8);
    (any_order(), buckets, stored, 1..=100_usize, 1..3_000_u32, megabytes).prop_map(
        |(order, buckets, (stored, mask), wanted, event_bytes, megabytes)| {
            let mut shelves = buckets.map(|(shards, _)| vec![Vec::new(); shards.into()]);
            for (number, at, shard, entropy, matches) in stored {
                let (shards, is_sparse) = buckets[number];
                let shard = (shard & mask) % shards;
                let tick = Tick::first_of(bucket(number).first().saturating_add(at));
                let id = EventId::new(tick, Shard::from(shard.to_le_bytes()[0]), entropy);
                shelves[number][usize::from(shard)].push((id, matches || !is_sparse));
            }
            let mut shelves = shelves.concat();
            for shelf in &mut shelves {
                shelf.sort_by_key(|(id, _)| rank(*id, order));
                shelf.dedup_by_key(|(id, _)| *id);
            }
            Case { order, buckets, shelves, wanted, event_bytes, megabytes }
        },
    )
}

/// Reads a wave to its end. It must find the first events of the truth.
fn assert_leads_to(
    truth: &[EventId],
    mut wave: Wave<Event>,
    (wanted, event_bytes): (usize, u32),
    mut answer: impl FnMut(&Wave<Event>, Ask) -> LaneAnswer<Event>,
) -> Result<(), TestCaseError> {
    prop_assert_eq!(wave.asks(0, event_bytes), vec![]);
    for _ in 0..1_000 {
        let asks = wave.asks(wanted, event_bytes);
        if asks.is_empty() {
            let more = wave.edge().more;
            let (found, rest) = wave.into_events(wanted);
            prop_assert_eq!(&ids(&found)[..], &truth[..truth.len().min(wanted)]);
            prop_assert!(
                more || truth.len() == found.len() + rest,
                "there is more, but the wave reports no more"
            );
            return Ok(());
        }
        for ask in &asks {
            prop_assert!(ask.ids.oldest <= ask.ids.newest && ask.limit > 0, "{ask:?} requests nothing");
        }
        let answers = asks.into_iter().map(|ask| answer(&wave, ask)).collect();
        wave.absorb(answers);
        // After every round, the settled events are the first events of the truth.
        let settled = ids(wave.settled());
        prop_assert_eq!(&settled[..], &truth[..settled.len()]);
    }
    Err(TestCaseError::fail("no end"))
}

proptest! {
    #[test]
    fn any_answers_lead_to_the_first_events_of_all_lanes(case in case()) {
        let mut answered = 0;
        let answer = |_: &Wave<Event>, ask| case.answer(ask, &mut answered);
        assert_leads_to(&case.truth(), case.wave(), (case.wanted, case.event_bytes), answer)?;
    }

    #[test]
    fn a_wave_given_up_reports_the_known_part(case in case(), rounds in 1..4_u32) {
        let (truth, mut wave) = (case.truth(), case.wave());
        let mut answered = 0;
        for _ in 0..rounds {
            let asks = wave.asks(case.wanted, case.event_bytes);
            wave.absorb(asks.into_iter().map(|ask| case.answer(ask, &mut answered)).collect());
        }
        wave.cut();
        let WaveEdge { frontier, cut, .. } = wave.edge();
        let frontier = frontier.expect("every lane has answered");
        prop_assert!(cut);
        let last = rank(frontier, case.order);
        let known = truth.partition_point(|id| rank(*id, case.order) <= last);
        prop_assert_eq!(&ids(&wave.into_events(usize::MAX).0)[..], &truth[..known]);
    }
}
