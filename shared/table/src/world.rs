//! The real clocks and random source, in the form that the store expects.

use std::time::{Duration, Instant};

use crate::{Ambient, clock};

/// The real clocks and random source.
#[derive(Clone, Copy, Debug)]
pub struct World {
    started: Instant,
}

impl World {
    /// A world whose monotonic clock starts now.
    pub fn new() -> Self {
        Self { started: clock::monotonic_now() }
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

impl Ambient for World {
    fn since_epoch(&self) -> Duration {
        clock::unix_now()
    }

    fn monotonic(&self) -> Duration {
        clock::monotonic_now().duration_since(self.started)
    }

    fn entropy(&self) -> u128 {
        random_u128()
    }
}

/// 128 random bits from this thread's generator, which is seeded from the operating system. They are not fit for secrets.
pub fn random_u128() -> u128 {
    fastrand::u128(..)
}
