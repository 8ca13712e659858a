//! The only file that reads the clocks. All other code takes the time as an argument or from an [`Ambient`](crate::Ambient).

use std::time::{Duration, Instant, SystemTime};

/// The time since 1970 by the system's clock, which may stand still or step back.
pub fn unix_now() -> Duration {
    // A clock set before 1970 reads as 1970. Ids still increase, and every event shows the wrong year.
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

/// The monotonic clock: it never steps back, but may stand still while the process is frozen.
pub fn monotonic_now() -> Instant {
    Instant::now()
}
