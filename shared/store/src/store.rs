//! The store: a table, a client, and what may be remembered between operations.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use lately_keys::{Generator, Topic, UnixMillis, User};
use quick_cache::sync::Cache;
use tokio::sync::Mutex;

use crate::ambient::{Ambient, now};
use crate::call::Table;
use crate::cost::{Meter, Tally};
use crate::directory::{DirectoryPage, DirectoryRange, Entry, EntryName};
use crate::limits::{
    BUSY_FOR, BUSY_PARTITIONS, CACHED_DIRECTORY_PAGES, CACHED_ENTRIES, CACHED_TOPICS, DIRECTORY_AGE,
    TOPIC_AGE,
};
use crate::op::Op;
use crate::settings::FeedSettings;
use crate::topic::StoredTopic;

/// Lately's table. Cheap to clone; one serves a whole process.
///
/// What it remembers may always be forgotten: a topic's settings for seconds, directory entries for as long
/// as there is room (what an entry covers only grows), directory pages for a second.
#[derive(Clone, Debug)]
pub struct Store {
    inner: Arc<Inner>,
    feeds: FeedSettings,
}

#[derive(Debug)]
struct Inner {
    client: Client,
    table: Arc<str>,
    ambient: Arc<dyn Ambient>,
    budget: Duration,
    generator: Generator,
    topics: Cache<Topic, Arc<Aged<StoredTopic>>>,
    entries: Cache<EntryName, Arc<Entry>>,
    directory_pages: Cache<DirectoryRange, Arc<Aged<DirectoryPage>>>,
    event_bytes: Cache<Topic, u32>,
    pulls: Cache<User, u32>,
    busy: Cache<String, Sent>,
    growing: Mutex<()>,
    meter: Arc<Meter>,
}

impl Store {
    /// A store of a table. `budget` is how long one operation may take, its retries included.
    #[must_use]
    pub fn new(client: Client, table: impl Into<String>, ambient: impl Ambient, budget: Duration) -> Self {
        let inner = Inner {
            client,
            table: table.into().into(),
            ambient: Arc::new(ambient),
            budget,
            generator: Generator::new(),
            topics: Cache::new(CACHED_TOPICS),
            entries: Cache::new(CACHED_ENTRIES),
            directory_pages: Cache::new(CACHED_DIRECTORY_PAGES),
            event_bytes: Cache::new(CACHED_TOPICS),
            pulls: Cache::new(CACHED_ENTRIES),
            busy: Cache::new(BUSY_PARTITIONS),
            growing: Mutex::new(()),
            meter: Arc::default(),
        };
        Self { inner: Arc::new(inner), feeds: FeedSettings::default() }
    }

    /// The same store, with other settings for feeds.
    #[must_use]
    pub fn with_feeds(self, feeds: FeedSettings) -> Self {
        Self { feeds, ..self }
    }

    /// The current time, by the wall clock that the store was given.
    #[must_use]
    pub fn now(&self) -> UnixMillis {
        now(self.ambient())
    }

    /// The handle of one request, which has as much time as the store gives one operation.
    #[must_use]
    pub fn op(&self) -> Op {
        self.op_within(self.inner.budget)
    }

    /// The handle of one request that has so much time.
    #[must_use]
    pub fn op_within(&self, time: Duration) -> Op {
        Op::new(self.clone(), self.table_for(time, &self.inner.meter))
    }

    /// The table for an operation whose price is part of another meter's.
    pub(crate) fn table_for(&self, time: Duration, whole: &Arc<Meter>) -> Table {
        let Inner { client, table, ambient, .. } = &*self.inner;
        Table::new(client.clone(), Arc::clone(table), Arc::clone(ambient), time, whole)
    }

    /// How long one operation may take.
    pub(crate) fn budget(&self) -> Duration {
        self.inner.budget
    }

    /// What was done since this was last asked: by operations that are over, of this store and its clones.
    #[must_use]
    pub fn take_tally(&self) -> Tally {
        self.inner.meter.take()
    }

    /// The table's name.
    #[must_use]
    pub fn table_name(&self) -> &str {
        &self.inner.table
    }

    pub(crate) const fn feeds(&self) -> &FeedSettings {
        &self.feeds
    }

    /// The clocks and the random source that the store was given.
    #[must_use]
    pub fn ambient(&self) -> &dyn Ambient {
        &*self.inner.ambient
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

    /// How many sources feeds pulled when they were last read: a guess at what stands before their entries.
    pub(crate) fn pulls_of(&self) -> &Cache<User, u32> {
        &self.inner.pulls
    }

    /// Whether a partition took no more writes a moment ago.
    pub(crate) fn is_busy(&self, partition: &str) -> bool {
        self.inner.busy.get(partition).is_some_and(|noted| noted.is_within(BUSY_FOR, self.ambient()))
    }

    /// Notes that a partition takes no more writes.
    pub(crate) fn note_busy(&self, partition: &str) {
        self.inner.busy.insert(partition.to_owned(), Sent::now(self.ambient()));
    }

    /// Held while a bucket is grown.
    pub(crate) fn growing(&self) -> &Mutex<()> {
        &self.inner.growing
    }

    pub(crate) fn cached_topic(&self, topic: &Topic) -> Option<Arc<Aged<StoredTopic>>> {
        self.inner.topics.get(topic).filter(|aged| aged.sent.is_within(TOPIC_AGE, self.ambient()))
    }

    pub(crate) fn cache_topic(&self, topic: Topic, stored: Arc<Aged<StoredTopic>>) {
        self.inner.topics.insert(topic, stored);
    }

    pub(crate) fn cached_directory_page(&self, range: &DirectoryRange) -> Option<Arc<Aged<DirectoryPage>>> {
        let page = self.inner.directory_pages.get(range);
        page.filter(|aged| aged.sent.is_within(DIRECTORY_AGE, self.ambient()))
    }

    /// So that a process finds at once what it wrote itself.
    pub(crate) fn forget_directory_pages(&self, topic: &Topic) {
        self.inner.directory_pages.retain(|range, _| range.topic() != topic);
    }

    pub(crate) fn cache_directory_page(&self, range: DirectoryRange, page: Arc<Aged<DirectoryPage>>) {
        self.inner.directory_pages.insert(range, page);
    }
}

/// Something read, and when its query was sent.
#[derive(Debug)]
pub(crate) struct Aged<T> {
    pub(crate) value: T,
    pub(crate) sent: Sent,
}

/// A moment by both clocks.
///
/// Both, because a process may be frozen between two requests, for hours: then the monotonic clock may have
/// stood still; and the wall clock may be set back.
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
