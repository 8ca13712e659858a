//! The limits of this crate that several files share, that depend on each other, or that others use: each with its
//! reason. A limit of one file stands there.

use std::time::Duration;

use lately_keys::ShardCount;

/// Entries that the comparison of a feed looks at together: their keys are one `BatchGetItem`.
pub const COMPARED_ENTRIES: u32 = 100;

/// Pointers of a page that are followed first. That many events of the largest size fit a page, so no event is read in
/// vain. The size of their events decides how many pointers are followed next.
pub const POINTERS_AT_FIRST: usize = PAGE_BYTES / lately_model::limits::EVENT_BYTES;

/// Queries of one page that run at the same time. A bucket of up to 64 shards is read in one round.
pub const QUERIES_AT_ONCE: usize = 64;

/// Queries of one page in all. A page that needs more ends early and says so.
pub const QUERIES_PER_PAGE: u32 = 1_024;

/// Buckets of one wave, at most.
pub const WAVE_BUCKETS: usize = 16;

/// Read units that a count of unread entries reads, and that a page reads of one partition whose items it filters. A
/// partition provides 3,000 a second, so a caller who asks for nothing else all the time takes a small part of them. The
/// units hold 500 entries of the largest size.
pub const SEARCH_UNITS: u64 = 64;

/// Events a page may look at to find those that match its filter: at 512 bytes, 2 MiB and 256 read units.
pub const FILTERED_ITEMS_PER_PAGE: u32 = 4_096;

/// The size of a page as sent. Lambda's response has at most 6 MB, and escaping may double the page in it.
pub const PAGE_BYTES: usize = 2_500_000;

/// A directory page is used for this long after its query was sent (D3).
pub const DIRECTORY_AGE: Duration = Duration::from_secs(1);

/// A topic's settings are used for this long after they were read. After this time, every process sees a change.
pub const TOPIC_AGE: Duration = Duration::from_secs(2);

/// The most events that one step of a topic's deletion, or of a change of its retention, takes: a list of 64 KB.
pub const ENDING_EVENTS_PER_STEP: usize = 4_000;

/// The most of them that it takes from one partition, which takes 1,000 writes a second.
pub const ENDING_EVENTS_PER_PARTITION: usize = 500;

/// The most partitions that one such step goes through.
pub const ENDING_PARTITIONS: usize = 32;

/// The most entries or copies of deleted events that a step waits for, as a sample of all.
pub const AWAITED_PLACES: usize = 8;

/// The pause of a step that waits.
pub const ENDING_PAUSE: Duration = Duration::from_millis(100);

/// An erasure begins its search, and a deletion its last look, this long after their begin. By then, what was written
/// before can be seen: a topic is in the index of topics, and a transaction no longer shows only some of its items.
/// DynamoDB documents no upper bound; in practice it is below a second.
pub const ENDING_SETTLE_MILLIS: u64 = 10_000;

/// The name of a deleted topic is free this long after the deletion began, at the earliest. By then, no request is under
/// way that has read the topic before.
pub const DELETION_SETTLE_SECONDS: u64 = 60;

/// The outcome of a deletion is shown for this long.
pub const DELETION_SHOWN_SECONDS: u64 = 24 * 60 * 60;

/// The most events or entries that one step of an erasure lists.
pub const ERASED_EVENTS_PER_STEP: u32 = 500;

/// The most follows that one step of an erasure ends. Each is a transaction, and those of one source run one after
/// another.
pub const ERASED_FOLLOWS_PER_STEP: u32 = 25;

/// The pages of erased ids are kept for this long, so that a receipt can be checked against them.
pub const ERASED_IDS_SECONDS: u64 = 30 * 24 * 60 * 60;

/// An oldest-first page ends this long before now, because an event gets its id before its write lands.
pub const ASCENDING_LAG_MILLIS: u64 = 2_000;

/// Events that one look at a live timeline takes. If more land in two seconds, they are told when they have settled. Each
/// look reads the whole window again: at 512 bytes, this many events are seven read units.
pub const WINDOW_EVENTS: usize = 100;

/// Events of a page that a follower reads while it catches up.
pub const PAGE_EVENTS: usize = 200;

/// The time of a page's wait that counts as one read of the caller.
pub const WAITED_READ: Duration = Duration::from_secs(5);

/// The pause between the looks at a timeline on which nothing has come for some time. Two of them, each a tenth longer at
/// most, are within two seconds.
pub const IDLE_LOOKS: Duration = Duration::from_millis(900);

/// The pause between two reads of the names of late events. A stream ends within two seconds of its topic's deletion, of
/// which it learns by the same read; so this is shorter than two idle looks.
pub const NOTES_EVERY: Duration = Duration::from_millis(1_700);

/// Notes are read again for this long, because a note gets its id before it lands.
pub const NOTE_OVERLAP_MILLIS: u64 = 8_000;

/// A client that continues from a position of up to this age also gets the late events that were noted since: longer than
/// a client needs to connect again.
pub const RESUMED_MILLIS: u64 = 60_000;

/// DynamoDB may carry out an attempt to write an event this long after the event's time, although the attempt has timed
/// out and a later one has succeeded.
pub const WRITE_MILLIS: u64 = 15_000;

/// Fan-out notes an entry that lands this long after its event's time, if the timeline is followed. A follower looks for
/// two seconds; the difference covers differences between clocks, and reads that are eventually consistent.
pub const STORED_LATE_MILLIS: u64 = 1_000;

/// A watch holds for this long.
pub const WATCH_MILLIS: u64 = 120_000;

/// A watch is renewed this often, so that one failed renewal does not end it.
pub const WATCH_EVERY: Duration = Duration::from_secs(50);

/// Looks in a row that fail before a loop gives up. Each has the time and the retries of an operation.
pub const FAILED_LOOKS: u32 = 5;

/// The number of looks whose events wait for a slow client: 40 MB at most, because a look takes two pages of settled and
/// late events. A client that falls further behind reads the table.
pub const NEWS_KEPT: usize = 8;

/// Ids of the last events that a loop remembers, to recognise those that a note names too: those of a minute with 1,000
/// events a second, in 4 MB.
pub const REMEMBERED_IDS: usize = 65_536;

/// As [`REMEMBERED_IDS`], for one client: those of a whole window.
pub const FOLLOWER_TOLD_KEPT: usize = 256;

/// A follower gives its settled position this often. Clients are promised 15 s.
pub const SETTLED_EVERY: Duration = Duration::from_secs(10);

/// The time for each look of a page that waits. The last look begins when the wait is over.
pub const WAITING_LOOK_TIME: Duration = Duration::from_secs(3);

/// An author's own entry expires after this, if fan-out has not replaced it: the stream keeps the record that makes
/// fan-out do so for just as long.
pub const OWN_ENTRY_SECONDS: u64 = 24 * 60 * 60;

/// Followers from which on a shard counts as crowded: a conflict there means load, and the source's shards are doubled.
/// One shard takes about fifty follows a second, so a rush fills it to this number in a second or two.
pub const CROWDED_SHARD: u64 = 64;

/// Follower shards of a source that are read at the same time.
pub const SHARDS_AT_ONCE: usize = 32;

/// Most shards of a source's followers.
pub const FOLLOWER_SHARDS: ShardCount = ShardCount::MAX;

/// Sources that one feed pulls, each with its own query. A promotion may exceed this number.
pub const PULL_SOURCES: usize = 100;

/// A source with more followers than this is pulled, unless the operator sets another number.
pub const FAN_OUT_LIMIT: u64 = 10_000;

/// Followers to whom an event's own stream record pushes. A larger audience is left to jobs, which run in parallel.
pub const AUDIENCE: u16 = 100;

/// Consumers of a topic. Every batch of stream records with events of the topic reads the announcements of all of them:
/// at most 50 KB, thirteen read units.
pub const CONSUMERS: usize = 100;

/// Rails of one batch of stream records that run at the same time: a whole batch. An event's rail mostly waits for calls,
/// and holds the copies for a small audience: some KB.
pub const RAILS_AT_ONCE: usize = 100;

/// Write calls of one batch of stream records that run at the same time.
pub const WRITES_AT_ONCE: usize = 16;

/// The times that DynamoDB reports for two changes may be out of order by this much.
pub const TOLD_APART_MILLIS: u64 = 60_000;

/// Entries that one query of a backfill or a cleanup reads: at most 200 KB, so that all rails of a batch together hold
/// some megabytes.
pub const ENTRIES_PER_QUERY: u32 = 200;

/// Queries of one step of a backfill or a cleanup. A cleanup that looks at 4,000 entries of other sources takes less
/// than half a second. A backfill that copies the entries of one full query takes as long; only the backfill of a busy
/// source copies more.
pub const QUERIES_PER_STEP: u32 = 20;

/// The items of a late log are kept for this long, and the lists of reported late events: longer than any reader stops,
/// and longer than a failed record is kept, which is 90 days at most.
pub const LATE_LOG_SECONDS: u64 = 100 * 24 * 60 * 60;

/// The most items of the late log that one run reads: some hundred thousand events of an import. The next run reads the rest.
pub const LATE_ITEMS_PER_RUN: u64 = 2_000;

/// The clock of a process that reads a topic as a consumer, and DynamoDB's clock, differ by at most this: the only
/// assumption about clocks. Both are AWS's.
pub const CLOCK_SKEW_MILLIS: u64 = 5_000;

/// A follower looks for two seconds for an event. For events that are stored in the last second of them it also reads the
/// late log, because clocks differ a little, and because its reads are eventually consistent.
pub const FOLLOWERS_SKEW_MILLIS: u64 = ASCENDING_LAG_MILLIS - STORED_LATE_MILLIS;

/// The clocks of two processes, or of a process and DynamoDB, differ by less than this, where the margin costs nothing.
pub const CLOCKS_APART_MILLIS: u64 = 60_000;

/// A spread lasts this long, from the time of the event that was refused, or from its last renewal.
pub const SPREAD_MILLIS: u64 = 60_000;

/// Most shards of a source's timeline: some 64,000 events a second of one actor or subject.
pub const SOURCE_SHARDS: ShardCount = ShardCount::MAX.halved().halved();

/// A timeline gets up to this many shards whenever a shard refuses a write. They use three quarters of what the four
/// partitions of a new table serve; twice as many would use little more.
pub const SHARDS_AT_WILL: ShardCount = SOURCE_SHARDS.halved();

/// A timeline gets more shards than [`SHARDS_AT_WILL`] only if the shard that refuses a write holds so many write units
/// of the last two seconds. A shard that has used up a partition of its own has taken 1,000 in the last second. A shard that
/// holds fewer than half is refused because the table is short of capacity, and more shards would not help.
pub const HOT_SHARD_UNITS: u64 = 500;

/// Write units a second up to which one shard is loaded: DynamoDB's limit of a partition is 1,000.
pub const SHARD_UNITS: u64 = 700;

/// A process leaves all writes to a busy partition to the backlog for this long, before it tries one again.
pub const BUSY_FOR: Duration = Duration::from_secs(5);

/// Events that one step of a backlog works on: a partition takes as many in half a second.
pub const BACKLOG_EVENTS_PER_STEP: usize = 500;

/// A read does not wait for an event older than this: the stream is behind by less, or by so much that five seconds do
/// not help.
pub const WAITED_FOR_SECONDS: u64 = 120;

/// A read waits at most this long for an item that follows from a write. Clients and gateways give up later.
pub const LONGEST_VISIBILITY_WAIT: Duration = Duration::from_secs(5);

/// Upgraded issues that one page writes back. The next read, or the migration in the background, writes back the rest.
pub const WRITE_BACKS_PER_PAGE: usize = 24;

/// Streams that a caller may have open at once.
pub const OPEN_STREAMS: u64 = 10;

/// A request waits at most this long for a quota's item: a connection and one call.
pub const QUOTA_TIMEOUT: Duration = Duration::from_secs(1);

/// Quotas whose blocks a process remembers, one for each minute: a few hundred bytes each.
pub const QUOTAS_REMEMBERED: usize = 1_024;

/// The expected size of a stored event, in bytes, before any event of the topic was read.
pub const EXPECTED_EVENT_BYTES: u32 = 512;

const _: () = {
    assert!(FOLLOWER_TOLD_KEPT >= 2 * WINDOW_EVENTS);
    assert!(WATCH_MILLIS > 2 * WATCH_EVERY.as_secs() * 1000);
    assert!(WATCH_MILLIS - WATCH_EVERY.as_secs() * 1000 > RESUMED_MILLIS);
    assert!(NOTES_EVERY.as_millis() < 2 * IDLE_LOOKS.as_millis());
    assert!(STORED_LATE_MILLIS < ASCENDING_LAG_MILLIS);
    assert!(WAVE_BUCKETS <= QUERIES_AT_ONCE);
    assert!(COMPARED_ENTRIES as usize <= lately_table::limits::BATCH_KEYS);
    assert!(POINTERS_AT_FIRST <= lately_table::limits::BATCH_KEYS);
    assert!(QUERIES_PER_PAGE as usize >= 2 * lately_keys::limits::SHARDS as usize);
    assert!(SOURCE_SHARDS.get() == 64 && SHARDS_AT_WILL.get() == 32);
    assert!(SOURCE_SHARDS.get() <= 100, "the longest key of an entry has two digits for its shard");
};
