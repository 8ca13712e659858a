//! The faults of deliveries. They can be changed while the pump runs.

use std::time::Duration;

use lately_engine::seed;

/// The faults of deliveries. By default there are none. Chances are 0.0 to 1.0 and drawn for each invocation from the
/// pump's seed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PumpFaults {
    /// True if nothing is read or delivered. Invocations under way end.
    pub paused: bool,
    /// The time for which every delivery is held back first, so that the iterators age.
    pub delay: Duration,
    /// The chance that a batch is delivered twice in succession. The second response counts.
    pub duplicate: f64,
    /// The chance that the function dies before it has done anything.
    pub crash_before: f64,
    /// The chance that the function dies after its work, so that the response is lost.
    pub crash_after: f64,
    /// The most scheduler's turns for which other tasks run before and after each invocation. On a single-threaded
    /// runtime the seed then decides how lanes interleave.
    pub interleave: u8,
}

/// The faults of one invocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fate {
    pub(crate) duplicate: bool,
    pub(crate) crash_before: bool,
    pub(crate) crash_after: bool,
    pub(crate) turns_before: u64,
    pub(crate) turns_after: u64,
}

/// A lane's draws. Each is a pure function of the seed, the lane, the kind of draw and the invocation's number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Draws {
    seed: u64,
    lane: u64,
}

const DUPLICATE: u64 = 1;
const CRASH_BEFORE: u64 = 2;
const CRASH_AFTER: u64 = 3;
const TURNS_BEFORE: u64 = 4;
const TURNS_AFTER: u64 = 5;
const BACKOFF: u64 = 6;

impl Draws {
    pub(crate) fn new(seed: u64, shard: u16, lane: u16) -> Self {
        Self { seed, lane: u64::from(shard) << 32 | u64::from(lane) << 8 }
    }

    /// The faults of the lane's `number`-th invocation.
    pub(crate) fn fate(self, faults: &PumpFaults, number: u64) -> Fate {
        let happens = |kind, chance| seed::fraction(self.seed, self.lane | kind, number) < chance;
        let turns = |kind| seed::up_to(u64::from(faults.interleave), self.seed, self.lane | kind, number);
        Fate {
            duplicate: happens(DUPLICATE, faults.duplicate),
            crash_before: happens(CRASH_BEFORE, faults.crash_before),
            crash_after: happens(CRASH_AFTER, faults.crash_after),
            turns_before: turns(TURNS_BEFORE),
            turns_after: turns(TURNS_AFTER),
        }
    }

    /// The jitter, 0.0 to 1.0, of the wait after the lane's `number`-th invocation.
    pub(crate) fn jitter(self, number: u64) -> f64 {
        seed::fraction(self.seed, self.lane | BACKOFF, number)
    }
}
