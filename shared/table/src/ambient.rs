//! The clocks and the random source that an operation reads.
//!
//! A program gives them to the store as a value. So a test can provide its own, and only a program's `main` reads the
//! real ones.

use std::fmt::Debug;
use std::time::Duration;

use lately_keys::{Tick, TimeError, UnixMillis};

/// The clocks and the random source.
pub trait Ambient: Debug + Send + Sync + 'static {
    /// The time since 1970, by the wall clock.
    fn since_epoch(&self) -> Duration;

    /// The time since some fixed moment, by a clock that never steps back.
    fn monotonic(&self) -> Duration;

    /// Random bits.
    fn entropy(&self) -> u128;
}

/// The wall clock's reading as a [`Tick`].
///
/// # Errors
/// If the clock is outside of the years that ids can hold.
pub fn tick(ambient: &dyn Ambient) -> Result<Tick, TimeError> {
    Tick::from_unix(ambient.since_epoch())
}

/// The wall clock's reading in milliseconds, capped at the last millisecond of 9999.
pub fn now(ambient: &dyn Ambient) -> UnixMillis {
    tick(ambient).map_or(UnixMillis::MAX, Tick::at)
}

/// The low 64 bits of new random bits.
pub fn entropy_u64(ambient: &dyn Ambient) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = ambient.entropy().to_le_bytes();
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}
