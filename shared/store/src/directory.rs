//! The directory: which buckets of a topic hold anything, and what each one holds.
//!
//! ```text
//! TOPIC#{topic} / BUCKET#{label}
//!   shards N, retention_days N?, expires_at N?
//!   types SS? (the types in the bucket, where its `type` view is kept), any_type BOOL? (there are more)
//! ```
//!
//! What must hold:
//! - **D1** An entry that covers shard and type is durable before any event that needs it is written.
//! - **D2** What an entry covers only grows. So a writer may remember it for ever, and a reader that reads the
//!   directory consistently after a write was acknowledged finds that write.
//! - **D3** A reader may use what it read for a second from when its query was sent. Directory queries are
//!   always consistent, so a second is all that it can be behind.
//!
//! Whether a bucket keeps its `type` view is decided when its entry is made, and never changes: a view that
//! starts in the middle of a bucket would not list what came before.

use std::collections::BTreeSet;
use std::sync::Arc;

use aws_sdk_dynamodb::types::{AttributeValue, ReturnConsumedCapacity, ReturnValue};
use lately_keys::table::{DirectoryKey, TopicKey};
use lately_keys::{
    Bucket, BucketWidth, EventType, Key, Order, Place, ShardCount, TableKey, Topic, UnixMillis,
};
use lately_model::{RetentionDays, TopicSettings};

use crate::error::TableError;
use crate::item::{Corrupt, Fields, Item, keyed, number, text};
use crate::limits::{CONFLICTS, DIRECTORY_ENTRIES, DIRECTORY_GRACE_SECONDS, TYPES_PER_BUCKET};
use crate::op::Op;
use crate::store::{Aged, Sent};
use crate::topic::{retention_days, shard_count};

/// Which entry: a bucket of a topic.
pub(crate) type EntryName = (Topic, Bucket);

/// What a bucket holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) bucket: Bucket,
    pub(crate) shards: ShardCount,
    pub(crate) types: Types,
    pub(crate) retention: Option<RetentionDays>,
}

/// Which types of events a bucket holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Types {
    /// The bucket does not keep the `type` view.
    NotKept,
    /// It does, and holds these.
    Listed(BTreeSet<EventType>),
    /// It does, and holds too many to list.
    Any,
}

impl Types {
    /// Whether events are listed by type in the bucket.
    pub(crate) const fn are_kept(&self) -> bool {
        !matches!(self, Self::NotKept)
    }

    /// Whether the bucket may hold events of a type.
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

    /// What is left of the range behind a bucket.
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
    /// Whether there may be entries behind these.
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
        let topic = self.topic;
        let answer = self
            .op
            .table
            .query(|query| {
                query
                    .key_condition_expression("pk = :pk AND sk BETWEEN :oldest AND :newest")
                    .expression_attribute_values(":pk", text(TopicKey::partition(topic)))
                    .expression_attribute_values(":oldest", text(DirectoryKey::sort_key(oldest)))
                    .expression_attribute_values(":newest", text(DirectoryKey::sort_key(newest)))
                    .scan_index_forward(order == Order::OldestFirst)
                    .limit(limit.into())
                    .consistent_read(true)
            })
            .await?;
        let entries = answer.items().iter().map(decode).collect::<Result<Vec<_>, _>>()?;
        Ok(DirectoryPage { entries, more: answer.last_evaluated_key().is_some() })
    }

    /// Makes sure that the directory covers events of some types in a bucket (D1), and says how.
    pub(crate) async fn cover(
        self,
        settings: &TopicSettings,
        bucket: Bucket,
        types: &BTreeSet<EventType>,
    ) -> Result<Arc<Entry>, TableError> {
        let topic = self.topic;
        let name = (topic.clone(), bucket);
        for _ in 0..CONFLICTS {
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
            // Another writer was first, or the entry is gone: look again.
            self.op.store.entries().remove(&name);
        }
        Err(TableError::unavailable("other writers keep changing the directory"))
    }

    /// Doubles a bucket's shards, unless it has more already than those that were too few.
    ///
    /// Growing is a help and no duty: if it fails, the write that asked for it goes on as it is.
    pub(crate) async fn grow(self, settings: &TopicSettings, bucket: Bucket, under: ShardCount) {
        let topic = self.topic;
        let name = (topic.clone(), bucket);
        // Of many writers that are refused at once one is enough; the others go on trying.
        let Ok(_one_at_a_time) = self.op.store.growing().try_lock() else { return };
        let grown = self.op.store.entries().get(&name).is_some_and(|entry| entry.shards > under);
        let wanted = under.doubled(settings.max_shards);
        if grown || wanted == under {
            return;
        }
        let update = Update {
            expression: "SET shards = :wanted",
            condition: "shards = :under",
            values: vec![(":wanted", number(wanted.get())), (":under", number(under.get()))],
        };
        match self.update_entry(&name, update).await {
            Ok(Some(entry)) => {
                self.op.table.meter.shards_doubled();
                tracing::info!(shards = entry.shards.get(), bucket = %bucket, "a hot bucket has grown");
            }
            // Too late: another process has grown it. Learn by how much.
            Ok(None) => {
                if let Err(error) = self.read_entry(&name).await {
                    tracing::warn!(%error, "the directory could not be read after growth elsewhere");
                }
            }
            Err(error) => tracing::warn!(%error, "a hot bucket could not be grown"),
        }
    }

    /// Gives a bucket that is covered at least so many shards.
    pub(crate) async fn raise(self, bucket: Bucket, to: ShardCount) -> Result<(), TableError> {
        let topic = self.topic;
        let name = (topic.clone(), bucket);
        let update = Update {
            expression: "SET shards = :wanted",
            condition: "shards < :wanted",
            values: vec![(":wanted", number(to.get()))],
        };
        if self.update_entry(&name, update).await?.is_some() {
            return Ok(());
        }
        // It has as many by now, or is gone.
        match self.read_entry(&name).await? {
            Some(entry) if entry.shards >= to => Ok(()),
            _ => Err(TableError::unavailable("the bucket's entry in the directory is gone")),
        }
    }

    async fn read_entry(self, name: &EntryName) -> Result<Option<Arc<Entry>>, TableError> {
        let Some(item) = self.op.table.get_item(keyed(Place::Table, key(name))).await? else {
            return Ok(None);
        };
        Ok(Some(self.remember_entry(name, decode(&item)?)))
    }

    fn remember_entry(self, name: &EntryName, entry: Entry) -> Arc<Entry> {
        let entry = Arc::new(entry);
        self.op.store.entries().insert(name.clone(), Arc::clone(&entry));
        entry
    }

    /// Makes a bucket's entry. `None` if there is one by now.
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
                let newest_first = Order::NewestFirst;
                let page = self.query_entries(newest_first, first, previous, 1).await?;
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
        let item = encode(name, &entry);
        let put = self
            .op
            .table
            .call_if(|| {
                self.op
                    .table
                    .client
                    .put_item()
                    .table_name(&*self.op.table.name)
                    .set_item(Some(item.clone()))
                    .condition_expression("attribute_not_exists(pk)")
                    .return_consumed_capacity(ReturnConsumedCapacity::Total)
                    .send()
            })
            .await?;
        let Some(answer) = put else { return Ok(None) };
        self.op.table.meter.write(answer.consumed_capacity());
        self.op.store.forget_directory_pages(topic);
        Ok(Some(self.remember_entry(name, entry)))
    }

    /// Adds types to a bucket's entry. `None` if the entry is gone, lists no types, or has no room for so many any more.
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
        // An entry that was removed meanwhile may have come back without the view; and other writers may have added types
        // that this process does not know of. The condition sees what is stored.
        let update = match TYPES_PER_BUCKET.checked_sub(missing.len()) {
            Some(room) if listed <= room => Update {
                expression: "ADD types :added",
                condition: "attribute_exists(types) AND size(types) <= :room",
                values: vec![(":added", type_set(&missing)), (":room", number(room as u64))],
            },
            _ => Update {
                expression: "SET any_type = :any",
                condition: "attribute_exists(types)",
                values: vec![(":any", AttributeValue::Bool(true))],
            },
        };
        self.update_entry(name, update).await
    }

    /// Updates an entry under a condition, and remembers what it became. `None` if the condition failed.
    async fn update_entry(self, name: &EntryName, update: Update) -> Result<Option<Arc<Entry>>, TableError> {
        let updated = self
            .op
            .table
            .call_if(|| {
                let values = update.values.iter().cloned().map(|(name, value)| (name.to_owned(), value));
                self.op
                    .table
                    .client
                    .update_item()
                    .table_name(&*self.op.table.name)
                    .set_key(Some(keyed(Place::Table, key(name))))
                    .update_expression(update.expression)
                    .condition_expression(update.condition)
                    .set_expression_attribute_values(Some(values.collect()))
                    .return_values(ReturnValue::AllNew)
                    .return_consumed_capacity(ReturnConsumedCapacity::Total)
                    .send()
            })
            .await?;
        let Some(answer) = updated else { return Ok(None) };
        self.op.table.meter.write(answer.consumed_capacity());
        self.op.store.forget_directory_pages(&name.0);
        let item =
            answer.attributes().ok_or_else(|| TableError::unavailable("an update returned no item"))?;
        Ok(Some(self.remember_entry(name, decode(item)?)))
    }
}

/// An update of an entry.
#[derive(Debug)]
struct Update {
    expression: &'static str,
    condition: &'static str,
    values: Vec<(&'static str, AttributeValue)>,
}

fn key((topic, bucket): &EntryName) -> Key {
    DirectoryKey { topic: topic.clone(), bucket: *bucket }.encode()
}

fn type_set(types: &BTreeSet<EventType>) -> AttributeValue {
    AttributeValue::Ss(types.iter().map(EventType::to_string).collect())
}

fn encode(name: &EntryName, entry: &Entry) -> Item {
    let mut item = keyed(Place::Table, key(name));
    item.insert("shards".to_owned(), number(entry.shards.get()));
    match &entry.types {
        Types::NotKept => {}
        Types::Listed(types) => {
            item.insert("types".to_owned(), type_set(types));
        }
        Types::Any => {
            item.insert("any_type".to_owned(), AttributeValue::Bool(true));
        }
    }
    if let Some(days) = entry.retention {
        item.insert("retention_days".to_owned(), number(days.get()));
        let expires_at =
            entry.bucket.last().saturating_add(days.millis()).get() / 1000 + DIRECTORY_GRACE_SECONDS;
        item.insert("expires_at".to_owned(), number(expires_at));
    }
    item
}

fn decode(item: &Item) -> Result<Entry, Corrupt> {
    let fields = Fields(item);
    let key = DirectoryKey::decode(fields.text("pk")?, fields.text("sk")?);
    let types = match fields.texts("types")? {
        _ if fields.flag("any_type") => Types::Any,
        None => Types::NotKept,
        Some(types) => {
            let types = types.iter().map(|event_type| event_type.parse()).collect::<Result<_, _>>();
            Types::Listed(types.map_err(|_| fields.corrupt("types"))?)
        }
    };
    Ok(Entry {
        bucket: key.ok_or_else(|| fields.corrupt("sk"))?.bucket,
        shards: shard_count(fields, "shards")?,
        types,
        retention: retention_days(fields, "retention_days")?,
    })
}
