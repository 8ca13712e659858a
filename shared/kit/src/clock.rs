//! The one place that reads the clocks. Everything below takes readings as arguments.

use std::time::{Duration, Instant, SystemTime};

/// The time since 1970, by the system's clock. It may stand still, or step back.
#[must_use]
pub fn unix_now() -> Duration {
    // A clock set before 1970 reads as 1970: ids still increase, and the wrong year shows in every event.
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

/// The time that passes, by a clock that never steps back; it may stand still while the process is frozen.
#[must_use]
pub fn monotonic_now() -> Instant {
    Instant::now()
}
