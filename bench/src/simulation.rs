//! A runtime whose time passes only when nothing else can happen, and a world that takes its time from it.
//!
//! What waits, waits for no time: a month, or the retries of a throttled writer, take as long as what is done in them.
//! Random numbers come from a seed, so a run is the same on every machine.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use lately_engine::Clock;
use lately_store::Ambient;
use tokio::time::Instant;

/// Runs a future in simulated time.
pub(crate) fn simulate<T>(future: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().expect("it needs nothing");
    runtime.block_on(future)
}

/// Clocks that begin at a moment, and random numbers from a seed.
#[derive(Debug)]
pub(crate) struct SimulatedWorld {
    start: Duration,
    begun: Instant,
    random: Mutex<fastrand::Rng>,
}

impl SimulatedWorld {
    /// Within a simulation.
    pub(crate) fn new(start: Duration, seed: u64) -> Self {
        Self { start, begun: Instant::now(), random: Mutex::new(fastrand::Rng::with_seed(seed)) }
    }

    /// The same time, for an engine.
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
