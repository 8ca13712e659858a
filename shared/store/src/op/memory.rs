//! The memory of a process: caches that live between operations, and locks.

use std::sync::Arc;

use lately_items::{DirectoryEntry, QuotaKey, StoredTopic};
use lately_keys::{Source, Topic, User};
use quick_cache::sync::Cache;
use tokio::sync::Mutex;

use crate::directory::range::{DirectoryPage, DirectoryRange, EntryName};
use crate::erasure::actors::ErasedActors;
use crate::latest::pace::{Pace, PaceName};
use crate::limits::QUOTAS_REMEMBERED;
use crate::live::loops::Loops;
use crate::moments::{Aged, Moments};
use crate::quota::block::Block;
use crate::source::known::KnownSource;

/// Busy partitions that a process remembers. It tries a forgotten partition again.
const BUSY_PARTITIONS: usize = 4_096;

/// Topics, directory entries and feeds that a process remembers. Each takes a few hundred bytes at most.
const CACHED_TOPICS: usize = 1_024;

/// See [`CACHED_TOPICS`].
const CACHED_ENTRIES: usize = 4_096;

/// Directory pages that a process remembers: a few hundred bytes each.
const CACHED_DIRECTORY_PAGES: usize = 512;

/// The caches of a process, and the locks under which it does some work only once at a time.
///
/// All of it may be dropped at any time. Topics are used for seconds and directory pages for a second; directory entries
/// and the coverages of sources as long as there is room, because a coverage only grows while its topic exists. The
/// rest of a quota's block that is dropped is lost for its minute.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) topics: Cache<Topic, Arc<Aged<StoredTopic>>>,
    pub(crate) directory_entries: Cache<EntryName, Arc<DirectoryEntry>>,
    pub(crate) directory_pages: Cache<DirectoryRange, Arc<Aged<DirectoryPage>>>,
    /// The lock that is held while a bucket grows.
    pub(crate) growing_bucket: Mutex<()>,
    /// The mean size of a topic's events.
    pub(crate) event_bytes: Cache<Topic, u32>,
    /// The pace of the events of a topic, or of one of its types, when a page of them was last read.
    pub(crate) paces: Cache<PaceName, Pace>,
    /// The number of sources that each feed pulled when it was last read: an estimate of the markers before its entries.
    pub(crate) pulls: Cache<User, u32>,
    pub(crate) sources: Cache<Source, Aged<KnownSource>>,
    /// The lock that is held while a source grows.
    pub(crate) growing_source: Mutex<()>,
    /// The actors whose events must not be written.
    pub(crate) erased_actors: Cache<(), Arc<Aged<ErasedActors>>>,
    /// The partitions that took no more writes.
    pub(crate) busy: Moments,
    /// The timelines, by their first partitions, whose spreads this process has looked after.
    pub(crate) looked_after: Moments,
    /// The timelines, by their first partitions, that could not get more shards.
    pub(crate) not_grown: Moments,
    /// The blocks of this process. Requests that run at the same time wait for the same block.
    pub(crate) quotas: Cache<QuotaKey, Arc<Mutex<Block>>>,
    /// The reading loops of the timelines that are followed live.
    pub(crate) loops: Loops,
}

impl Memory {
    pub(crate) fn new() -> Self {
        Self {
            topics: Cache::new(CACHED_TOPICS),
            directory_entries: Cache::new(CACHED_ENTRIES),
            directory_pages: Cache::new(CACHED_DIRECTORY_PAGES),
            growing_bucket: Mutex::new(()),
            event_bytes: Cache::new(CACHED_TOPICS),
            paces: Cache::new(CACHED_TOPICS),
            pulls: Cache::new(CACHED_ENTRIES),
            sources: Cache::new(CACHED_ENTRIES),
            growing_source: Mutex::new(()),
            erased_actors: Cache::new(1),
            busy: Moments::new(BUSY_PARTITIONS),
            looked_after: Moments::new(CACHED_TOPICS),
            not_grown: Moments::new(CACHED_TOPICS),
            quotas: Cache::new(QUOTAS_REMEMBERED),
            loops: Loops::default(),
        }
    }

    /// Drops a topic with its directory.
    pub(crate) fn forget_topic(&self, topic: &Topic) {
        self.topics.remove(topic);
        self.forget_directory(topic);
    }

    /// Drops a topic's directory.
    pub(crate) fn forget_directory(&self, topic: &Topic) {
        self.directory_entries.retain(|(of, _), _| of != topic);
        self.forget_directory_pages(topic);
    }

    /// Drops a topic's directory pages, so that the process sees its own writes at once.
    pub(crate) fn forget_directory_pages(&self, topic: &Topic) {
        self.directory_pages.retain(|range, _| range.topic != *topic);
    }
}
