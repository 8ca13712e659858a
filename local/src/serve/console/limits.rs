//! Every cap of the console, each with its reason.

use lately_model::PageSize;

/// The longest time for which a partition may be throttled. Throttles end by themselves.
pub(super) const THROTTLE_SECONDS: f64 = 300.0;

/// The most throttles at once: every call is compared with each of them.
pub(super) const THROTTLES: usize = 20;

/// The longest delay of the stream's deliveries.
pub(super) const STREAM_DELAY_SECONDS: f64 = 60.0;

/// The longest delay of an index.
pub(super) const INDEX_DELAY_SECONDS: f64 = 60.0;

/// The most failed batches in a list.
pub(super) const FAILURES: usize = 100;

/// The most topics whose consumers are listed.
pub(super) const TOPICS: PageSize = size(100);

/// The most bytes of a report that are shown.
pub(super) const REPORT_BYTES: u64 = 1024 * 1024;

/// The most buckets of a topic whose shards are counted: one page of the directory.
pub(super) const BUCKETS: i32 = 32;

/// The most events of a partition that are counted.
pub(super) const COUNTED: usize = 10_000;

/// The most followers of a source whose feeds are searched for an event.
pub(super) const FOLLOWERS: PageSize = size(25);

/// The most bytes of a traced response: a page of 2.5 MB, and what JSON adds.
pub(super) const TRACED_BYTES: usize = 8 * 1024 * 1024;

const fn size(entries: u16) -> PageSize {
    match PageSize::new(entries) {
        Ok(size) => size,
        Err(_) => PageSize::MAX,
    }
}
