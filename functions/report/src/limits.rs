//! All caps of this crate, each with its reason.
//!
//! Most memory of a run, whatever the run's size. While it reads: the store's read-ahead (32 MiB), one segment with its
//! ids (19 MiB) and the summary's groups (25 MiB when full, 60 MiB if each sum has hundreds of digits). While it
//! assembles the file: four parts and the one being filled (40 MiB). With the process itself, this is under 192 MiB.

use std::time::Duration;

use lately_keys::limits::{NAME_BYTES, SUBJECT_BYTES};
use lately_model::limits::EVENT_BYTES;

/// Size of a segment before its last event. A segment is one put, and the most that an attempt loses in a crash.
pub const SEGMENT_BYTES: usize = 16 * MIB;

/// Longest line. An event's data is smaller than the event was in its request; an id, a time, names and punctuation are
/// added.
pub const LINE_BYTES: usize = EVENT_BYTES + 1024;

/// Bytes of an id in a file of ids.
pub const ID_BYTES: usize = 16;

/// Ids per block of a file of ids. To look up one id, 64 KiB are read; the table of ten million ids has 39 KiB.
pub const BLOCK_IDS: usize = 4_096;

/// Blocks that are read at once when ids are looked up.
pub const BLOCKS_AT_ONCE: usize = 8;

/// Size of an upload's part. S3 accepts 10,000 parts of at least 5 MiB, so files may have up to 78 GiB.
pub const PART_BYTES: usize = 8 * MIB;

/// Parts of one upload that are sent at once.
pub const PARTS_AT_ONCE: usize = 4;

/// Bytes handed to an upload at once, if they are generated and not passed through.
pub const CHUNK_BYTES: usize = 64 * 1024;

/// Groups of a summary that are counted individually. Once there are so many, all events of further groups are counted
/// together.
pub const GROUPS: usize = 100_000;

/// Most digits of a summed number, written out without an exponent. No currency or float needs more, and `1e999999999`
/// costs nothing.
pub const NUMBER_DIGITS: usize = 400;

/// Late events that are read at once: one call to DynamoDB.
pub const LATE_EVENTS_AT_ONCE: usize = 100;

/// Time before its deadline at which an invocation stops reading, to save its segment and its progress. One call of the
/// store may take that long.
pub const SAVE_RESERVE: Duration = Duration::from_secs(20);

/// Least speed of assembling a file. Lambda's network is several times faster. An invocation with less time than
/// this speed requires leaves the work to the next invocation, which has its whole time for it: 5 GiB in 270 seconds.
pub const ASSEMBLED_BYTES_PER_SECOND: u64 = 20 * 1024 * 1024;

/// Time for which an invocation's lease on the run outlasts its deadline. The platform has ended the invocation by
/// then.
pub const LEASE_MARGIN: Duration = Duration::from_secs(10);

/// Retries of one call to the bucket. If a fault lasts longer, the next invocation continues the run.
pub const BUCKET_RETRIES: usize = 4;

/// Time within which a call to the bucket may be retried.
pub const BUCKET_RETRY_TIMEOUT: Duration = Duration::from_secs(15);

/// Timeout of one attempt of a call to the bucket: a segment at 1 MiB a second.
pub const BUCKET_CALL_TIMEOUT: Duration = Duration::from_secs(20);

/// Timeout of connecting to the bucket.
pub const BUCKET_CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// Time before their expiry at which credentials are renewed: longer than a call to the bucket takes with all its
/// attempts.
pub const CREDENTIALS_MARGIN: Duration = Duration::from_secs(60);

const MIB: usize = 1024 * 1024;

const _: () = {
    assert!(PART_BYTES >= 5 * MIB);
    assert!(CHUNK_BYTES <= PART_BYTES);
    // An id, a time, a type, an actor, a subject, and the names of all fields.
    assert!(EVENT_BYTES + 36 + 24 + 64 + NAME_BYTES + SUBJECT_BYTES + 80 <= LINE_BYTES);
    assert!(PART_BYTES * (PARTS_AT_ONCE + 1) <= 40 * MIB);
    // An event's line has at least 110 bytes.
    assert!(SEGMENT_BYTES + LINE_BYTES + SEGMENT_BYTES / 110 * ID_BYTES <= 19 * MIB);
    assert!((BUCKET_RETRY_TIMEOUT.as_secs() + BUCKET_CALL_TIMEOUT.as_secs()) < CREDENTIALS_MARGIN.as_secs());
    assert!(BUCKET_CALL_TIMEOUT.as_secs() <= SAVE_RESERVE.as_secs());
};
