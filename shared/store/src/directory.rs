//! The directory: the buckets of a topic that hold events, with the shards and types of each.
//!
//! ```text
//! TOPIC#{topic} / BUCKET#{label}
//!   base N, spreads S? (see `Coverage`), retention_days N?, expires_at N?
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
//! A writer whose event is refused by its own hot partition *grows* the bucket: it adds a spread of twice the shards, for a
//! minute from the event's time. A writer that writes near the end of a spread *renews* it (`renewal.rs`). A new bucket
//! begins with the spread that is valid when the bucket begins.
//!
//! The creation of a bucket's entry decides whether the bucket keeps its `type` view, and this never changes: a view
//! that started in the middle of a bucket would not list the earlier events.

use std::collections::BTreeSet;
use std::sync::Arc;

use lately_keys::table::{DirectoryKey, TopicKey};
use lately_keys::{
    Bucket, BucketWidth, Coverage, EventId, EventType, Order, ShardCount, Spread, TableKey, Topic, UnixMillis,
};
use lately_model::{AcceptedTimes, RetentionDays, TopicSettings};
use lately_table::{Condition, Corrupt, Item, PutIf, Query, Rounds, TableError, Update, Value};

use crate::limits::{DIRECTORY_ENTRIES, DIRECTORY_GRACE_SECONDS, SPREAD_MILLIS, TYPES_PER_BUCKET};
use crate::memory::{Aged, Sent};
use crate::op::Op;
use crate::renewal::Spreading;
use crate::topic::{oldest_kept, retention_days, shard_count};

/// Attempts to add a spread, if other writers change the entry meanwhile. Their spreads mostly suffice.
pub(crate) const SPREAD_ATTEMPTS: u32 = 3;

/// The name of an entry: a bucket of a topic.
pub(crate) type EntryName = (Topic, Bucket);

/// The directory's entry for a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) bucket: Bucket,
    pub(crate) coverage: Arc<Coverage>,
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
        self.retention.map_or(UnixMillis::MIN, |days| oldest_kept(days, now))
    }

    /// True if the entry stays at least as long as events under a retention.
    fn outlives(&self, retention: Option<RetentionDays>) -> bool {
        longer(self.retention, retention) == self.retention
    }

    fn covers(&self, types: &BTreeSet<EventType>) -> bool {
        types.iter().all(|event_type| self.types.may_hold(event_type))
    }
}

/// The longer of two retentions. `None` is for ever.
fn longer(one: Option<RetentionDays>, other: Option<RetentionDays>) -> Option<RetentionDays> {
    one.zip(other).map(|(one, other)| one.max(other))
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
        self.op.memory().directory_pages.insert(range.clone(), Arc::clone(&page));
        Ok(page)
    }

    /// As [`Directory::read`], or a page that was read a short time ago (D3).
    pub(crate) async fn recent(self, range: &DirectoryRange) -> Result<Arc<Aged<DirectoryPage>>, TableError> {
        let known = self.op.memory().directory_pages.get(range);
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
            let known = match self.op.memory().entries.get(&name) {
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
            self.op.memory().entries.remove(&name);
            rounds.lose()?;
        }
    }

    /// Adds a spread with twice the shards of an event that was refused, from the event's time on. Does nothing if the
    /// writers of such events already know of more shards.
    ///
    /// Growth is optional: if it fails, the write that asked for it continues with the shards that there are.
    pub(crate) async fn grow(self, settings: &TopicSettings, entry: &Entry, id: EventId) {
        let refused = id.at();
        let bucket = entry.bucket;
        let name = (self.topic.clone(), bucket);
        let under = entry.coverage.shards_at(refused);
        let wanted = under.doubled(settings.max_shards);
        if wanted == under {
            return;
        }
        // If many writers are refused at once, one of them grows the bucket; the others retry their writes.
        let Ok(_one_at_a_time) = self.op.memory().growing.try_lock() else { return };
        let is_import = AcceptedTimes::new(self.op.now(), None).is_import(refused);
        // New events get the present time, so the spread of the present decides. Imports keep their times.
        let at = if is_import { refused } else { self.op.now().min(bucket.last()).max(refused) };
        let known = self.op.memory().entries.get(&name);
        if known.is_some_and(|known| known.coverage.shards_at(at) > under) {
            return;
        }
        let spreading = Spreading::Bucket(self, settings, bucket);
        if !spreading.may_double(id, under).await {
            return;
        }
        let last = if is_import { bucket.last() } else { refused.saturating_add(SPREAD_MILLIS - 1) };
        let spread = Spread { shards: wanted, first: refused, last };
        match self.add_spread(&name, |coverage| (coverage.shards_at(at) <= under).then_some(spread)).await {
            Ok(true) => {
                self.op.table.meter().shards_doubled();
                tracing::info!(shards = wanted.get(), bucket = %bucket, "a hot bucket has grown");
            }
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, "a hot bucket could not be grown"),
        }
    }

    /// Lets events of all times of a bucket that has an entry be placed by this number of shards.
    pub(crate) async fn raise(self, bucket: Bucket, to: ShardCount) -> Result<(), TableError> {
        let name = (self.topic.clone(), bucket);
        let spread = Spread { shards: to, first: bucket.first(), last: bucket.last() };
        let mut rounds = Rounds::of(&self.op.table, "the directory");
        loop {
            let Some(entry) = self.op.memory().entries.get(&name) else {
                if self.read_entry(&name).await?.is_some() {
                    continue;
                }
                return Err(TableError::unavailable("the bucket's entry in the directory is gone"));
            };
            if entry.coverage.covers_always(to) || self.put_spread(&name, &entry, spread).await?.is_some() {
                return Ok(());
            }
            self.op.memory().entries.remove(&name);
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
        let mut known = self.op.memory().entries.get(name);
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
        entry: &Entry,
        spread: Spread,
    ) -> Result<Option<Arc<Entry>>, TableError> {
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
        let entries = page.items.iter().map(decode).collect::<Result<_, _>>()?;
        Ok(DirectoryPage { entries, more: page.next.is_some() })
    }

    /// Gives an entry another retention, if it has another one. `None` if the stored entry has changed.
    pub(crate) async fn keep(
        self,
        entry: &Entry,
        retention: Option<RetentionDays>,
    ) -> Result<Option<Arc<Entry>>, TableError> {
        if entry.retention == retention {
            return Ok(Some(Arc::new(entry.clone())));
        }
        let name = (self.topic.clone(), entry.bucket);
        let is_there = Condition::exists("base");
        let update = Update::of(&key(&name)).only_if(is_there);
        let update = match retention {
            Some(days) => {
                update.set("retention_days", days.get()).set("expires_at", expiry(entry.bucket, days))
            }
            None => update.remove("retention_days").remove("expires_at"),
        };
        self.update_entry(&name, &update).await
    }

    /// Reads an entry as it is stored.
    pub(crate) async fn stored_entry(self, bucket: Bucket) -> Result<Option<Arc<Entry>>, TableError> {
        self.read_entry(&(self.topic.clone(), bucket)).await
    }

    async fn read_entry(self, name: &EntryName) -> Result<Option<Arc<Entry>>, TableError> {
        let Some(item) = self.op.table.get(key(name).encode()).await? else { return Ok(None) };
        Ok(Some(self.remember_entry(name, decode(&item)?)))
    }

    fn remember_entry(self, name: &EntryName, entry: Entry) -> Arc<Entry> {
        let entry = Arc::new(entry);
        self.op.memory().entries.insert(name.clone(), Arc::clone(&entry));
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
        let mut coverage = Coverage::new(*bucket, settings.min_shards);
        if let Some(spread) =
            before.and_then(|before| carried_over(&before, *bucket, settings, self.op.now()))
        {
            coverage.add(spread);
        }
        let entry = Entry {
            bucket: *bucket,
            coverage: Arc::new(coverage),
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
        self.op.memory().forget_directory_pages(topic);
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
        let missing: Vec<_> = types.iter().filter(|event_type| !entry.types.may_hold(event_type)).collect();
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
                .add("types", type_set(missing))
                .only_if(is_kept.and(Condition::size_at_most("types", room as u64))),
            _ => update.set("any_type", true).only_if(is_kept),
        };
        self.update_entry(name, &update).await
    }

    /// Updates an entry, and remembers the updated entry. `None` if the update's condition failed.
    async fn update_entry(self, name: &EntryName, update: &Update) -> Result<Option<Arc<Entry>>, TableError> {
        let Some(item) = self.op.table.update_and_get(update).await? else { return Ok(None) };
        self.op.memory().forget_directory_pages(&name.0);
        Ok(Some(self.remember_entry(name, decode(&item)?)))
    }
}

/// The spread with which a bucket begins: its writers go on with the shards that the bucket before it has at its end.
fn carried_over(before: &Entry, bucket: Bucket, settings: &TopicSettings, now: UnixMillis) -> Option<Spread> {
    if before.bucket.next() != Some(bucket) {
        return None;
    }
    let shards = before.coverage.shards_at(before.bucket.last()).min(settings.max_shards);
    let first = bucket.first();
    let last = match AcceptedTimes::new(now, None).is_import(bucket.last()) {
        true => bucket.last(),
        false => first.saturating_add(SPREAD_MILLIS - 1),
    };
    (shards > settings.min_shards).then_some(Spread { shards, first, last })
}

fn key((topic, bucket): &EntryName) -> DirectoryKey {
    DirectoryKey { topic: topic.clone(), bucket: *bucket }
}

fn type_set<'a>(types: impl IntoIterator<Item = &'a EventType>) -> Value {
    Value::texts(types.into_iter().map(EventType::as_str))
}

fn encode(name: &EntryName, entry: &Entry) -> Item {
    let item = Item::at(&key(name))
        .with("base", entry.coverage.base().get())
        .with_some("spreads", entry.coverage.spreads_text());
    let item = match &entry.types {
        Types::NotKept => item,
        Types::Listed(types) => item.with("types", type_set(types)),
        Types::Any => item.with("any_type", true),
    };
    let Some(days) = entry.retention else { return item };
    item.with("retention_days", days.get()).with("expires_at", expiry(entry.bucket, days))
}

/// When the entry of a bucket expires, in unix seconds: after all of its events.
fn expiry(bucket: Bucket, days: RetentionDays) -> u64 {
    bucket.last().saturating_add(days.millis()).get() / 1000 + DIRECTORY_GRACE_SECONDS
}

fn decode(item: &Item) -> Result<Entry, Corrupt> {
    let DirectoryKey { bucket, .. } = item.key_as()?;
    let types = match item.texts("types")? {
        _ if item.flag("any_type") => Types::Any,
        None => Types::NotKept,
        Some(texts) => {
            let mut types = BTreeSet::new();
            for text in texts {
                types.insert(text.parse().map_err(|_| item.corrupt("types"))?);
            }
            Types::Listed(types)
        }
    };
    let coverage = Coverage::new(bucket, shard_count(item, "base")?);
    let coverage = match item.optional_text("spreads")? {
        Some(spreads) => coverage.with_spreads(spreads).map_err(|_| item.corrupt("spreads"))?,
        None => coverage,
    };
    Ok(Entry {
        bucket,
        coverage: Arc::new(coverage),
        types,
        retention: retention_days(item, "retention_days")?,
    })
}
