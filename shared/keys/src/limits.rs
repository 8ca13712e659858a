//! All caps of this crate, each with its reason.
//!
//! Their relations are asserted at compile time, so that no cap can exceed what another cap or DynamoDB allows.

/// Longest name of a topic, actor, user, app or consumer. It holds an e-mail address or a UUID with a prefix, and a key
/// of three names stays far below DynamoDB's cap.
pub const NAME_BYTES: usize = 128;

/// Longest subject: as long as a name, so that the length of a source has one bound.
pub const SUBJECT_BYTES: usize = 128;

/// Longest owner and longest repository name: `repo:{owner}:{repo}` must fit into a subject.
pub const REPO_PART_BYTES: usize = 60;

/// Longest event type. It is part of the `type` view's partition key and of many small items.
pub const EVENT_TYPE_BYTES: usize = 64;

/// Longest idempotency key that a client may send.
pub const IDEMPOTENCY_KEY_BYTES: usize = 128;

/// Most shards of a bucket or of a source's followers: one byte of an id names the shard.
pub const SHARDS: u16 = 256;

/// Most spreads of a bucket. Their text stays within 2 KB, so the directory entry costs few units.
pub const SPREADS: usize = 64;

/// Highest issue number: numbers are stored with eight digits.
pub const ISSUE_NUMBER: u32 = 99_999_999;

/// Longest text of a cursor. Longer text is refused without decoding.
pub const CURSOR_TEXT_BYTES: usize = 256;

/// DynamoDB's cap on sort keys, the lower of its two caps on keys (a partition key may have 2,048 bytes).
pub const SORT_KEY_BYTES: usize = 1024;

/// Length of a UUID as hyphenated text.
pub(crate) const UUID_TEXT_BYTES: usize = 36;

/// Longest text of a source: its tag and its name.
pub(crate) const SOURCE_BYTES: usize = "subject:".len() + SUBJECT_BYTES;

/// Longest text of a caller: its tag and its user name.
pub(crate) const CALLER_BYTES: usize = "session:".len() + NAME_BYTES;

const _: () = {
    assert!("repo:".len() + REPO_PART_BYTES + 1 + REPO_PART_BYTES <= SUBJECT_BYTES);
    assert!(SUBJECT_BYTES >= NAME_BYTES);
    assert!(SHARDS as usize == 1 + u8::MAX as usize);
    assert!(SHARDS.is_power_of_two());
    // The longest key is the idempotency item's, which is also its sort key.
    assert!("IDEMPOTENCY###".len() + CALLER_BYTES + NAME_BYTES + IDEMPOTENCY_KEY_BYTES <= SORT_KEY_BYTES);
    assert!("JOB#BACKFILL####".len() + UUID_TEXT_BYTES + SOURCE_BYTES + 3 <= SORT_KEY_BYTES);
};
