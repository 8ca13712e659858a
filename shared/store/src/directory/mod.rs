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
//! minute from the event's time. A writer that writes near the end of a spread *renews* it (`coverage.rs`). A new bucket
//! begins with the spread that is valid when the bucket begins.
//!
//! The creation of a bucket's entry decides whether the bucket keeps its `type` view, and this never changes: a view
//! that started in the middle of a bucket would not list the earlier events.

pub(crate) mod range;
pub(crate) mod shards;

use std::collections::BTreeSet;
use std::sync::Arc;

use lately_items::{BucketTypes, DirectoryEntry, DirectoryKey, EXPIRES_AT, TopicKey};
use lately_keys::{Bucket, Coverage, EventType, Order, TableKey};
use lately_model::{RetentionDays, TopicSettings};
use lately_table::{Condition, Query, Rounds, TableError, Update};

use crate::directory::range::{DirectoryPage, DirectoryRange, carried_over};
use crate::handle::DirectoryHandle;
use crate::moments::{Aged, Sent};

/// Types that a bucket's directory entry lists. A bucket with more types counts as holding every type, so the entry
/// stays small however many types a client invents.
const TYPES_PER_BUCKET: usize = 128;

const _: () = assert!(TYPES_PER_BUCKET * (lately_keys::limits::EVENT_TYPE_BYTES + 1) < 16 * 1024);

/// Directory entries read by one query.
const DIRECTORY_ENTRIES: usize = 32;

impl DirectoryHandle<'_> {
    /// The first entries of a range, in its order. Unless they must be read now, they may be from a page that was read a
    /// short time ago (D3).
    pub(crate) async fn read(
        self,
        range: &DirectoryRange,
        is_now: bool,
    ) -> Result<Arc<Aged<DirectoryPage>>, TableError> {
        let known = self.op.memory().directory_pages.get(range).filter(|_| !is_now);
        let young = known.filter(|page| page.sent.is_within(self.op.directory_age, self.op.ambient()));
        if let Some(page) = young {
            return Ok(page);
        }
        let sent = Sent::now(self.op.ambient());
        let query = Query::partition(TopicKey::partition(self.topic))
            .between(DirectoryKey::sort_key(range.oldest), DirectoryKey::sort_key(range.newest))
            .backward(range.order == Order::NewestFirst);
        let value = self.page(query, DIRECTORY_ENTRIES).await?;
        let page = Arc::new(Aged { value, sent });
        self.op.memory().directory_pages.insert(range.clone(), Arc::clone(&page));
        Ok(page)
    }

    /// Makes sure that the directory covers events of some types in a bucket (D1). Returns the entry that covers them.
    pub(crate) async fn cover(
        self,
        settings: &TopicSettings,
        bucket: Bucket,
        types: &BTreeSet<EventType>,
    ) -> Result<Arc<DirectoryEntry>, TableError> {
        let mut rounds = Rounds::of(&self.op.table, "the directory");
        loop {
            let known = match self.op.memory().directory_entries.get(&(self.topic.clone(), bucket)) {
                Some(entry) => Some(entry),
                None => self.stored_entry(bucket).await?,
            };
            let written = match known {
                Some(entry) if !entry.outlives(settings.retention_days) => {
                    self.keep(&entry, settings.retention_days).await?
                }
                Some(entry) if entry.covers(types) => return Ok(entry),
                Some(entry) => self.add_types(&entry, types).await?,
                None => self.create_entry(bucket, settings, types).await?,
            };
            if let Some(entry) = written.filter(|entry| entry.covers(types)) {
                return Ok(entry);
            }
            // Another writer was first, or the entry has been deleted: read it again.
            self.op.memory().directory_entries.remove(&(self.topic.clone(), bucket));
            rounds.lose()?;
        }
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
        self.page(query.backward(true), limit).await
    }

    async fn page(self, query: Query, limit: usize) -> Result<DirectoryPage, TableError> {
        let page = self.op.table.query(&query.limit(limit).consistent(true)).await?;
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
        let expires_at = retention.map(|days| DirectoryEntry::expiry(entry.bucket, days));
        let update = Update::of(&entry.key(self.topic))
            .assign(DirectoryEntry::RETENTION_DAYS, retention.as_ref())
            .assign(EXPIRES_AT, expires_at)
            .only_if(Condition::exists(DirectoryEntry::BASE));
        self.update_entry(&update).await
    }

    /// Reads an entry as it is stored.
    pub(crate) async fn stored_entry(
        self,
        bucket: Bucket,
    ) -> Result<Option<Arc<DirectoryEntry>>, TableError> {
        let key = DirectoryKey { topic: self.topic.clone(), bucket };
        let Some(item) = self.op.table.get(key.encode()).await? else { return Ok(None) };
        Ok(Some(self.remember(DirectoryEntry::decode(&item)?)))
    }

    /// Creates a bucket's entry. `None` if another writer has created it.
    async fn create_entry(
        self,
        bucket: Bucket,
        settings: &TopicSettings,
        types: &BTreeSet<EventType>,
    ) -> Result<Option<Arc<DirectoryEntry>>, TableError> {
        let mut coverage = Coverage::new(bucket, settings.min_shards);
        if let Some(earlier) = bucket.previous() {
            let page = self.remaining(Some(earlier), 1).await?;
            let before = page.entries.first();
            let spread = before.and_then(|before| carried_over(before, bucket, settings, self.op.now()));
            spread.into_iter().for_each(|spread| coverage.add(spread));
        }
        let entry = DirectoryEntry {
            bucket,
            coverage: Arc::new(coverage),
            types: match (settings.views.event_type, types.len() <= TYPES_PER_BUCKET) {
                (false, _) => BucketTypes::NotKept,
                (true, true) => BucketTypes::Listed(types.clone()),
                (true, false) => BucketTypes::Any,
            },
            retention: settings.retention_days,
        };
        if self.op.table.put_if(&entry.encode(self.topic), &Condition::no_item()).await?.is_some() {
            return Ok(None);
        }
        self.op.memory().forget_directory_pages(self.topic);
        Ok(Some(self.remember(entry)))
    }

    /// Adds types to a bucket's entry. `None` if the entry has been deleted, lists no types, or has no more room for so
    /// many.
    async fn add_types(
        self,
        entry: &DirectoryEntry,
        types: &BTreeSet<EventType>,
    ) -> Result<Option<Arc<DirectoryEntry>>, TableError> {
        const TYPES: &str = DirectoryEntry::TYPES;
        let missing = types.iter().filter(|event_type| !entry.types.may_hold(event_type));
        let missing: BTreeSet<_> = missing.cloned().collect();
        let listed = match &entry.types {
            BucketTypes::Listed(listed) => listed.len(),
            BucketTypes::NotKept | BucketTypes::Any => 0,
        };
        // The entry may have been deleted and created again without the view, and other writers may have added types
        // that this process does not know. So the condition looks at the stored entry.
        let (update, is_kept) = (Update::of(&entry.key(self.topic)), Condition::exists(TYPES));
        let update = match TYPES_PER_BUCKET.checked_sub(missing.len()) {
            Some(room) if listed <= room => {
                update.add(TYPES, &missing).only_if(is_kept.and(Condition::size_at_most(TYPES, room as u64)))
            }
            _ => update.set(DirectoryEntry::ANY_TYPE, true).only_if(is_kept),
        };
        self.update_entry(&update).await
    }

    /// Updates an entry, and remembers the updated entry. `None` if the update's condition failed.
    async fn update_entry(self, update: &Update) -> Result<Option<Arc<DirectoryEntry>>, TableError> {
        let Some(item) = self.op.table.update_and_get(update).await? else { return Ok(None) };
        self.op.memory().forget_directory_pages(self.topic);
        Ok(Some(self.remember(DirectoryEntry::decode(&item)?)))
    }

    fn remember(self, entry: DirectoryEntry) -> Arc<DirectoryEntry> {
        let entry = Arc::new(entry);
        self.op.memory().directory_entries.insert((self.topic.clone(), entry.bucket), Arc::clone(&entry));
        entry
    }
}
