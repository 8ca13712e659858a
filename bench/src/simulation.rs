//! Simulated time: a runtime whose clock moves only when every task waits, and a source of time and entropy that uses
//! it.
//!
//! A wait takes no real time. So a simulated month, or the retries of a throttled writer, take only the time of the
//! work in them. Random numbers come from a seed, so a run is the same on every machine.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use lately_engine::Clock;
use lately_store::Ambient;
use tokio::time::Instant;

/// Runs a future in simulated time.
pub(crate) fn simulate<T>(future: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().expect("a runtime can be built");
    runtime.block_on(future)
}

/// Clocks that begin at a given time, and random numbers from a seed.
#[derive(Debug)]
pub(crate) struct SimulatedWorld {
    start: Duration,
    begun: Instant,
    random: Mutex<fastrand::Rng>,
}

impl SimulatedWorld {
    /// Clocks that begin at `start`. Must be called within [`simulate`].
    pub(crate) fn new(start: Duration, seed: u64) -> Self {
        Self { start, begun: Instant::now(), random: Mutex::new(fastrand::Rng::with_seed(seed)) }
    }

    /// A clock with the same time, for an engine.
    pub(crate) fn clock(&self) -> Clock {
        let Self { start, begun, .. } = *self;
        Clock::from_fn(move || start + begun.elapsed())
    }
}

impl Ambient for SimulatedWorld {
    fn since_epoch(&self) -> Duration {
        self.start + self.begun.elapsed()
    }

    fn monotonic(&self) -> Duration {
        self.begun.elapsed()
    }

    fn entropy(&self) -> u128 {
        self.random.lock().unwrap_or_else(PoisonError::into_inner).u128(..)
    }
}
