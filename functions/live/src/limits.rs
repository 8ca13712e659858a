//! All caps of this crate, each with its reason.

use std::time::Duration;

/// A stream ends after this at the latest. The function's time is 15 minutes, which is the longest that Lambda allows. On
/// AWS the parameter `LiveSeconds` sets less, because Lambda does not notice that a client has gone.
pub const STREAM_TIME: Duration = Duration::from_secs(14 * 60);

/// The part of a stream's time over which its end is spread, so that clients that came together do not come back together.
pub const STREAM_TIME_SPREAD: u32 = 10;

/// The pause between two checks of the caller's access.
pub const ACCESS_EVERY: Duration = Duration::from_secs(55);

/// If nothing was sent for this long, a comment is sent: proxies close connections that are silent for a minute or so.
pub const HEARTBEAT: Duration = Duration::from_secs(15);

/// The pause after which a client connects again, if it applies the stream's `retry`.
pub const RETRY_MILLIS: u32 = 1_000;

/// The most bytes of a problem.
pub const PROBLEM_BYTES: usize = 64 * 1024;

const _: () = {
    assert!(ACCESS_EVERY.as_secs() < 60);
};
