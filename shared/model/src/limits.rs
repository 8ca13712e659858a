//! All caps of this crate, each with its reason.

/// Most events of a batch: 20 calls to DynamoDB with 25 items each, which fit into one request's time.
pub const BATCH_EVENTS: usize = 500;

/// Largest body, in bytes. Lambda passes at most 6 MB of JSON to a function, with the body as a JSON string in it, with
/// escaped quotes, or as base64.
pub const BODY_BYTES: usize = 3 * 1024 * 1024;

/// Largest event, in bytes of the text that the client sent. An item has at most 400 KB, keys and overhead included.
pub const EVENT_BYTES: usize = 256 * 1024;

/// Deepest nesting of arrays and objects in an event's data: `1` has depth 0, `[]` has depth 1. Common JSON readers
/// stop at 64 levels, and a page adds three around an event's data.
pub const DATA_DEPTH: usize = 60;

/// Most seconds that an event's time may be ahead of our clock: clients' clocks differ.
pub const FUTURE_SECONDS: u64 = 5;

/// Seconds behind our clock beyond which an event is an import.
pub const IMPORT_SECONDS: u64 = 60;

/// Most entries of a page.
pub const PAGE_SIZE: u16 = 200;

/// Entries of a page if the client does not say.
pub const PAGE_SIZE_DEFAULT: u16 = 50;

/// Most seconds for which an empty page waits for an event. API Gateway waits 30 seconds for a response.
pub const WAIT_SECONDS: u8 = 25;

/// Most earlier events that a follow copies into a feed: a page of the largest size.
pub const BACKFILL: u16 = PAGE_SIZE;

/// Earlier events that a follow copies into a feed if the client does not say: a page of the default size.
pub const BACKFILL_DEFAULT: u16 = PAGE_SIZE_DEFAULT;

/// Longest retention: about a century. To store events longer, set no retention.
pub const RETENTION_DAYS: u16 = 36_500;

/// Most shards that a topic's buckets may grow to if its creator does not say.
pub const MAX_SHARDS_DEFAULT: u16 = 64;

/// Longest name of a field that a report sums: it is stored in the run's item.
pub const SUM_FIELD_BYTES: usize = 128;

/// Most seconds that a consumer may stay behind the present: an hour, the longest time for which writes are known to
/// stall.
pub const SETTLE_SECONDS: u16 = 3_600;

/// Seconds that a consumer stays behind the present if its creator does not say: longer than a write takes to appear in
/// the stream.
pub const SETTLE_SECONDS_DEFAULT: u16 = 10;

/// Most events that a poll returns.
pub const POLL_EVENTS: u16 = 1_000;

/// Events that a poll returns if the client does not say.
pub const POLL_EVENTS_DEFAULT: u16 = 100;

/// Most writes or reads a minute that a caller's limit may allow: beyond this, the gateway's own limits matter first.
pub const REQUESTS_PER_MINUTE: u32 = 100_000;

/// Longest life of a session: a year. For longer access, create a new session.
pub const SESSION_SECONDS: u32 = 365 * 24 * 60 * 60;

/// Most topics that a session may be limited to. The gateway passes the list on with every request.
pub const SESSION_TOPICS: usize = 50;

/// Longest title of an issue: one line, which the issue's events contain too.
pub const ISSUE_TITLE_CHARACTERS: usize = 256;

/// Longest body of an issue: a long report. Lists contain whole issues, up to 200 of them.
pub const ISSUE_BODY_BYTES: usize = 64 * 1024;

/// Longest label: a few words.
pub const ISSUE_LABEL_BYTES: usize = 50;

/// Most labels of an issue. The issue's item and every list contain them.
pub const ISSUE_LABELS: usize = 20;

/// Unknown or repeated fields of one object that are named individually; further ones are only counted. So a body of
/// nothing else cannot cause a response many times its size.
pub const NAMED_FIELDS: usize = 16;

/// Longest field name that a fault repeats. A fault of a longer name points at the object.
pub const NAMED_FIELD_BYTES: usize = 128;

/// Room for keys and small attributes in an event's item, generously estimated.
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
