//! Every cap of this crate, each with its reason.

/// Most events of a batch: 20 calls of DynamoDB's 25 items each, which fit into one request's time.
pub const BATCH_EVENTS: usize = 500;

/// Largest body, in bytes. A function is called with at most 6 MB of JSON, in which the body is a string:
/// quotes are escaped, or the whole is base64.
pub const BODY_BYTES: usize = 3 * 1024 * 1024;

/// Largest event, in bytes of its text as it was sent. An item, with keys and overhead, has at most 400 KB.
pub const EVENT_BYTES: usize = 256 * 1024;

/// Deepest nesting of arrays and objects in an event's data: `1` has depth 0, `[]` has depth 1.
/// Common readers of JSON stop at 64 levels, and a page puts three around an event's data.
pub const DATA_DEPTH: usize = 60;

/// How far ahead of our clock an event's time may be: clients' clocks differ.
pub const FUTURE_SECONDS: u64 = 5;

/// How far behind our clock an event's time may be before it is an import.
pub const IMPORT_SECONDS: u64 = 60;

/// Most entries of a page.
pub const PAGE_SIZE: u16 = 200;

/// Entries of a page whose size the client leaves to us.
pub const PAGE_SIZE_DEFAULT: u16 = 50;

/// Most events from before a follow that a feed is filled with: a page of the largest size.
pub const BACKFILL: u16 = PAGE_SIZE;

/// Events from before a follow that a feed is filled with if the client does not say: a page.
pub const BACKFILL_DEFAULT: u16 = PAGE_SIZE_DEFAULT;

/// Longest retention: about a century. Who wants more wants no retention at all.
pub const RETENTION_DAYS: u16 = 36_500;

/// Most shards that a topic's buckets may grow to, if its creator does not say.
pub const MAX_SHARDS_DEFAULT: u16 = 64;

/// Longest name of a field that a report sums: it is part of the run's item.
pub const SUM_FIELD_BYTES: usize = 128;

/// How far behind now a consumer may stay: an hour, which is as long as writes are known to stall.
pub const SETTLE_SECONDS: u16 = 3_600;

/// How far behind now a consumer stays if its creator does not say: longer than the stream takes to tell of a write.
pub const SETTLE_SECONDS_DEFAULT: u16 = 10;

/// Most events that a poll gives.
pub const POLL_EVENTS: u16 = 1_000;

/// Events that a poll gives if the client does not say.
pub const POLL_EVENTS_DEFAULT: u16 = 100;

/// Longest life of a session: a year. Who wants more renews it.
pub const SESSION_SECONDS: u32 = 365 * 24 * 60 * 60;

/// Most topics that a session is limited to. The gateway hands the list on with every request.
pub const SESSION_TOPICS: usize = 50;

/// Longest title of an issue: a line, which its event tells too.
pub const ISSUE_TITLE_CHARACTERS: usize = 256;

/// Longest body of an issue: a long report. Issues are listed whole, up to 200 of them.
pub const ISSUE_BODY_BYTES: usize = 64 * 1024;

/// Longest label: a few words.
pub const ISSUE_LABEL_BYTES: usize = 50;

/// Most labels of an issue. They stand in its item, and in every list of it.
pub const ISSUE_LABELS: usize = 20;

/// Unknown or repeated fields of one object that are named one by one; the rest is counted. A body of
/// nothing else must not make an answer many times its size.
pub const NAMED_FIELDS: usize = 16;

/// Longest field name that is repeated in a fault; a longer one is pointed at by its object.
pub const NAMED_FIELD_BYTES: usize = 128;

/// What keys and small attributes add to an event's item, generously.
const ITEM_OVERHEAD_BYTES: usize = 8 * 1024;

const _: () = {
    assert!(EVENT_BYTES + ITEM_OVERHEAD_BYTES <= 400 * 1000);
    assert!(EVENT_BYTES <= BODY_BYTES);
    assert!(ISSUE_BODY_BYTES + ISSUE_LABELS * ISSUE_LABEL_BYTES + ITEM_OVERHEAD_BYTES <= 400 * 1000);
    // Base64, and room for headers.
    assert!(BODY_BYTES.div_ceil(3) * 4 + 64 * 1024 <= 6 * 1000 * 1000);
    assert!(DATA_DEPTH + 3 < 64);
    assert!(PAGE_SIZE_DEFAULT <= PAGE_SIZE);
    assert!(MAX_SHARDS_DEFAULT.is_power_of_two() && MAX_SHARDS_DEFAULT <= lately_keys::limits::SHARDS);
};
