//! Simulated time: one true time, and processes whose clocks may differ from it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lately_engine::Clock;
use lately_keys::UnixMillis;
use lately_table::{Ambient, now};
use tokio::time::Instant;

/// The default moment at which a world begins: 2026-03-14T12:00:00Z.
pub const START: Duration = Duration::from_secs(1_773_489_600);

/// The true time, which is the runtime's paused clock, and random numbers from a seed.
#[derive(Clone, Debug)]
pub struct World {
    start: Duration,
    begun: Instant,
    random: Arc<Mutex<fastrand::Rng>>,
    /// The time by which the wall clocks of this world's processes are ahead.
    ahead: Arc<Mutex<Duration>>,
}

impl World {
    /// A world that begins at [`START`].
    pub fn new(seed: u64) -> Self {
        Self::beginning(START, seed)
    }

    /// A world that begins at a moment since 1970.
    pub fn beginning(start: Duration, seed: u64) -> Self {
        let random = Arc::new(Mutex::new(fastrand::Rng::with_seed(seed)));
        Self { start, begun: Instant::now(), random, ahead: Arc::default() }
    }

    /// Sets the wall clock of this world's processes ahead of the true time.
    pub fn shift(&self, ahead: Duration) {
        *lock(&self.ahead) = ahead;
    }

    /// The time, as a process with right clocks reads it.
    pub fn now(&self) -> UnixMillis {
        now(&self.process())
    }

    /// The true time, for an engine.
    pub fn clock(&self) -> Clock {
        let Self { start, begun, .. } = *self;
        Clock::from_fn(move || start + begun.elapsed())
    }

    /// A process whose clocks are right.
    pub fn process(&self) -> Process {
        Process { world: self.clone(), ahead: Duration::ZERO, behind: Duration::ZERO, is_frozen: false }
    }
}

/// A world is a process whose clocks are right.
impl Ambient for World {
    fn since_epoch(&self) -> Duration {
        self.process().since_epoch()
    }

    fn monotonic(&self) -> Duration {
        self.process().monotonic()
    }

    fn entropy(&self) -> u128 {
        self.process().entropy()
    }
}

/// A process with clocks of its own.
#[derive(Clone, Debug)]
pub struct Process {
    world: World,
    ahead: Duration,
    behind: Duration,
    is_frozen: bool,
}

impl Process {
    /// The process's wall clock is ahead of the true time.
    pub fn ahead(self, ahead: Duration) -> Self {
        Self { ahead, ..self }
    }

    /// The process's wall clock is behind the true time.
    pub fn behind(self, behind: Duration) -> Self {
        Self { behind, ..self }
    }

    /// The process is frozen while others work: its monotonic clock stands still.
    pub fn frozen(self) -> Self {
        Self { is_frozen: true, ..self }
    }
}

impl Ambient for Process {
    fn since_epoch(&self) -> Duration {
        let World { start, begun, ahead, .. } = &self.world;
        *start + begun.elapsed() + *lock(ahead) + self.ahead - self.behind
    }

    fn monotonic(&self) -> Duration {
        if self.is_frozen { Duration::ZERO } else { self.world.begun.elapsed() }
    }

    fn entropy(&self) -> u128 {
        lock(&self.world.random).u128(..)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
