//! Every cap of this crate, each with its reason.
//!
//! What a run holds in memory at once, whatever its size: what the store reads ahead (32 MiB), one segment with its ids
//! (19 MiB) and the summary's groups (25 MiB when full, 60 if each sum has hundreds of digits) while it reads; four parts
//! and the one being filled (40 MiB) when it puts the file together. With the process itself, under 192 MiB.

use std::time::Duration;

use lately_keys::limits::{NAME_BYTES, SUBJECT_BYTES};
use lately_model::limits::EVENT_BYTES;

/// A segment's size, before its last event: one put, and the most that a crash makes an attempt write again in vain.
pub const SEGMENT_BYTES: usize = 16 * MIB;

/// Longest line: an event's data is less than what was sent, and around it are an id, a time, names and punctuation.
pub const LINE_BYTES: usize = EVENT_BYTES + 1024;

/// An id in a file of ids.
pub const ID_BYTES: usize = 16;

/// Ids between two entries of the table of a file of ids: 64 KiB are read to look one up; the table of ten million
/// has 39 KiB.
pub const BLOCK_IDS: usize = 4_096;

/// Blocks read at once when ids are looked up.
pub const BLOCKS_AT_ONCE: usize = 8;

/// Blocks of the last file that are kept, 4 MiB: those of a file of 262,144 ids are read once in a run.
pub const BLOCKS_KEPT: usize = 64;

/// One part of an upload. S3 takes 10,000 parts of at least 5 MiB: files of up to 78 GiB.
pub const PART_BYTES: usize = 8 * MIB;

/// Parts of one upload under way at once.
pub const PARTS_AT_ONCE: usize = 4;

/// What is handed to an upload at once, where the bytes are made and not passed through.
pub const CHUNK_BYTES: usize = 64 * 1024;

/// Groups of a summary that are counted one by one; what belongs to no group that is there then is counted together.
pub const GROUPS: usize = 100_000;

/// Most digits of a number that is summed, written out without an exponent: more than any currency or float needs, and
/// `1e999999999` costs nothing.
pub const NUMBER_DIGITS: usize = 400;

/// Late events that are read at once: one call of DynamoDB's.
pub const LATE_EVENTS_AT_ONCE: usize = 100;

/// How long before its time is over an invocation stops reading: to write what it has and where it was. A call of the
/// store may take that long.
pub const SAVE_RESERVE: Duration = Duration::from_secs(20);

/// How fast a file is put together at the least: Lambda's network is several times as fast. An invocation that has less
/// time left than this says leaves it to the next one, which has all of its own: within 270 seconds, 5 GiB.
pub const ASSEMBLED_BYTES_PER_SECOND: u64 = 20 * 1024 * 1024;

/// How long after its time an invocation keeps its run to itself: the platform has ended it by then.
pub const LEASE_MARGIN: Duration = Duration::from_secs(10);

/// Attempts of one call of the bucket, beyond the first. Longer faults are for the next invocation.
pub const BUCKET_RETRIES: usize = 4;

/// How long a call of the bucket may be tried again.
pub const BUCKET_RETRY_TIMEOUT: Duration = Duration::from_secs(15);

/// How long one attempt of a call of the bucket may take: a segment, at 1 MiB a second.
pub const BUCKET_CALL_TIMEOUT: Duration = Duration::from_secs(20);

/// How long a connection to the bucket may take.
pub const BUCKET_CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// How long before they expire credentials are renewed: longer than a call of the bucket takes, with all its attempts.
pub const CREDENTIALS_MARGIN: Duration = Duration::from_secs(60);

const MIB: usize = 1024 * 1024;

const _: () = {
    assert!(PART_BYTES >= 5 * MIB);
    assert!(CHUNK_BYTES <= PART_BYTES);
    // An id, a time, a type, an actor, a subject, and the names of all fields.
    assert!(EVENT_BYTES + 36 + 24 + 64 + NAME_BYTES + SUBJECT_BYTES + 80 <= LINE_BYTES);
    assert!(PART_BYTES * (PARTS_AT_ONCE + 1) <= 40 * MIB);
    // An event has at least 110 bytes as a line.
    assert!(SEGMENT_BYTES + LINE_BYTES + SEGMENT_BYTES / 110 * ID_BYTES <= 19 * MIB);
    assert!((BUCKET_RETRY_TIMEOUT.as_secs() + BUCKET_CALL_TIMEOUT.as_secs()) < CREDENTIALS_MARGIN.as_secs());
    assert!(BUCKET_CALL_TIMEOUT.as_secs() <= SAVE_RESERVE.as_secs());
};
