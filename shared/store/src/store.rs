//! The store: a connection to the table, and caches that live between operations.

use std::sync::Arc;
use std::time::Duration;

use lately_keys::{Coverage, Generator, Source, Topic, UnixMillis, User};
use lately_table::{Ambient, Connection, Table, Tally, now};
use quick_cache::sync::Cache;
use tokio::sync::Mutex;

use crate::directory::{DirectoryPage, DirectoryRange, Entry, EntryName};
use crate::latest::pace::{Pace, PaceName};
use crate::limits::{
    BUSY_FOR, BUSY_PARTITIONS, CACHED_DIRECTORY_PAGES, CACHED_ENTRIES, CACHED_TOPICS, RENEWAL_PAUSE,
    SOURCE_GROWTH_PAUSE, TOPIC_AGE,
};
use crate::live::Loops;
use crate::op::Op;
use crate::quota::Quotas;
use crate::settings::FeedSettings;
use crate::topic::StoredTopic;

/// Lately's table. A clone is cheap; one store serves a whole process.
///
/// The store's caches may be dropped at any time. They hold a topic's settings for seconds, directory pages for a
/// second, and directory entries and the coverages of sources for as long as there is room, because a coverage only
/// grows while its topic exists. They also hold leases of quotas: a lease that is dropped stays booked until it ends.
#[derive(Clone, Debug)]
pub struct Store {
    inner: Arc<Inner>,
    feeds: FeedSettings,
}

#[derive(Debug)]
struct Inner {
    connection: Connection,
    generator: Generator,
    topics: Cache<Topic, Arc<Aged<StoredTopic>>>,
    entries: Cache<EntryName, Arc<Entry>>,
    directory_pages: Cache<DirectoryRange, Arc<Aged<DirectoryPage>>>,
    event_bytes: Cache<Topic, u32>,
    pulls: Cache<User, u32>,
    busy: Cache<String, Sent>,
    growing: Mutex<()>,
    looked_after: Cache<String, Sent>,
    sources: Cache<Source, Arc<Aged<KnownSource>>>,
    growing_source: Mutex<()>,
    not_grown: Cache<Source, Sent>,
    paces: Cache<PaceName, Pace>,
    quotas: Quotas,
    loops: Loops,
}

impl Store {
    /// A store of a table.
    #[must_use]
    pub fn new(connection: Connection) -> Self {
        let inner = Inner {
            connection,
            generator: Generator::new(),
            topics: Cache::new(CACHED_TOPICS),
            entries: Cache::new(CACHED_ENTRIES),
            directory_pages: Cache::new(CACHED_DIRECTORY_PAGES),
            event_bytes: Cache::new(CACHED_TOPICS),
            pulls: Cache::new(CACHED_ENTRIES),
            busy: Cache::new(BUSY_PARTITIONS),
            growing: Mutex::new(()),
            looked_after: Cache::new(CACHED_TOPICS),
            sources: Cache::new(CACHED_ENTRIES),
            growing_source: Mutex::new(()),
            not_grown: Cache::new(CACHED_TOPICS),
            paces: Cache::new(CACHED_TOPICS),
            quotas: Quotas::default(),
            loops: Loops::default(),
        };
        Self { inner: Arc::new(inner), feeds: FeedSettings::default() }
    }

    /// The same store, with other settings for feeds.
    #[must_use]
    pub fn with_feeds(self, feeds: FeedSettings) -> Self {
        Self { feeds, ..self }
    }

    /// The current time, by the store's wall clock.
    #[must_use]
    pub fn now(&self) -> UnixMillis {
        now(self.ambient())
    }

    /// The handle of one request, with the time that the connection grants one operation.
    #[must_use]
    pub fn op(&self) -> Op {
        Op::new(self.clone(), self.inner.connection.begin())
    }

    /// The handle of one request with this much time.
    #[must_use]
    pub fn op_within(&self, time: Duration) -> Op {
        Op::new(self.clone(), self.inner.connection.begin_within(time))
    }

    /// A part of an operation, with its own deadline.
    pub(crate) fn step_of(&self, whole: &Table) -> Table {
        self.inner.connection.begin_step(whole)
    }

    /// A part of an operation, with this much time.
    pub(crate) fn step_within(&self, whole: &Table, time: Duration) -> Table {
        self.inner.connection.begin_step_within(whole, time)
    }

    /// The work of all finished operations of this store and its clones, since the tally was last taken.
    #[must_use]
    pub fn take_tally(&self) -> Tally {
        self.inner.connection.take_tally()
    }

    /// The table's name.
    #[must_use]
    pub fn table_name(&self) -> &str {
        self.inner.connection.table_name()
    }

    pub(crate) const fn feeds(&self) -> &FeedSettings {
        &self.feeds
    }

    /// The store's clocks and random source.
    #[must_use]
    pub fn ambient(&self) -> &dyn Ambient {
        self.inner.connection.ambient()
    }

    pub(crate) fn generator(&self) -> &Generator {
        &self.inner.generator
    }

    pub(crate) fn entries(&self) -> &Cache<EntryName, Arc<Entry>> {
        &self.inner.entries
    }

    pub(crate) fn event_bytes(&self) -> &Cache<Topic, u32> {
        &self.inner.event_bytes
    }

    /// The number of sources that each feed pulled when it was last read: an estimate of the markers before its
    /// entries.
    pub(crate) fn pulls_of(&self) -> &Cache<User, u32> {
        &self.inner.pulls
    }

    /// True if a partition took no more writes a moment ago.
    pub(crate) fn is_busy(&self, partition: &str) -> bool {
        self.inner.busy.get(partition).is_some_and(|noted| noted.is_within(BUSY_FOR, self.ambient()))
    }

    /// Forgets that a partition took no more writes.
    pub(crate) fn forgive(&self, partition: &str) {
        self.inner.busy.remove(partition);
    }

    /// Notes that a partition takes no more writes.
    pub(crate) fn note_busy(&self, partition: &str) {
        self.inner.busy.insert(partition.to_owned(), Sent::now(self.ambient()));
    }

    /// The lock that is held while a bucket grows.
    pub(crate) fn growing(&self) -> &Mutex<()> {
        &self.inner.growing
    }

    /// True if this process has not looked after a timeline's spreads a moment ago. Notes that it does now. The
    /// timeline is named by its first partition.
    pub(crate) fn may_look_after(&self, timeline: String) -> bool {
        let looked = self.inner.looked_after.get(&timeline);
        let may = !looked.is_some_and(|looked| looked.is_within(RENEWAL_PAUSE, self.ambient()));
        if may {
            self.inner.looked_after.insert(timeline, Sent::now(self.ambient()));
        }
        may
    }

    /// The lock that is held while a source grows.
    pub(crate) fn growing_source(&self) -> &Mutex<()> {
        &self.inner.growing_source
    }

    /// True unless this process failed to grow a source a moment ago.
    pub(crate) fn may_grow(&self, source: &Source) -> bool {
        let failed = self.inner.not_grown.get(source);
        !failed.is_some_and(|failed| failed.is_within(SOURCE_GROWTH_PAUSE, self.ambient()))
    }

    /// Notes that a source could not be grown.
    pub(crate) fn note_not_grown(&self, source: &Source) {
        self.inner.not_grown.insert(source.clone(), Sent::now(self.ambient()));
    }

    /// The part of a source that this process knows, however old it is: a coverage only grows.
    pub(crate) fn known_source(&self, source: &Source) -> Option<Arc<Aged<KnownSource>>> {
        self.inner.sources.get(source)
    }

    /// The coverage of a source's timeline, if it is no older than this (D3).
    pub(crate) fn recent_coverage(&self, source: &Source, age: Duration) -> Option<Arc<Coverage>> {
        let known = self.known_source(source).filter(|known| known.sent.is_within(age, self.ambient()));
        known.map(|known| Arc::clone(&known.value.coverage))
    }

    /// Remembers a source. A read that was not consistent may have missed spreads that this process knows.
    pub(crate) fn learn_source(
        &self,
        source: &Source,
        mut learned: KnownSource,
        sent: Sent,
    ) -> Arc<Coverage> {
        if let Some(known) =
            self.known_source(source).filter(|known| known.value.coverage != learned.coverage)
        {
            Arc::make_mut(&mut learned.coverage).join(&known.value.coverage);
        }
        let coverage = Arc::clone(&learned.coverage);
        self.inner.sources.insert(source.clone(), Arc::new(Aged { value: learned, sent }));
        coverage
    }

    /// The pace of the events of a topic, or of one of its types, when a page of them was last read.
    pub(crate) fn paces(&self) -> &Cache<PaceName, Pace> {
        &self.inner.paces
    }

    /// The leases of this process, by quota.
    pub(crate) fn quotas(&self) -> &Quotas {
        &self.inner.quotas
    }

    /// The reading loops of the timelines that are followed live.
    pub(crate) fn loops(&self) -> &Loops {
        &self.inner.loops
    }

    /// The topic as this process read it last, however old that is.
    pub(crate) fn known_topic(&self, topic: &Topic) -> Option<Arc<Aged<StoredTopic>>> {
        self.inner.topics.get(topic)
    }

    /// Drops what this process remembers of a topic.
    pub(crate) fn forget_topic(&self, topic: &Topic) {
        self.inner.topics.remove(topic);
        self.forget_directory(topic);
    }

    /// Drops what this process remembers of a topic's directory.
    pub(crate) fn forget_directory(&self, topic: &Topic) {
        self.inner.entries.retain(|(of, _), _| of != topic);
        self.forget_directory_pages(topic);
    }

    pub(crate) fn cached_topic(&self, topic: &Topic) -> Option<Arc<Aged<StoredTopic>>> {
        self.known_topic(topic).filter(|aged| aged.sent.is_within(TOPIC_AGE, self.ambient()))
    }

    pub(crate) fn cache_topic(&self, topic: Topic, stored: Arc<Aged<StoredTopic>>) {
        self.inner.topics.insert(topic, stored);
    }

    pub(crate) fn cached_directory_page(
        &self,
        range: &DirectoryRange,
        age: Duration,
    ) -> Option<Arc<Aged<DirectoryPage>>> {
        let page = self.inner.directory_pages.get(range);
        page.filter(|aged| aged.sent.is_within(age, self.ambient()))
    }

    /// Drops a topic's directory pages, so that the process sees its own writes at once.
    pub(crate) fn forget_directory_pages(&self, topic: &Topic) {
        self.inner.directory_pages.retain(|range, _| range.topic() != topic);
    }

    pub(crate) fn cache_directory_page(&self, range: DirectoryRange, page: Arc<Aged<DirectoryPage>>) {
        self.inner.directory_pages.insert(range, page);
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

    fn is_within(self, age: Duration, ambient: &dyn Ambient) -> bool {
        let young = |then: Duration, now: Duration| now.checked_sub(then).is_some_and(|passed| passed < age);
        young(self.wall, ambient.since_epoch()) && young(self.monotonic, ambient.monotonic())
    }
}
