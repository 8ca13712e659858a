//! The storage of a topic: its buckets and shards, and every item that an event was written to.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::types::{AttributeValue, Select};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use lately_items::{
    DirectoryEntry, DirectoryKey, EventKey, EventPartition, FeedEntryKey, TopicKey, TypeViewKey,
};
use lately_keys::{
    Bucket, BucketWidth, EventId, EventType, Key, Place, Shard, Source, Spread, TableKey, Topic, UnixMillis,
    User,
};
use lately_kit::answer;
use lately_kit::code::Code;
use lately_kit::path::Part;
use lately_kit::problem::Problem;
use lately_model::ListQuery;
use serde::Serialize;

use crate::serve::console::item::{Item, ItemView, Stands};
use crate::serve::console::limits::{BUCKETS, COUNTED, FOLLOWERS};
use crate::serve::console::parts::ConsoleState;
use crate::serve::system::TABLE;

#[derive(Serialize)]
struct StoredTopicView {
    topic: Topic,
    bucket: BucketWidth,
    buckets: Vec<StoredBucketView>,
    more: bool,
}

#[derive(Serialize)]
struct StoredBucketView {
    label: Bucket,
    /// The most shards that the bucket has at any time.
    shards: u16,
    /// The shards that the bucket has at all times.
    base: u16,
    spreads: Vec<SpreadView>,
    types: Vec<String>,
    counts: Vec<u64>,
    capped: bool,
}

/// A span of time with its own number of shards; `to` is the first moment after it.
#[derive(Serialize)]
struct SpreadView {
    from: UnixMillis,
    to: UnixMillis,
    shards: u16,
}

#[derive(Serialize)]
struct ItemList {
    items: Vec<ItemView>,
}

pub(super) async fn get_topic(
    State(shared): State<ConsoleState>,
    Part(topic): Part<Topic>,
) -> Result<Response, Problem> {
    let bucket = width(&shared, &topic).await?;
    let (entries, more) = shared.directory(&topic).await?;
    let mut buckets = Vec::new();
    for entry in &entries {
        buckets.push(shared.bucket(&topic, entry).await?);
    }
    Ok(answer::json(StatusCode::OK, &StoredTopicView { topic, bucket, buckets, more }))
}

pub(super) async fn get_event(
    State(shared): State<ConsoleState>,
    Part(topic): Part<Topic>,
    Part(id): Part<EventId>,
) -> Result<Response, Problem> {
    let key = EventKey::new(topic.clone(), width(&shared, &topic).await?, id);
    let event = shared.item(&key.encode()).await?;
    let event = event.ok_or_else(|| Problem::new(Code::EventNotFound, "The topic has no such event."))?;
    let mut items = vec![ItemView::of(Stands::Event, Place::Table, key.encode(), &event)];
    let sources = sources(&event);
    for source in &sources {
        for key in shared.looking.op().source(source).places(id).await? {
            let entry = shared.item(&key).await?;
            items.extend(entry.map(|entry| ItemView::of(Stands::Source, Place::Table, key, &entry)));
        }
    }
    for user in shared.readers(&sources).await? {
        let key = FeedEntryKey { user, id }.encode();
        let entry = shared.item(&key).await?;
        items.extend(entry.map(|entry| ItemView::of(Stands::Feed, Place::Table, key, &entry)));
    }
    if let Some(event_type) = text(&event, "t").and_then(|text| text.parse().ok()) {
        let key = TypeViewKey::new(&key, event_type).encode();
        let entry = shared.entry(Place::Gsi1, &key).await?;
        items.extend(entry.map(|entry| ItemView::of(Stands::Index, Place::Gsi1, key, &entry)));
    }
    shared.show_writes(&mut items);
    Ok(answer::json(StatusCode::OK, &ItemList { items }))
}

async fn width(shared: &ConsoleState, topic: &Topic) -> Result<BucketWidth, Problem> {
    let view = shared.looking.op().topic(topic).view().await?;
    Ok(view.settings.bucket)
}

fn text<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    item.get(name)?.as_s().ok().map(String::as_str)
}

/// The sources of an event.
fn sources(event: &Item) -> Vec<Source> {
    let actor = text(event, "a").and_then(|actor| actor.parse().ok()).map(Source::Actor);
    let subject = text(event, "s").and_then(|subject| subject.parse().ok()).map(Source::Subject);
    actor.into_iter().chain(subject).collect()
}

fn unavailable<E: std::error::Error + 'static>(error: SdkError<E>) -> Problem {
    Problem::unavailable(&error)
}

impl ConsoleState {
    /// Gives the items the times of their last writes, as far as the stream has the records.
    fn show_writes(&self, items: &mut [ItemView]) {
        let stream = self.parts.system.engine.stream(TABLE);
        for record in stream.map(|stream| stream.all()).unwrap_or_default() {
            let keys = record.keys();
            let at = UnixMillis::new(record.at_micros() / 1000);
            if let (Some(pk), Some(sk), Ok(at)) = (text(&keys, "pk"), text(&keys, "sk"), at) {
                items.iter_mut().for_each(|item| item.written(pk, sk, at));
            }
        }
    }

    /// The newest entries of a topic's directory, and whether there are more.
    async fn directory(&self, topic: &Topic) -> Result<(Vec<Item>, bool), Problem> {
        let query = self.client().query().table_name(TABLE);
        let query = query.key_condition_expression("pk = :pk AND begins_with(sk, :buckets)");
        let query = query
            .expression_attribute_values(":pk", AttributeValue::S(TopicKey::partition(topic)))
            .expression_attribute_values(":buckets", AttributeValue::S(DirectoryKey::PREFIX.to_owned()))
            .scan_index_forward(false)
            .limit(BUCKETS);
        let page = query.send().await.map_err(unavailable)?;
        let more = page.last_evaluated_key.is_some();
        Ok((page.items.unwrap_or_default(), more))
    }

    /// The contents of a bucket.
    async fn bucket(&self, topic: &Topic, entry: &Item) -> Result<StoredBucketView, Problem> {
        let corrupt = || Problem::new(Code::Unavailable, "A directory entry cannot be read.");
        let item = lately_items::Item::from(entry.clone());
        let DirectoryEntry { bucket, coverage, .. } = DirectoryEntry::decode(&item).map_err(|_| corrupt())?;
        let types: Option<BTreeSet<EventType>> =
            item.optional(DirectoryEntry::TYPES).map_err(|_| corrupt())?;
        let types = types.iter().flatten().map(ToString::to_string).collect();
        let mut counts = Vec::new();
        for shard in coverage.most_shards().shards() {
            counts.push(self.count(topic, bucket, shard).await?);
        }
        let capped = counts.iter().any(|count| *count >= COUNTED);
        let spread = |spread: &Spread| SpreadView {
            from: spread.first,
            to: spread.last.saturating_add(1),
            shards: spread.shards.get(),
        };
        Ok(StoredBucketView {
            label: bucket,
            shards: coverage.most_shards().get(),
            base: coverage.base().get(),
            spreads: coverage.spreads().iter().map(spread).collect(),
            types,
            counts,
            capped,
        })
    }

    /// The number of events in a partition, or [`COUNTED`] if there are at least as many.
    async fn count(&self, topic: &Topic, bucket: Bucket, shard: Shard) -> Result<u64, Problem> {
        let partition = EventPartition { topic: topic.clone(), bucket, shard }.to_string();
        let (mut count, mut after) = (0, None);
        loop {
            let query = self.client().query().table_name(TABLE).select(Select::Count);
            let query = query
                .key_condition_expression("pk = :pk")
                .expression_attribute_values(":pk", AttributeValue::S(partition.clone()))
                .limit(i32::try_from(COUNTED - count).unwrap_or(i32::MAX))
                .set_exclusive_start_key(after);
            let page = query.send().await.map_err(unavailable)?;
            count += u64::try_from(page.count).unwrap_or_default();
            after = page.last_evaluated_key;
            // The engine responds without waiting, so other tasks get their turn here.
            tokio::task::yield_now().await;
            if after.is_none() || count >= COUNTED {
                return Ok(count);
            }
        }
    }

    /// Reads an item consistently.
    async fn item(&self, key: &Key) -> Result<Option<Item>, Problem> {
        let get = self.client().get_item().table_name(TABLE).consistent_read(true);
        let get = get
            .key(Place::Table.pk(), AttributeValue::S(key.pk.clone()))
            .key(Place::Table.sk(), AttributeValue::S(key.sk.clone()));
        Ok(get.send().await.map_err(unavailable)?.item)
    }

    /// The entry of an index with a key, if the index has it yet.
    async fn entry(&self, place: Place, key: &Key) -> Result<Option<Item>, Problem> {
        let query = self.client().query().table_name(TABLE).set_index_name(place.index().map(str::to_owned));
        let query = query
            .key_condition_expression(format!("{} = :pk AND {} = :sk", place.pk(), place.sk()))
            .expression_attribute_values(":pk", AttributeValue::S(key.pk.clone()))
            .expression_attribute_values(":sk", AttributeValue::S(key.sk.clone()))
            .limit(1);
        let page = query.send().await.map_err(unavailable)?;
        Ok(page.items.unwrap_or_default().pop())
    }

    /// The users whose feeds may hold an event of these sources: its actor, and the first followers.
    async fn readers(&self, sources: &[Source]) -> Result<BTreeSet<User>, Problem> {
        let mut readers = BTreeSet::new();
        for source in sources {
            if let Source::Actor(actor) = source {
                readers.extend(actor.as_str().parse::<User>().ok());
            }
            let query = ListQuery { limit: FOLLOWERS, cursor: None };
            let list = self.looking.op().source(source).followers(&query).await?;
            readers.extend(list.followers.into_iter().map(|follower| follower.user));
        }
        Ok(readers)
    }
}
