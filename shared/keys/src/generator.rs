//! The generator of new ids.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::id::{EventId, Tick};
use crate::shard::Shard;

/// Makes ids whose 60 time bits strictly increase, whatever the clock does.
///
/// The next tick is max(clock tick, last tick + 1). If the clock stands still, steps back, or is read more than 4,096
/// times a millisecond, ids run ahead of it until it catches up. Ids increase across shards too, because the shard's
/// bits follow the time's. One generator serves a whole process: threads share it by reference and get different ticks.
///
/// It reads no clock and no random source: both readings are arguments.
///
/// ```
/// use lately_keys::{Generator, Shard, Tick};
/// use std::time::Duration;
///
/// let generator = Generator::new();
/// let clock = Tick::from_unix(Duration::from_secs(1_720_244_197))?;
/// let first = generator.next(clock, Shard::from(7), 0x5eed)?;
/// let second = generator.next(clock, Shard::from(0), 0x5eed)?;
/// assert!(second > first);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Generator {
    /// The tick of the last id, or 0 before the first. So no id ever has tick 0.
    last: AtomicU64,
}

/// No tick remains, because the clock once read the end of the year 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no id is left before the end of the year 9999")]
pub struct Exhausted;

impl Generator {
    /// A generator that has made no id yet.
    pub const fn new() -> Self {
        Self { last: AtomicU64::new(0) }
    }

    /// The next id, for an event in `shard`; `entropy` gives its low 54 bits.
    ///
    /// # Errors
    /// [`Exhausted`] after the last tick of the year 9999.
    pub fn next(&self, clock: Tick, shard: Shard, entropy: u64) -> Result<EventId, Exhausted> {
        let next = |last: u64| Tick::from_bits(clock.get().max(last + 1));
        // Relaxed is enough: all updates of one atomic have one order, and no other memory depends on it.
        let last = self
            .last
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| next(last).map(Tick::get))
            .map_err(|_| Exhausted)?;
        next(last).map(|tick| EventId::new(tick, shard, entropy)).ok_or(Exhausted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arbitrary;
    use crate::time::UnixMillis;
    use proptest::prelude::*;

    #[test]
    fn an_exhausted_fraction_borrows_from_the_next_millisecond() {
        let generator = Generator::new();
        let at = UnixMillis::new(1_720_244_197_351).unwrap();
        let ids: Vec<_> =
            (0..=4096).map(|n| generator.next(Tick::first_of(at), Shard::from(0), n).unwrap()).collect();
        assert_eq!(ids[4095].at(), at);
        assert_eq!(ids[4096].tick(), Tick::first_of(at.saturating_add(1)));
    }

    #[test]
    fn ids_follow_the_clock_again_once_it_catches_up() {
        let generator = Generator::new();
        let tick = |millis| Tick::first_of(UnixMillis::new(millis).unwrap());
        generator.next(tick(5000), Shard::from(0), 0).unwrap();
        assert!(generator.next(tick(1000), Shard::from(0), 0).unwrap().tick() > tick(5000));
        assert_eq!(generator.next(tick(6000), Shard::from(0), 0).unwrap().tick(), tick(6000));
    }

    #[test]
    fn the_end_of_the_year_9999_is_an_error() {
        let generator = Generator::new();
        assert_eq!(generator.next(Tick::MAX, Shard::from(0), 0).unwrap().tick(), Tick::MAX);
        assert_eq!(generator.next(Tick::MAX, Shard::from(0), 0), Err(Exhausted));
        assert_eq!(generator.next(Tick::first_of(UnixMillis::MIN), Shard::from(0), 0), Err(Exhausted));
    }

    #[test]
    fn threads_get_different_ticks_from_one_generator() {
        let generator = Generator::new();
        let clock = Tick::first_of(UnixMillis::new(1).unwrap());
        let mut ticks: Vec<Tick> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|shard| {
                    let generator = &generator;
                    scope.spawn(move || {
                        let next = |n| generator.next(clock, Shard::from(shard), n).unwrap().tick();
                        let ticks: Vec<_> = (0..2000).map(next).collect();
                        assert!(ticks.is_sorted());
                        ticks
                    })
                })
                .collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        ticks.sort_unstable();
        ticks.dedup();
        assert_eq!(ticks.len(), 8000);
    }

    proptest! {
        #[test]
        fn ids_strictly_increase_under_any_clock(
            readings in prop::collection::vec((arbitrary::tick_in_bursts(), any::<u8>(), any::<u64>()), 1..200),
        ) {
            let generator = Generator::new();
            let mut last: Option<EventId> = None;
            for (clock, shard, entropy) in readings {
                match generator.next(clock, Shard::from(shard), entropy) {
                    Ok(id) => {
                        prop_assert!(id.tick() >= clock);
                        prop_assert_eq!(id.shard(), Shard::from(shard));
                        if let Some(last) = last {
                            prop_assert!(id > last && id.tick() > last.tick());
                        }
                        last = Some(id);
                    }
                    Err(Exhausted) => prop_assert_eq!(last.map(EventId::tick), Some(Tick::MAX)),
                }
            }
        }
    }
}
