//! The figures of a load: counts, delays, and prices as the responses name them.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use lately_client::Problem;
use serde::{Serialize, Serializer};
use tokio::time::Instant;

use crate::seconds::tenths;

/// The most delays of a kind, and the most events whose arrival is awaited. Further ones are not measured.
const MEASURED: usize = 100_000;

/// The figures so far, as a command prints them.
#[derive(Debug, Default, Serialize)]
pub(super) struct LoadTally {
    pub(super) seconds: f64,
    /// True at the end.
    pub(super) is_done: bool,
    /// Events that were due.
    pub(super) offered: u64,
    pub(super) accepted: u64,
    /// Events that were not accepted, by the code of the problem.
    pub(super) refused: BTreeMap<String, u64>,
    pub(super) pages: u64,
    pub(super) refused_pages: BTreeMap<String, u64>,
    /// From the response to a post until the event is in a follower's feed.
    pub(super) fan_out: Delays,
    /// From the response to a post until the event is in a stream of its topic.
    pub(super) live: Delays,
    /// Write units of the posts, for each accepted event.
    pub(super) write_units_an_event: f64,
    pub(super) read_units_a_page: f64,
    /// At the end: the shards of each topic's newest bucket.
    pub(super) shards: Option<BTreeMap<String, u16>>,
    #[serde(skip)]
    pub(super) write_units: f64,
    #[serde(skip)]
    pub(super) read_units: f64,
    /// Events of the followed topic that only the post or only the stream has shown yet.
    #[serde(skip)]
    waiting: HashMap<String, (Side, Instant)>,
}

/// The side that has shown an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Post,
    Stream,
}

/// The delays of a kind. Their JSON is their spread.
#[derive(Debug, Default)]
pub(super) struct Delays(Vec<Duration>);

/// The spread of some delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Delay {
    pub(super) samples: usize,
    pub(super) median_ms: u128,
    pub(super) p99_ms: u128,
}

impl LoadTally {
    /// Notes that one side shows an event. The delay is known when the other side has shown it too.
    pub(super) fn show(&mut self, id: &str, side: Side, now: Instant) {
        match self.waiting.remove(id) {
            Some((first, at)) if first != side => {
                // The stream may be faster than the response.
                let is_late = side == Side::Stream;
                self.live.add(if is_late { now - at } else { Duration::ZERO });
            }
            _ if self.waiting.len() < MEASURED => drop(self.waiting.insert(id.to_owned(), (side, now))),
            _ => {}
        }
    }

    /// True if the stream has still to show events.
    pub(super) fn awaits_stream(&self) -> bool {
        self.waiting.values().any(|(side, _)| *side == Side::Post)
    }

    pub(super) fn refuse(&mut self, code: &str, events: u64) {
        if events > 0 {
            *self.refused.entry(code.to_owned()).or_default() += events;
        }
    }

    pub(super) fn refuse_page(&mut self, problem: &Problem) {
        *self.refused_pages.entry(problem.code.clone()).or_default() += 1;
    }

    /// The figures of the time until now.
    pub(super) fn after(&mut self, time: Duration) -> &Self {
        let mean = |units: f64, count: u64| if count == 0 { 0.0 } else { units / count as f64 };
        self.seconds = tenths(time);
        self.write_units_an_event = mean(self.write_units, self.accepted);
        self.read_units_a_page = mean(self.read_units, self.pages);
        self
    }
}

impl Delays {
    pub(super) fn add(&mut self, delay: Duration) {
        if self.0.len() < MEASURED {
            self.0.push(delay);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn spread(&self) -> Option<Delay> {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let at = |percent: usize| sorted.get((sorted.len() * percent).div_ceil(100).max(1) - 1);
        let (median_ms, p99_ms) = (at(50)?.as_millis(), at(99)?.as_millis());
        Some(Delay { samples: sorted.len(), median_ms, p99_ms })
    }
}

impl Serialize for Delays {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.spread().serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_is_from_the_post_to_the_stream() {
        let (mut tally, begun) = (LoadTally::default(), Instant::now());
        let at = |millis| begun + Duration::from_millis(millis);
        tally.show("a", Side::Post, at(0));
        assert!(tally.awaits_stream());
        tally.show("a", Side::Stream, at(30));
        tally.show("b", Side::Stream, at(40));
        assert!(!tally.awaits_stream());
        tally.show("b", Side::Post, at(50));
        let expected = Delay { samples: 2, median_ms: 0, p99_ms: 30 };
        assert_eq!(tally.live.spread(), Some(expected));
    }

    #[test]
    fn the_spread_is_of_the_nearest_ranks() {
        let mut delays = Delays::default();
        assert_eq!(delays.spread(), None);
        (1..=200).rev().for_each(|millis| delays.add(Duration::from_millis(millis)));
        assert_eq!(delays.spread(), Some(Delay { samples: 200, median_ms: 100, p99_ms: 198 }));
    }
}
