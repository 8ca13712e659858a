//! The limits of stored items, each with its reason.

use lately_keys::limits::{NAME_BYTES, SUBJECT_BYTES};

/// Largest entry of a source's timeline or a feed: one write unit.
pub const ENTRY_BYTES: usize = 1024;

/// The longest key of an entry, with the names of its attributes: a subject's timeline, and an inverted id.
pub(crate) const ENTRY_KEY_BYTES: usize =
    "pk".len() + "SOURCE#subject:#SHARD63".len() + SUBJECT_BYTES + "sk".len() + SORT_KEY_TEXT_BYTES;

/// An inverted id as text.
const SORT_KEY_TEXT_BYTES: usize = 36;

/// Fan-out recognises events that are written to a deleted topic, with an earlier retention, or by an erased actor, for
/// this long, and users who unfollowed a source. The stream holds a record for a day. Items that still name
/// an erased person expire after this time, too.
pub const ENDING_MARK_SECONDS: u64 = 2 * 24 * 60 * 60;

/// A job expires after this. A job whose record fails is retried for a day.
pub const JOB_SECONDS: u64 = 2 * 24 * 60 * 60;

/// An idempotency key is remembered for this long.
pub const IDEMPOTENCY_SECONDS: u64 = 24 * 60 * 60;

/// The deletion of an event that came under an idempotency key is remembered for this long: longer than any retry of
/// its request can last. The key was recorded before the deletion, so one more day is plenty.
pub const DELETION_SECONDS: u64 = 2 * IDEMPOTENCY_SECONDS;

/// The age up to which the keys of an issuer of JWTs are stored and used, while the issuer does not respond.
pub const ISSUER_KEYS_SECONDS: u64 = 24 * 60 * 60;

const _: () = assert!("FEED#".len() + NAME_BYTES <= "SOURCE#subject:".len() + SUBJECT_BYTES);
