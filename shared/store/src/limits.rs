//! Every cap of this crate, each with its reason.

use std::time::Duration;

use lately_keys::ShardCount;
use lately_keys::limits::{NAME_BYTES, SUBJECT_BYTES};
use lately_model::limits::{FUTURE_SECONDS, IMPORT_SECONDS};

/// Entries that the comparison of a feed looks at at once: their keys are one `BatchGetItem`.
pub const COMPARED_ENTRIES: u32 = 100;

/// Pointers of a page that are followed at first: events so large that no more of them fit a page are not read in
/// vain. How large they are says how many are followed next.
pub const POINTERS_AT_FIRST: usize = 9;

/// Queries of one page under way at once. A bucket of up to 64 shards is read in one go.
pub const QUERIES_AT_ONCE: usize = 64;

/// Queries of one page in all. A page that needs more ends early and says so.
pub const QUERIES_PER_PAGE: u32 = 1_024;

/// What one query gives at most: DynamoDB's cap.
pub const QUERY_BYTES: usize = 1024 * 1024;

/// Events of a range that are held at once: 32 full queries, so that as many shards are read at the price of their bytes.
/// A bucket of more shards is read in smaller pages, of as many events as fit if they are as large as those before.
pub const READ_AHEAD_BYTES: usize = 32 * QUERY_BYTES;

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

/// A page's size as sent. An answer of Lambda has at most 6 MB, and a page may double when it is escaped into one.
pub const PAGE_BYTES: usize = 2_500_000;

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

/// How long the deletion of an event that came under an idempotency key is noted: longer than any repetition of its request
/// may be under way. The key is remembered from before the deletion, so a day more is plenty.
pub const DELETION_SECONDS: u64 = 2 * IDEMPOTENCY_SECONDS;

/// How long an author's own entry waits for fan-out's: as long as the stream keeps the record that brings it.
pub const OWN_ENTRY_SECONDS: u64 = 24 * 60 * 60;

/// How long a look for what was written after all may take, when a batch is answered that was written in part: the request
/// has used up its time by then, and the function's ends some seconds later.
pub const LAST_LOOK: Duration = Duration::from_secs(2);

/// Sessions that are listed at once.
pub const LISTED_SESSIONS: u16 = 100;

/// Topics, directory entries, directory pages and feeds remembered. Each is a few hundred bytes at most.
pub const CACHED_TOPICS: usize = 1_024;
/// See [`CACHED_TOPICS`].
pub const CACHED_ENTRIES: usize = 4_096;
/// See [`CACHED_TOPICS`].
pub const CACHED_DIRECTORY_PAGES: usize = 512;

/// Largest entry of a source's timeline or a feed: one write unit.
pub const ENTRY_BYTES: usize = 1024;

/// The longest key of an entry, with the names of its attributes: a subject's timeline, and an inverted id.
pub(crate) const ENTRY_KEY_BYTES: usize =
    "pk".len() + "SOURCE#subject:".len() + SUBJECT_BYTES + "sk".len() + SORT_KEY_TEXT_BYTES;

/// What the expiry of an entry adds to it: up to twelve digits, two a byte, and one byte more.
pub(crate) const ENTRY_EXPIRY_BYTES: usize = "expires_at".len() + 7;

/// What the marks of a topic that does not fan out, and of an import, add to an entry.
pub(crate) const ENTRY_MARK_BYTES: usize = "n".len() + 1 + "i".len() + 1;

/// An inverted id as text.
const SORT_KEY_TEXT_BYTES: usize = 36;

/// Followers of a shard from which on conflicts there are taken for load, and the source's shards are doubled: one shard
/// takes some fifty follows a second, so it has them after a second or two of a rush.
pub const CROWDED_SHARD: u64 = 64;

/// Follower shards of a source that are asked at once.
pub const SHARDS_AT_ONCE: usize = 32;

/// Most shards of a source's followers.
pub const FOLLOWER_SHARDS: ShardCount = ShardCount::MAX;

/// Sources that one feed pulls, each with a query of its own. A promotion may exceed it.
pub const PULL_SOURCES: usize = 100;

/// How far before a follow its pull marker begins: as late as an event may land without being an import, and as
/// far as two clocks may differ.
pub const PULL_OVERLAP_MILLIS: u64 = (IMPORT_SECONDS + FUTURE_SECONDS) * 1000;

/// Followers up to which a source is pushed, if the operator does not say.
pub const FAN_OUT_LIMIT: u64 = 10_000;

/// Followers that an event's own record pushes to. More are left to jobs, which run at once.
pub const AUDIENCE: u16 = 100;

/// Followers of one page of a job: 80 calls of 25 items each, which take a second; 180 KB to read.
pub const FOLLOWERS_PER_JOB: u16 = 2_000;

/// How long a job is kept. One whose record fails is tried again for a day.
pub const JOB_SECONDS: u64 = 2 * 24 * 60 * 60;

/// Consumers of a topic. Every batch of stream records with events of the topic reads all their announcements: 50 KB at
/// most, thirteen read units.
pub const CONSUMERS: usize = 100;

/// Rails of one batch of stream records under way at once. Each may hold a job's page of entries: two megabytes.
pub const RAILS_AT_ONCE: usize = 32;

/// Write calls of one batch of stream records under way at once.
pub const WRITES_AT_ONCE: usize = 16;

/// How long a write call that is not full waits for rails that are reading.
pub const LINGER: Duration = Duration::from_millis(25);

/// An event whose handling begins later than this before the deadline is left to jobs.
pub const FAN_OUT_RESERVE: Duration = Duration::from_secs(2);

/// By how much the times that DynamoDB tells of two changes may be out of order.
pub const TOLD_APART_MILLIS: u64 = 60_000;

/// Entries that one query of a backfill or a cleanup reads: at most 200 KB, so that all rails of a batch together hold
/// some megabytes.
pub const ENTRIES_PER_QUERY: u32 = 200;

/// Queries of one step of a backfill or a cleanup. A cleanup of 4,000 entries that another source brought takes less than
/// half a second. So does a backfill that copies a full query; one that copies more is one of a busy source.
pub const QUERIES_PER_STEP: u32 = 20;

/// Older entries of a source that a backfill looks at to find those of topics that fan out.
pub const BACKFILL_ENTRIES: u32 = 4_096;

/// How long what must be known when a record of the stream is delivered again is kept: a late event that is settled, and
/// who no longer follows. A record that failed is kept for 90 days at most.
pub const REDELIVERED_SECONDS: u64 = 100 * 24 * 60 * 60;

/// Late events that one run reports, at most: a list of 1.6 MB. More are left to the next.
pub const LATE_PER_RUN: usize = 100_000;

/// Late events on one page of a run's list: 32 KB, a twelfth of what an item may have.
pub const LATE_PER_PAGE: usize = 2_000;

/// Runs remembered while late events are looked up: some hundred KB.
pub const COVERING_RUNS: usize = 256;

/// How far a reporter's clock and DynamoDB's may differ: the one assumption on clocks. An event that landed longer than
/// that before a run was announced was there when the run was read.
pub const CLOCKS_APART_MILLIS: u64 = 60_000;

/// DynamoDB tells in whole seconds, rounded down, when a change was made.
pub const LANDED_WITHIN_MILLIS: u64 = 1_000;

/// Attempts after which an event that is refused in a shard of before the last doubling says that there are too few shards: the
/// waits between them are half a second, on average.
pub const OLD_SHARD_ATTEMPTS: u32 = 6;

/// How often fan-out tries a write to a partition that is too busy, before the write is left to the partition's backlog:
/// three waits, 90 ms on average and 175 ms at most.
pub const BUSY_ATTEMPTS: u32 = 4;

/// How long a process leaves all writes to a busy partition to the backlog, before it tries one again.
pub const BUSY_FOR: Duration = Duration::from_secs(5);

/// Busy partitions that a process remembers. One that it forgets is tried again.
pub const BUSY_PARTITIONS: usize = 4_096;

/// Events that one step of a backlog works on at most: what a partition takes in half a second.
pub const BACKLOG_EVENTS_PER_STEP: usize = 500;

/// After which a step of a backlog begins nothing more, because the records behind it in the stream wait.
pub const BACKLOG_STEP_TIME: Duration = Duration::from_millis(200);

/// Items of a backlog that one step reads: what a busy shard of the stream makes in some seconds.
pub const BACKLOG_ITEMS_PER_STEP: usize = 100;

/// Events of one item of a backlog: 10 KB.
pub const BACKLOG_EVENTS_PER_ITEM: usize = 500;

/// Events that a step of a feed's backlog reads at once: 6 MB if they are as large as they may be.
pub const BACKLOG_EVENTS_AT_ONCE: usize = 25;

/// Events older than this are not waited for: the stream is behind by less, or by so much that five seconds do not help.
pub const WAITED_FOR_SECONDS: u64 = 120;

/// How long a read waits for what is written behind. An answer must come before clients and gateways give up.
pub const LONGEST_VISIBILITY_WAIT: Duration = Duration::from_secs(5);

/// The pause between the first two looks for what is written behind; each further one is twice as long.
pub const FIRST_LOOK_AGAIN: Duration = Duration::from_millis(50);

/// No pause between two looks is longer: a wait is no more than some fifteen looks.
pub const LONGEST_LOOK_AGAIN: Duration = Duration::from_millis(800);

/// Queries of one page of issues. One fills it, and a few more if issues are large; only if an older writer has left
/// thousands of issues where they do not belong does it end early, and says so.
pub const ISSUE_QUERIES: u32 = 16;

/// Upgraded issues that one page writes back. The rest is left to the next read, or to the background.
pub const WRITE_BACKS_PER_PAGE: usize = 24;

/// Upgraded issues that are written back at once: those of a page are three rounds.
pub const WRITE_BACKS_AT_ONCE: usize = 8;

/// Items that the background looks at with one call, at most, however fast it may go: so it tells its progress.
pub const MIGRATION_PAGE: u32 = 1_000;

/// The expected size of an event before any was seen, in bytes as stored.
pub const EXPECTED_EVENT_BYTES: u32 = 512;

const _: () = {
    assert!(WAVE_BUCKETS <= QUERIES_AT_ONCE);
    assert!(ISSUE_QUERIES as usize > PAGE_BYTES / 1_000_000);
    assert!(WRITE_BACKS_AT_ONCE <= WRITE_BACKS_PER_PAGE);
    assert!(READ_AHEAD_BYTES / QUERY_BYTES <= QUERIES_AT_ONCE);
    // Ids of sixteen bytes, and room for a key.
    assert!(LATE_PER_PAGE * 16 + 1024 <= 400 * 1000);
    assert!(COMPARED_ENTRIES as usize <= lately_table::limits::BATCH_KEYS);
    assert!(POINTERS_AT_FIRST <= lately_table::limits::BATCH_KEYS);
    assert!(POINTERS_AT_FIRST == PAGE_BYTES / lately_model::limits::EVENT_BYTES);
    assert!("FEED#".len() + NAME_BYTES <= "SOURCE#subject:".len() + SUBJECT_BYTES);
    assert!(QUERIES_PER_PAGE as usize >= 2 * lately_keys::limits::SHARDS as usize);
    assert!(TYPES_PER_BUCKET * (lately_keys::limits::EVENT_TYPE_BYTES + 1) < 16 * 1024);
};
