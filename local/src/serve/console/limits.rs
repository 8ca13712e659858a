//! Every cap of the console, each with its reason.

use std::time::Duration;

use lately_model::PageSize;

/// The time between two heartbeats of an open stream: a page that hears nothing for longer connects again.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(10);

/// The time between two looks at the state: nobody reads changes faster than twice a second.
pub(super) const STATE_INTERVAL: Duration = Duration::from_millis(500);

/// Records that a client may be behind before it is told that it lost some: a few megabytes, and more than a burst of
/// posts and their copies leaves in the second that a browser's page may be busy.
pub(super) const RECORDS_BEHIND: u64 = 5_000;

/// Bytes of one piece of an open stream, about: what is told of waits in memory for the client, once.
pub(super) const PIECE_BYTES: usize = 64 * 1024;

/// The longest time for which a partition may be throttled: faults end by themselves.
pub(super) const THROTTLE_SECONDS: f64 = 300.0;

/// Throttles at once: each is looked at for every call.
pub(super) const THROTTLES: usize = 20;

/// The longest that deliveries of the stream may be held back.
pub(super) const STREAM_DELAY_SECONDS: f64 = 60.0;

/// The longest that an index may be behind.
pub(super) const INDEX_DELAY_SECONDS: f64 = 60.0;

/// Failures in one list.
pub(super) const FAILURES: usize = 100;

/// Topics whose consumers are listed.
pub(super) const TOPICS: PageSize = size(100);

/// A report's bytes that are shown.
pub(super) const REPORT_BYTES: u64 = 1024 * 1024;

/// Buckets of a topic whose shards are counted: as many as one read of the directory gives.
pub(super) const BUCKETS: i32 = 32;

/// Events of a partition that are counted: what is more is many.
pub(super) const COUNTED: u64 = 10_000;

/// Followers of a source in whose feeds an event is looked for.
pub(super) const FOLLOWERS: PageSize = size(25);

/// An answer's bytes that are traced: a page's 2.5 MB, and what JSON adds.
pub(super) const TRACED_BYTES: usize = 8 * 1024 * 1024;

/// Events of a topic with which the designs are compared: one batch of ours.
pub(super) const COMPARED: usize = 500;

/// Events of each design whose keys are shown.
pub(super) const SAMPLE: usize = 10;

/// Reads after which a design has not found the latest: each does as much as one read may, over partitions that hold
/// nothing.
pub(super) const READS: usize = 16;

const fn size(entries: u16) -> PageSize {
    match PageSize::new(entries) {
        Ok(size) => size,
        Err(_) => PageSize::MAX,
    }
}
