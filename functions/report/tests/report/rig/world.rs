//! Time in the tests: one true time, and processes whose clocks differ from it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lately_engine::Clock;
use lately_keys::UnixMillis;
use lately_store::Ambient;
use tokio::time::Instant;

/// 2026-03-14T12:00:00Z, in seconds.
const START: Duration = Duration::from_secs(1_773_489_600);

/// The paused clock of the test's runtime, and random numbers from a seed.
#[derive(Clone, Debug)]
pub(crate) struct World {
    begun: Instant,
    random: Arc<Mutex<fastrand::Rng>>,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        Self { begun: Instant::now(), random: Arc::new(Mutex::new(fastrand::Rng::with_seed(seed))) }
    }

    /// The true time.
    pub(crate) fn now(&self) -> UnixMillis {
        millis(START + self.begun.elapsed())
    }

    /// The true time as a clock for DynamoDB.
    pub(crate) fn clock(&self) -> Clock {
        let begun = self.begun;
        Clock::from_fn(move || START + begun.elapsed())
    }

    /// A process with correct clocks.
    pub(crate) fn process(&self) -> Process {
        Process { world: self.clone(), ahead: Duration::ZERO, behind: Duration::ZERO, is_frozen: false }
    }
}

/// A process's own clocks.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    world: World,
    ahead: Duration,
    behind: Duration,
    is_frozen: bool,
}

impl Process {
    /// The process with a wall clock that is `ahead` of the true time.
    pub(crate) fn ahead(self, ahead: Duration) -> Self {
        Self { ahead, ..self }
    }

    /// The process with a wall clock that is `behind` the true time.
    pub(crate) fn behind(self, behind: Duration) -> Self {
        Self { behind, ..self }
    }

    /// The process as frozen while others work: no time passes for it.
    pub(crate) fn frozen(self) -> Self {
        Self { is_frozen: true, ..self }
    }
}

impl Ambient for Process {
    fn since_epoch(&self) -> Duration {
        START + self.world.begun.elapsed() + self.ahead - self.behind
    }

    fn monotonic(&self) -> Duration {
        if self.is_frozen { Duration::ZERO } else { self.world.begun.elapsed() }
    }

    fn entropy(&self) -> u128 {
        self.world.random.lock().unwrap().u128(..)
    }
}

fn millis(time: Duration) -> UnixMillis {
    UnixMillis::new(u64::try_from(time.as_millis()).unwrap()).unwrap()
}
