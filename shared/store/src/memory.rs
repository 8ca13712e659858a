//! The memory of a process: caches that live between operations, and locks.

use std::borrow::Borrow;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use lately_keys::table::QuotaKey;
use lately_keys::{Coverage, Source, Topic, User};
use lately_table::Ambient;
use quick_cache::sync::Cache;
use tokio::sync::Mutex;

use crate::directory::{DirectoryPage, DirectoryRange, Entry, EntryName};
use crate::erasure::list::ErasedActors;
use crate::latest::pace::{Pace, PaceName};
use crate::limits::{
    BUSY_PARTITIONS, CACHED_DIRECTORY_PAGES, CACHED_ENTRIES, CACHED_TOPICS, QUOTAS_REMEMBERED,
};
use crate::live::Loops;
use crate::quota::Block;
use crate::topic::StoredTopic;

/// The caches of a process, and the locks under which it does some work only once at a time.
///
/// All of it may be dropped at any time. Topics are used for seconds and directory pages for a second; directory entries
/// and the coverages of sources as long as there is room, because a coverage only grows while its topic exists. The
/// rest of a quota's block that is dropped is lost for its minute.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) topics: Cache<Topic, Arc<Aged<StoredTopic>>>,
    pub(crate) entries: Cache<EntryName, Arc<Entry>>,
    pub(crate) directory_pages: Cache<DirectoryRange, Arc<Aged<DirectoryPage>>>,
    /// The mean size of a topic's events.
    pub(crate) event_bytes: Cache<Topic, u32>,
    /// The pace of the events of a topic, or of one of its types, when a page of them was last read.
    pub(crate) paces: Cache<PaceName, Pace>,
    /// The number of sources that each feed pulled when it was last read: an estimate of the markers before its entries.
    pub(crate) pulls: Cache<User, u32>,
    pub(crate) sources: Cache<Source, Arc<Aged<KnownSource>>>,
    /// The actors whose events must not be written.
    pub(crate) erased_actors: Cache<(), Arc<Aged<ErasedActors>>>,
    /// The partitions that took no more writes.
    pub(crate) busy: Moments<String>,
    /// The timelines, by their first partitions, whose spreads this process has looked after.
    pub(crate) looked_after: Moments<String>,
    /// The timelines, by their first partitions, that could not get more shards.
    pub(crate) not_grown: Moments<String>,
    /// The lock that is held while a bucket grows.
    pub(crate) growing: Mutex<()>,
    /// The lock that is held while a source grows.
    pub(crate) growing_source: Mutex<()>,
    /// The blocks of this process. Requests that run at the same time wait for the same block.
    pub(crate) quotas: Cache<QuotaKey, Arc<Mutex<Block>>>,
    /// The reading loops of the timelines that are followed live.
    pub(crate) loops: Loops,
}

impl Memory {
    pub(crate) fn new() -> Self {
        Self {
            topics: Cache::new(CACHED_TOPICS),
            entries: Cache::new(CACHED_ENTRIES),
            directory_pages: Cache::new(CACHED_DIRECTORY_PAGES),
            event_bytes: Cache::new(CACHED_TOPICS),
            paces: Cache::new(CACHED_TOPICS),
            pulls: Cache::new(CACHED_ENTRIES),
            sources: Cache::new(CACHED_ENTRIES),
            erased_actors: Cache::new(1),
            busy: Moments::new(BUSY_PARTITIONS),
            looked_after: Moments::new(CACHED_TOPICS),
            not_grown: Moments::new(CACHED_TOPICS),
            growing: Mutex::new(()),
            growing_source: Mutex::new(()),
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
        self.entries.retain(|(of, _), _| of != topic);
        self.forget_directory_pages(topic);
    }

    /// Drops a topic's directory pages, so that the process sees its own writes at once.
    pub(crate) fn forget_directory_pages(&self, topic: &Topic) {
        self.directory_pages.retain(|range, _| range.topic() != topic);
    }
}

/// The part of a source's item that a process remembers.
#[derive(Clone, Debug)]
pub(crate) struct KnownSource {
    pub(crate) coverage: Arc<Coverage>,
    /// True if the source has an item.
    pub(crate) is_stored: bool,
}

/// A value that was read, with the time at which its query was sent.
#[derive(Debug)]
pub(crate) struct Aged<T> {
    pub(crate) value: T,
    pub(crate) sent: Sent,
}

/// The last moment at which something happened, for each of many keys.
#[derive(Debug)]
pub(crate) struct Moments<K>(Cache<K, Sent>);

impl<K: Clone + Eq + Hash> Moments<K> {
    fn new(most: usize) -> Self {
        Self(Cache::new(most))
    }

    /// Notes that it happens now.
    pub(crate) fn note(&self, key: K, ambient: &dyn Ambient) {
        self.0.insert(key, Sent::now(ambient));
    }

    pub(crate) fn forget<Q: Eq + Hash + ?Sized>(&self, key: &Q)
    where
        K: Borrow<Q>,
    {
        self.0.remove(key);
    }

    /// True if it happened within this time.
    pub(crate) fn is_noted<Q: Eq + Hash + ?Sized>(
        &self,
        key: &Q,
        time: Duration,
        ambient: &dyn Ambient,
    ) -> bool
    where
        K: Borrow<Q>,
    {
        self.0.get(key).is_some_and(|noted| noted.is_within(time, ambient))
    }
}

/// A moment on both clocks.
///
/// A process may be frozen for hours between two requests, and its monotonic clock may stand still meanwhile. The wall
/// clock may be set back. So an age is trusted only if both clocks agree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    wall: Duration,
    monotonic: Duration,
}

impl Sent {
    pub(crate) fn now(ambient: &dyn Ambient) -> Self {
        Self { wall: ambient.since_epoch(), monotonic: ambient.monotonic() }
    }

    pub(crate) fn is_within(self, age: Duration, ambient: &dyn Ambient) -> bool {
        let young = |then: Duration, now: Duration| now.checked_sub(then).is_some_and(|passed| passed < age);
        young(self.wall, ambient.since_epoch()) && young(self.monotonic, ambient.monotonic())
    }
}
