//! The directory: the buckets of a topic that hold events, with the shards and types of each.
//!
//! Three rules hold:
//! - **D1** An entry that covers shard and type is durable before any event that needs it is written.
//! - **D2** The coverage of an entry only grows. So a writer may remember an entry for ever, and a reader that reads
//!   the directory consistently after a write was acknowledged finds that write.
//! - **D3** A reader may use a directory page for one second after it sent its query. Directory queries are always
//!   consistent, so the page is at most a second behind.
//!
//! A writer whose event is refused by its own hot partition *grows* the bucket: it adds a spread of twice the shards, for a
//! minute from the event's time. A writer that writes near the end of a spread *renews* it (`renewal.rs`). A new bucket
//! begins with the spread that is valid when the bucket begins.
//!
//! The creation of a bucket's entry decides whether the bucket keeps its `type` view, and this never changes: a view
//! that started in the middle of a bucket would not list the earlier events.

pub(crate) mod cache;
pub(crate) mod range;

use std::collections::BTreeSet;
use std::sync::Arc;

use lately_items::{BucketTypes, DirectoryEntry, DirectoryKey, TopicKey};
use lately_keys::{Bucket, Coverage, EventType, Order, ShardCount, Spread, TableKey, Topic, UnixMillis};
use lately_model::{RetentionDays, TopicSettings};
use lately_table::{Condition, PutIf, Query, Rounds, TableError, Update};

use crate::directory::range::{DirectoryPage, DirectoryRange, EntryName, carried_over, key};
use crate::limits::{SPREAD_ATTEMPTS, TYPES_PER_BUCKET};
use crate::moments::{Aged, Sent};
use crate::op::Op;

/// Directory entries read by one query.
const DIRECTORY_ENTRIES: u16 = 32;

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
        let DirectoryRange { order, oldest, newest, .. } = range;
        let value = self.query_entries(*order, *oldest, *newest, DIRECTORY_ENTRIES).await?;
        let page = Arc::new(Aged { value, sent });
        self.op.memory().directory.pages.insert(range.clone(), Arc::clone(&page));
        Ok(page)
    }

    /// As [`Directory::read`], or a page that was read a short time ago (D3).
    pub(crate) async fn recent(self, range: &DirectoryRange) -> Result<Arc<Aged<DirectoryPage>>, TableError> {
        let known = self.op.memory().directory.pages.get(range);
        match known.filter(|page| page.sent.is_within(self.op.directory_age, self.op.ambient())) {
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
        let entries = page.items.iter().map(DirectoryEntry::decode).collect::<Result<_, _>>()?;
        Ok(DirectoryPage { entries, more: page.next.is_some() })
    }

    /// Makes sure that the directory covers events of some types in a bucket (D1). Returns the entry that covers them.
    pub(crate) async fn cover(
        self,
        settings: &TopicSettings,
        bucket: Bucket,
        types: &BTreeSet<EventType>,
    ) -> Result<Arc<DirectoryEntry>, TableError> {
        let topic = self.topic;
        let name = (topic.clone(), bucket);
        let mut rounds = Rounds::of(&self.op.table, "the directory");
        loop {
            let known = match self.op.memory().directory.entries.get(&name) {
                Some(entry) => Some(entry),
                None => self.read_entry(&name).await?,
            };
            let written = match known {
                Some(entry) if !entry.outlives(settings.retention_days) => {
                    self.keep(&entry, settings.retention_days).await?
                }
                Some(entry) if entry.covers(types) => return Ok(entry),
                Some(entry) => self.add_types(&name, &entry, types).await?,
                None => self.create_entry(&name, settings, types).await?,
            };
            if let Some(entry) = written.filter(|entry| entry.covers(types)) {
                return Ok(entry);
            }
            // Another writer was first, or the entry has been deleted: read it again.
            self.op.memory().directory.entries.remove(&name);
            rounds.lose()?;
        }
    }

    /// Lets events of all times of a bucket that has an entry be placed by this number of shards.
    pub(crate) async fn raise(self, bucket: Bucket, to: ShardCount) -> Result<(), TableError> {
        let name = (self.topic.clone(), bucket);
        let spread = Spread { shards: to, first: bucket.first(), last: bucket.last() };
        let mut rounds = Rounds::of(&self.op.table, "the directory");
        loop {
            let Some(entry) = self.op.memory().directory.entries.get(&name) else {
                if self.read_entry(&name).await?.is_some() {
                    continue;
                }
                return Err(TableError::unavailable("the bucket's entry in the directory is gone"));
            };
            if entry.coverage.covers_always(to) || self.put_spread(&name, &entry, spread).await?.is_some() {
                return Ok(());
            }
            self.op.memory().directory.entries.remove(&name);
            rounds.lose()?;
        }
    }

    /// Adds the spread that `choose` makes of the stored coverage. Returns whether a spread was added. A writer that
    /// comes after another one learns of the other's spread, and adds its own only if it is still needed.
    pub(crate) async fn add_spread(
        self,
        name: &EntryName,
        choose: impl Fn(&Coverage) -> Option<Spread>,
    ) -> Result<bool, TableError> {
        let mut known = self.op.memory().directory.entries.get(name);
        for _ in 0..SPREAD_ATTEMPTS {
            let entry = match known.take() {
                Some(entry) => entry,
                None => match self.read_entry(name).await? {
                    Some(entry) => entry,
                    None => return Ok(false),
                },
            };
            let Some(spread) = choose(&entry.coverage) else { return Ok(false) };
            if self.put_spread(name, &entry, spread).await?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Adds a spread to the entry that this process knows. `None` if the stored entry has other spreads by now.
    async fn put_spread(
        self,
        name: &EntryName,
        entry: &DirectoryEntry,
        spread: Spread,
    ) -> Result<Option<Arc<DirectoryEntry>>, TableError> {
        let mut coverage = Coverage::clone(&entry.coverage);
        coverage.add(spread);
        let Some(text) = coverage.spreads_text() else { return Ok(None) };
        let is_known = match entry.coverage.spreads_text() {
            Some(known) => Condition::equals("spreads", known),
            None => Condition::absent("spreads"),
        };
        let is_there = Condition::exists("base");
        let update = Update::of(&key(name)).set("spreads", text).only_if(is_there.and(is_known));
        self.update_entry(name, &update).await
    }

    /// The newest entries, or the newest of those up to a bucket, however wide the topic's buckets are. The read is
    /// consistent.
    pub(crate) async fn remaining(
        self,
        newest: Option<Bucket>,
        limit: usize,
    ) -> Result<DirectoryPage, TableError> {
        let query = Query::partition(TopicKey::partition(self.topic));
        let query = match newest {
            Some(newest) => query.between(DirectoryKey::PREFIX, DirectoryKey::sort_key(newest)),
            None => query.begins_with(DirectoryKey::PREFIX),
        };
        let limit = u32::try_from(limit).unwrap_or(u32::MAX);
        let page = self.op.table.query(&query.backward(true).limit(limit).consistent(true)).await?;
        let entries = page.items.iter().map(DirectoryEntry::decode).collect::<Result<_, _>>()?;
        Ok(DirectoryPage { entries, more: page.next.is_some() })
    }

    /// Gives an entry another retention, if it has another one. `None` if the stored entry has changed.
    pub(crate) async fn keep(
        self,
        entry: &DirectoryEntry,
        retention: Option<RetentionDays>,
    ) -> Result<Option<Arc<DirectoryEntry>>, TableError> {
        if entry.retention == retention {
            return Ok(Some(Arc::new(entry.clone())));
        }
        let name = (self.topic.clone(), entry.bucket);
        let is_there = Condition::exists("base");
        let update = Update::of(&key(&name)).only_if(is_there);
        let update = match retention {
            Some(days) => update
                .set("retention_days", days.get())
                .set("expires_at", DirectoryEntry::expiry(entry.bucket, days)),
            None => update.remove("retention_days").remove("expires_at"),
        };
        self.update_entry(&name, &update).await
    }

    /// Reads an entry as it is stored.
    pub(crate) async fn stored_entry(
        self,
        bucket: Bucket,
    ) -> Result<Option<Arc<DirectoryEntry>>, TableError> {
        self.read_entry(&(self.topic.clone(), bucket)).await
    }

    async fn read_entry(self, name: &EntryName) -> Result<Option<Arc<DirectoryEntry>>, TableError> {
        let Some(item) = self.op.table.get(key(name).encode()).await? else { return Ok(None) };
        Ok(Some(self.remember_entry(name, DirectoryEntry::decode(&item)?)))
    }

    fn remember_entry(self, name: &EntryName, entry: DirectoryEntry) -> Arc<DirectoryEntry> {
        let entry = Arc::new(entry);
        self.op.memory().directory.entries.insert(name.clone(), Arc::clone(&entry));
        entry
    }

    /// Creates a bucket's entry. `None` if another writer has created it.
    async fn create_entry(
        self,
        name: &EntryName,
        settings: &TopicSettings,
        types: &BTreeSet<EventType>,
    ) -> Result<Option<Arc<DirectoryEntry>>, TableError> {
        let (topic, bucket) = name;
        let before = match bucket.previous() {
            None => None,
            Some(previous) => {
                let first = Bucket::containing(bucket.width(), UnixMillis::MIN);
                let page = self.query_entries(Order::NewestFirst, first, previous, 1).await?;
                page.entries.into_iter().next()
            }
        };
        let mut coverage = Coverage::new(*bucket, settings.min_shards);
        if let Some(spread) =
            before.and_then(|before| carried_over(&before, *bucket, settings, self.op.now()))
        {
            coverage.add(spread);
        }
        let entry = DirectoryEntry {
            bucket: *bucket,
            coverage: Arc::new(coverage),
            types: match (settings.views.event_type, types.len() <= TYPES_PER_BUCKET) {
                (false, _) => BucketTypes::NotKept,
                (true, true) => BucketTypes::Listed(types.clone()),
                (true, false) => BucketTypes::Any,
            },
            retention: settings.retention_days,
        };
        let put = self.op.table.put_if(&entry.encode(&name.0), &Condition::no_item()).await?;
        if put != PutIf::Done {
            return Ok(None);
        }
        self.op.memory().directory.forget_pages(topic);
        Ok(Some(self.remember_entry(name, entry)))
    }

    /// Adds types to a bucket's entry. `None` if the entry has been deleted, lists no types, or has no more room for so
    /// many.
    async fn add_types(
        self,
        name: &EntryName,
        entry: &DirectoryEntry,
        types: &BTreeSet<EventType>,
    ) -> Result<Option<Arc<DirectoryEntry>>, TableError> {
        let missing: Vec<_> = types.iter().filter(|event_type| !entry.types.may_hold(event_type)).collect();
        let listed = match &entry.types {
            BucketTypes::Listed(listed) => listed.len(),
            BucketTypes::NotKept | BucketTypes::Any => 0,
        };
        // The entry may have been deleted and created again without the view, and other writers may have added types
        // that this process does not know. So the condition looks at the stored entry.
        let is_kept = Condition::exists("types");
        let update = Update::of(&key(name));
        let update = match TYPES_PER_BUCKET.checked_sub(missing.len()) {
            Some(room) if listed <= room => update
                .add("types", BucketTypes::set(missing))
                .only_if(is_kept.and(Condition::size_at_most("types", room as u64))),
            _ => update.set("any_type", true).only_if(is_kept),
        };
        self.update_entry(name, &update).await
    }

    /// Updates an entry, and remembers the updated entry. `None` if the update's condition failed.
    async fn update_entry(
        self,
        name: &EntryName,
        update: &Update,
    ) -> Result<Option<Arc<DirectoryEntry>>, TableError> {
        let Some(item) = self.op.table.update_and_get(update).await? else { return Ok(None) };
        self.op.memory().directory.forget_pages(&name.0);
        Ok(Some(self.remember_entry(name, DirectoryEntry::decode(&item)?)))
    }
}
