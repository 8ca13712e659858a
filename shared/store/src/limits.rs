//! Every cap of this crate, each with its reason.

use std::time::Duration;

/// Items in one `BatchWriteItem`: DynamoDB's cap.
pub const BATCH_ITEMS: usize = 25;

/// Batch calls of one request under way at once: 500 events are 20 calls, five rounds of four.
pub const BATCHES_AT_ONCE: usize = 4;

/// Queries of one page under way at once. A bucket of up to 64 shards is read in one go.
pub const QUERIES_AT_ONCE: usize = 64;

/// Queries of one page in all. A page that needs more ends early and says so.
pub const QUERIES_PER_PAGE: u32 = 1_024;

/// Buckets of one wave, at most.
pub const WAVE_BUCKETS: usize = 16;

/// Directory entries read by one query.
pub const DIRECTORY_ENTRIES: u16 = 32;

/// Directory queries of one page: 2,048 buckets looked at, most of them without what is wanted.
pub const DIRECTORY_QUERIES_PER_PAGE: u32 = 64;

/// Events a page may look at to find those that match its filter: at 512 bytes, 2 MiB and 256 read units.
pub const FILTERED_ITEMS_PER_PAGE: u32 = 4_096;

/// Events a filtering query looks at first; each further round looks at twice as many.
pub const FILTERED_ITEMS_AT_FIRST: u32 = 128;

/// A page's size as sent. Lambda answers at most 6 MB, and text grows when it is escaped on the way.
pub const PAGE_BYTES: usize = 3_000_000;

/// Types that a bucket's directory entry lists. A bucket with more is taken to hold any type, so the entry
/// stays small however many types a client makes up.
pub const TYPES_PER_BUCKET: usize = 128;

/// How long after its query was sent a directory page may be used (D3).
pub const DIRECTORY_AGE: Duration = Duration::from_secs(1);

/// How long a topic's settings may be used. A change is seen by every process after that.
pub const TOPIC_AGE: Duration = Duration::from_secs(5);

/// How far behind now an oldest-first page ends: ids are given before writes land.
pub const ASCENDING_LAG_MILLIS: u64 = 2_000;

/// How long a directory entry outlives the last of its events.
pub const DIRECTORY_GRACE_SECONDS: u64 = 30 * 24 * 60 * 60;

/// How long an idempotency key is remembered.
pub const IDEMPOTENCY_SECONDS: u64 = 24 * 60 * 60;

/// How long the index of sessions may be behind before an id that it does not list is taken to be of no session.
/// It is behind by milliseconds, as a rule.
pub const LISTING_SECONDS: u64 = 60;

/// Looks at the index for a session that may not be listed yet; with the waits between them, about two seconds.
pub const LISTING_LOOKS: u32 = 6;

/// The first wait between two such looks is at most this, each further one at most twice the one before.
pub const LISTING_WAIT: Duration = Duration::from_millis(100);

/// Sessions that are listed at once.
pub const LISTED_SESSIONS: i32 = 100;

/// Topics, directory entries and directory pages kept in memory. An entry is a few hundred bytes.
pub const CACHED_TOPICS: usize = 1_024;
/// See [`CACHED_TOPICS`].
pub const CACHED_ENTRIES: usize = 4_096;
/// See [`CACHED_TOPICS`].
pub const CACHED_DIRECTORY_PAGES: usize = 512;

/// Attempts of one call, at most; the deadline of the operation usually comes first.
pub const ATTEMPTS: u32 = 12;

/// The first wait between two attempts is at most this, each further one at most twice the one before.
pub const FIRST_WAIT: Duration = Duration::from_millis(25);

/// No wait between two attempts is longer.
pub const LONGEST_WAIT: Duration = Duration::from_millis(800);

/// Rounds in which a read, a decision and a conditional write may lose against other writers.
pub const CONFLICTS: u32 = 16;

/// The expected size of an event before any was seen, in bytes as stored.
pub const EXPECTED_EVENT_BYTES: u32 = 512;

const _: () = {
    assert!(WAVE_BUCKETS <= QUERIES_AT_ONCE);
    assert!(QUERIES_PER_PAGE as usize >= 2 * lately_keys::limits::SHARDS as usize);
    assert!(TYPES_PER_BUCKET * (lately_keys::limits::EVENT_TYPE_BYTES + 1) < 16 * 1024);
};
