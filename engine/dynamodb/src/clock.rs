//! The engine's clock, which its user passes in.
//!
//! Expiry, stream retention, partition rates and replica lag read this clock and no other, so a test that advances a
//! manual clock advances the time of the whole table. Only this file reads the system clock.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The source of an engine's time. Clones share one time.
#[derive(Clone)]
pub struct Clock(Source);

#[derive(Clone)]
enum Source {
    Manual(Arc<AtomicU64>),
    Function(Arc<dyn Fn() -> Duration + Send + Sync>),
}

impl Clock {
    /// The system's wall clock.
    pub fn system() -> Self {
        Self::from_fn(|| SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
    }

    /// A clock that stands at `start` (since the Unix epoch) until [`Clock::advance`] moves it.
    pub fn manual(start: Duration) -> Self {
        Self(Source::Manual(Arc::new(AtomicU64::new(micros(start)))))
    }

    /// A clock that reads its time (since the Unix epoch) from `now`: a runtime's paused time, for example.
    pub fn from_fn(now: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        Self(Source::Function(Arc::new(now)))
    }

    /// Time since the Unix epoch, to the microsecond.
    pub fn now(&self) -> Duration {
        Duration::from_micros(self.now_micros())
    }

    /// Moves a manual clock forward.
    ///
    /// # Panics
    /// If the clock is not a manual one.
    pub fn advance(&self, by: Duration) {
        let Source::Manual(time) = &self.0 else {
            panic!("only a manual clock can be advanced");
        };
        time.fetch_add(micros(by), Ordering::SeqCst);
    }

    pub(crate) fn now_micros(&self) -> u64 {
        match &self.0 {
            Source::Manual(time) => time.load(Ordering::SeqCst),
            Source::Function(now) => micros(now()),
        }
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Source::Manual(_) => "Clock(manual)",
            Source::Function(_) => "Clock(function)",
        })
    }
}

/// A duration in whole microseconds. A duration above 580,000 years is clamped.
pub(crate) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_of_a_manual_clock_share_one_time() {
        let clock = Clock::manual(Duration::from_secs(10));
        let other = clock.clone();
        clock.advance(Duration::from_millis(1_500));
        assert_eq!(other.now(), Duration::from_millis(11_500));
    }
}
