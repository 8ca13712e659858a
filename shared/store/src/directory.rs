//! The directory: the buckets of a topic that hold events, with the shards and types of each.
//!
//! ```text
//! TOPIC#{topic} / BUCKET#{label}
//!   shards N, retention_days N?, expires_at N?
//!   types SS? (the types in the bucket, if it keeps its `type` view), any_type BOOL? (there are more types)
//! ```
//!
//! Three rules hold:
//! - **D1** An entry that covers shard and type is durable before any event that needs it is written.
//! - **D2** The coverage of an entry only grows. So a writer may remember an entry for ever, and a reader that reads
//!   the directory consistently after a write was acknowledged finds that write.
//! - **D3** A reader may use a directory page for one second after it sent its query. Directory queries are always
//!   consistent, so the page is at most a second behind.
//!
//! The creation of a bucket's entry decides whether the bucket keeps its `type` view, and this never changes: a view
//! that started in the middle of a bucket would not list the earlier events.

use std::collections::BTreeSet;
use std::sync::Arc;

use lately_keys::table::{DirectoryKey, TopicKey};
use lately_keys::{Bucket, BucketWidth, EventType, Order, ShardCount, TableKey, Topic, UnixMillis};
use lately_model::{RetentionDays, TopicSettings};
use lately_table::{Condition, Corrupt, Item, PutIf, Query, Rounds, TableError, Update, Value};

use crate::limits::{DIRECTORY_ENTRIES, DIRECTORY_GRACE_SECONDS, TYPES_PER_BUCKET};
use crate::op::Op;
use crate::store::{Aged, Sent};
use crate::topic::{retention_days, shard_count};

/// The name of an entry: a bucket of a topic.
pub(crate) type EntryName = (Topic, Bucket);

/// The directory's entry for a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) bucket: Bucket,
    pub(crate) shards: ShardCount,
    pub(crate) types: Types,
    pub(crate) retention: Option<RetentionDays>,
}

/// The types of events that a bucket holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Types {
    /// The bucket does not keep the `type` view.
    NotKept,
    /// The bucket keeps the view, and holds events of these types.
    Listed(BTreeSet<EventType>),
    /// The bucket keeps the view, and holds too many types to list.
    Any,
}

impl Types {
    /// True if events are listed by type in the bucket.
    pub(crate) const fn are_kept(&self) -> bool {
        !matches!(self, Self::NotKept)
    }

    /// True if the bucket may hold events of a type.
    pub(crate) fn may_hold(&self, event_type: &EventType) -> bool {
        match self {
            Self::Listed(types) => types.contains(event_type),
            Self::NotKept | Self::Any => true,
        }
    }
}

impl Entry {
    /// The first millisecond whose events are still kept.
    pub(crate) fn oldest_kept(&self, now: UnixMillis) -> UnixMillis {
        self.retention.map_or(UnixMillis::MIN, |retention| retention.oldest(now).saturating_add(1))
    }

    fn covers(&self, types: &BTreeSet<EventType>) -> bool {
        types.iter().all(|event_type| self.types.may_hold(event_type))
    }
}

/// A part of a topic's directory, read from one end.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct DirectoryRange {
    topic: Topic,
    order: Order,
    oldest: Bucket,
    newest: Bucket,
}

impl DirectoryRange {
    pub(crate) fn all(topic: Topic, width: BucketWidth, order: Order) -> Self {
        Self::between(topic, width, order, UnixMillis::MIN, UnixMillis::MAX)
    }

    /// The buckets that hold a range of time, its ends included.
    pub(crate) fn between(
        topic: Topic,
        width: BucketWidth,
        order: Order,
        oldest: UnixMillis,
        newest: UnixMillis,
    ) -> Self {
        let (oldest, newest) = (Bucket::containing(width, oldest), Bucket::containing(width, newest));
        Self { topic, order, oldest, newest }
    }

    pub(crate) const fn topic(&self) -> &Topic {
        &self.topic
    }

    /// The rest of the range after a bucket, in the range's order.
    pub(crate) fn behind(&self, bucket: Bucket) -> Option<Self> {
        let mut rest = self.clone();
        match self.order {
            Order::NewestFirst => rest.newest = bucket.previous()?,
            Order::OldestFirst => rest.oldest = bucket.next()?,
        }
        (rest.oldest <= rest.newest).then_some(rest)
    }
}

/// The entries of one directory query.
#[derive(Debug)]
pub(crate) struct DirectoryPage {
    /// In the range's order.
    pub(crate) entries: Vec<Entry>,
    /// True if there may be entries after these.
    pub(crate) more: bool,
}

/// The directory of one topic, in one request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Directory<'a> {
    pub(crate) op: &'a Op,
    pub(crate) topic: &'a Topic,
}

impl<'a> Directory<'a> {
    pub(crate) const fn of(op: &'a Op, topic: &'a Topic) -> Self {
        Self { op, topic }
    }
}

impl Directory<'_> {
    /// Reads the first entries of a range, in its order.
    pub(crate) async fn read(self, range: &DirectoryRange) -> Result<Arc<Aged<DirectoryPage>>, TableError> {
        let sent = Sent::now(self.op.ambient());
        let DirectoryRange { topic: _, order, oldest, newest } = range;
        let value = self.query_entries(*order, *oldest, *newest, DIRECTORY_ENTRIES).await?;
        let page = Arc::new(Aged { value, sent });
        self.op.store.cache_directory_page(range.clone(), Arc::clone(&page));
        Ok(page)
    }

    /// As [`Directory::read`], or the page that was read within the last second (D3).
    pub(crate) async fn recent(self, range: &DirectoryRange) -> Result<Arc<Aged<DirectoryPage>>, TableError> {
        match self.op.store.cached_directory_page(range) {
            Some(page) => Ok(page),
            None => Directory::of(self.op, range.topic()).read(range).await,
        }
    }

    async fn query_entries(
        self,
        order: Order,
        oldest: Bucket,
        newest: Bucket,
        limit: u16,
    ) -> Result<DirectoryPage, TableError> {
        let query = Query::partition(TopicKey::partition(self.topic))
            .between(DirectoryKey::sort_key(oldest), DirectoryKey::sort_key(newest))
            .backward(order == Order::NewestFirst)
            .limit(limit)
            .consistent(true);
        let page = self.op.table.query(&query).await?;
        let entries = page.items.iter().map(decode).collect::<Result<_, _>>()?;
        Ok(DirectoryPage { entries, more: page.next.is_some() })
    }

    /// Makes sure that the directory covers events of some types in a bucket (D1). Returns the entry that covers them.
    pub(crate) async fn cover(
        self,
        settings: &TopicSettings,
        bucket: Bucket,
        types: &BTreeSet<EventType>,
    ) -> Result<Arc<Entry>, TableError> {
        let topic = self.topic;
        let name = (topic.clone(), bucket);
        let mut rounds = Rounds::of(&self.op.table, "the directory");
        loop {
            let known = match self.op.store.entries().get(&name) {
                Some(entry) => Some(entry),
                None => self.read_entry(&name).await?,
            };
            let written = match known {
                Some(entry) if entry.covers(types) => return Ok(entry),
                Some(entry) => self.add_types(&name, &entry, types).await?,
                None => self.create_entry(&name, settings, types).await?,
            };
            if let Some(entry) = written {
                return Ok(entry);
            }
            // Another writer was first, or the entry has been deleted: read it again.
            self.op.store.entries().remove(&name);
            rounds.lose()?;
        }
    }

    /// Doubles a bucket's shards, unless it already has more shards than the number that was too low.
    ///
    /// Growth is optional: if it fails, the write that asked for it continues with the shards that there are.
    pub(crate) async fn grow(self, settings: &TopicSettings, bucket: Bucket, under: ShardCount) {
        let topic = self.topic;
        let name = (topic.clone(), bucket);
        // If many writers are refused at once, one of them grows the bucket; the others retry their writes.
        let Ok(_one_at_a_time) = self.op.store.growing().try_lock() else { return };
        let grown = self.op.store.entries().get(&name).is_some_and(|entry| entry.shards > under);
        let wanted = under.doubled(settings.max_shards);
        if grown || wanted == under {
            return;
        }
        let update = Update::of(&key(&name))
            .set("shards", wanted.get())
            .only_if(Condition::equals("shards", under.get()));
        match self.update_entry(&name, &update).await {
            Ok(Some(entry)) => {
                self.op.table.meter().shards_doubled();
                tracing::info!(shards = entry.shards.get(), bucket = %bucket, "a hot bucket has grown");
            }
            // Another process has grown the bucket: read its new number of shards.
            Ok(None) => {
                if let Err(error) = self.read_entry(&name).await {
                    tracing::warn!(%error, "the directory could not be read after growth elsewhere");
                }
            }
            Err(error) => tracing::warn!(%error, "a hot bucket could not be grown"),
        }
    }

    /// Gives a bucket that has an entry at least this number of shards.
    pub(crate) async fn raise(self, bucket: Bucket, to: ShardCount) -> Result<(), TableError> {
        let topic = self.topic;
        let name = (topic.clone(), bucket);
        let update =
            Update::of(&key(&name)).set("shards", to.get()).only_if(Condition::below("shards", to.get()));
        if self.update_entry(&name, &update).await?.is_some() {
            return Ok(());
        }
        // The entry has as many shards already, or has been deleted.
        match self.read_entry(&name).await? {
            Some(entry) if entry.shards >= to => Ok(()),
            _ => Err(TableError::unavailable("the bucket's entry in the directory is gone")),
        }
    }

    async fn read_entry(self, name: &EntryName) -> Result<Option<Arc<Entry>>, TableError> {
        let Some(item) = self.op.table.get(key(name).encode()).await? else { return Ok(None) };
        Ok(Some(self.remember_entry(name, decode(&item)?)))
    }

    fn remember_entry(self, name: &EntryName, entry: Entry) -> Arc<Entry> {
        let entry = Arc::new(entry);
        self.op.store.entries().insert(name.clone(), Arc::clone(&entry));
        entry
    }

    /// Creates a bucket's entry. `None` if another writer has created it.
    async fn create_entry(
        self,
        name: &EntryName,
        settings: &TopicSettings,
        types: &BTreeSet<EventType>,
    ) -> Result<Option<Arc<Entry>>, TableError> {
        let (topic, bucket) = name;
        let before = match bucket.previous() {
            None => None,
            Some(previous) => {
                let first = Bucket::containing(bucket.width(), UnixMillis::MIN);
                let page = self.query_entries(Order::NewestFirst, first, previous, 1).await?;
                page.entries.into_iter().next()
            }
        };
        let half = before.map_or(ShardCount::ONE, |before| before.shards.halved());
        let entry = Entry {
            bucket: *bucket,
            shards: half.min(settings.max_shards).max(settings.min_shards),
            types: match (settings.views.event_type, types.len() <= TYPES_PER_BUCKET) {
                (false, _) => Types::NotKept,
                (true, true) => Types::Listed(types.clone()),
                (true, false) => Types::Any,
            },
            retention: settings.retention_days,
        };
        let put = self.op.table.put_if(&encode(name, &entry), &Condition::no_item()).await?;
        if put != PutIf::Done {
            return Ok(None);
        }
        self.op.store.forget_directory_pages(topic);
        Ok(Some(self.remember_entry(name, entry)))
    }

    /// Adds types to a bucket's entry. `None` if the entry has been deleted, lists no types, or has no more room for so
    /// many.
    async fn add_types(
        self,
        name: &EntryName,
        entry: &Entry,
        types: &BTreeSet<EventType>,
    ) -> Result<Option<Arc<Entry>>, TableError> {
        let missing: BTreeSet<_> =
            types.iter().filter(|event_type| !entry.types.may_hold(event_type)).cloned().collect();
        let listed = match &entry.types {
            Types::Listed(listed) => listed.len(),
            Types::NotKept | Types::Any => 0,
        };
        // The entry may have been deleted and created again without the view, and other writers may have added types
        // that this process does not know. So the condition looks at the stored entry.
        let is_kept = Condition::exists("types");
        let update = Update::of(&key(name));
        let update = match TYPES_PER_BUCKET.checked_sub(missing.len()) {
            Some(room) if listed <= room => update
                .add("types", type_set(&missing))
                .only_if(is_kept.and(Condition::size_at_most("types", room as u64))),
            _ => update.set("any_type", true).only_if(is_kept),
        };
        self.update_entry(name, &update).await
    }

    /// Updates an entry, and remembers the updated entry. `None` if the update's condition failed.
    async fn update_entry(self, name: &EntryName, update: &Update) -> Result<Option<Arc<Entry>>, TableError> {
        let Some(item) = self.op.table.update_and_get(update).await? else { return Ok(None) };
        self.op.store.forget_directory_pages(&name.0);
        Ok(Some(self.remember_entry(name, decode(&item)?)))
    }
}

fn key((topic, bucket): &EntryName) -> DirectoryKey {
    DirectoryKey { topic: topic.clone(), bucket: *bucket }
}

fn type_set(types: &BTreeSet<EventType>) -> Value {
    Value::texts(types.iter().map(EventType::as_str))
}

fn encode(name: &EntryName, entry: &Entry) -> Item {
    let item = Item::at(&key(name)).with("shards", entry.shards.get());
    let item = match &entry.types {
        Types::NotKept => item,
        Types::Listed(types) => item.with("types", type_set(types)),
        Types::Any => item.with("any_type", true),
    };
    let Some(days) = entry.retention else { return item };
    let expires_at = entry.bucket.last().saturating_add(days.millis()).get() / 1000 + DIRECTORY_GRACE_SECONDS;
    item.with("retention_days", days.get()).with("expires_at", expires_at)
}

fn decode(item: &Item) -> Result<Entry, Corrupt> {
    let DirectoryKey { bucket, .. } = item.key_as()?;
    let types = match item.texts("types")? {
        _ if item.flag("any_type") => Types::Any,
        None => Types::NotKept,
        Some(types) => {
            let types = types.iter().map(|event_type| event_type.parse()).collect::<Result<_, _>>();
            Types::Listed(types.map_err(|_| item.corrupt("types"))?)
        }
    };
    Ok(Entry {
        bucket,
        shards: shard_count(item, "shards")?,
        types,
        retention: retention_days(item, "retention_days")?,
    })
}
