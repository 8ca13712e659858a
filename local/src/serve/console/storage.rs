//! The storage of a topic: its buckets and shards, and every item that an event was written to.

use std::collections::{BTreeMap, BTreeSet};

use axum::extract::State;
use lately_items::{
    DirectoryEntry, DirectoryKey, EventKey, EventPartition, FeedEntryKey, Item, TopicKey, TypeViewKey, event,
};
use lately_keys::{
    Bucket, BucketWidth, EventId, EventType, Key, Place, Shard, Source, Spread, TableKey, Topic, UnixMillis,
    User,
};
use lately_kit::answer::Json;
use lately_kit::code::Code;
use lately_kit::path::Part;
use lately_kit::problem::Problem;
use lately_model::{Event, ListQuery};
use lately_table::{Query, TableError};
use serde_dynamo::AttributeValue;
use serde_json::{Value, json};

use crate::serve::console::ConsoleState;
use crate::serve::console::limits::{BUCKETS, COUNTED, FOLLOWERS};
use crate::serve::system::TABLE;

pub(super) async fn get_topic(
    State(shared): State<ConsoleState>,
    Part(topic): Part<Topic>,
) -> Result<Json<Value>, Problem> {
    let bucket = width(&shared, &topic).await?;
    let directory = Query::partition(&*TopicKey::partition(&topic)).begins_with(DirectoryKey::PREFIX);
    let page = shared.table.begin().query(&directory.backward(true).limit(BUCKETS)).await?;
    let mut buckets = Vec::new();
    for entry in &page.items {
        buckets.push(shared.bucket(&topic, entry).await?);
    }
    let more = page.next.is_some();
    Ok(Json(json!({ "topic": topic, "bucket": bucket, "buckets": buckets, "more": more })))
}

pub(super) async fn get_event(
    State(shared): State<ConsoleState>,
    Part(topic): Part<Topic>,
    Part(id): Part<EventId>,
) -> Result<Json<Value>, Problem> {
    let key = EventKey::new(topic.clone(), width(&shared, &topic).await?, id);
    let item = shared.item(&key.encode()).await?;
    let item = item.ok_or_else(|| Problem::new(Code::EventNotFound, "The topic has no such event."))?;
    let mut items = vec![view("event", Place::Table, &key.encode(), &item)];
    let Event { event_type, actor, subject, .. } = event::decode(&item).map_err(TableError::from)?;
    let sources: Vec<_> = [Source::Actor(actor)].into_iter().chain(subject.map(Source::Subject)).collect();
    for source in &sources {
        for key in shared.looking.op().source(source).places(id).await? {
            let entry = shared.item(&key).await?;
            items.extend(entry.map(|entry| view("source", Place::Table, &key, &entry)));
        }
    }
    for user in shared.readers(&sources).await? {
        let key = FeedEntryKey { user, id }.encode();
        let entry = shared.item(&key).await?;
        items.extend(entry.map(|entry| view("feed", Place::Table, &key, &entry)));
    }
    let key = TypeViewKey::new(&key, event_type).encode();
    let entry = Query::of(Place::Gsi1, &*key.pk).between(&*key.sk, &*key.sk).limit(1);
    // The index may not have the entry yet.
    let entry = shared.table.begin().query(&entry).await?.items.pop();
    items.extend(entry.map(|entry| view("index", Place::Gsi1, &key, &entry)));
    shared.show_writes(&mut items);
    Ok(Json(json!({ "items": items })))
}

/// An item or its entry in an index, without its key there. Its place says what it is for an event: the event itself, an
/// entry in the timeline of one of its sources, in a user's feed, or in an index.
fn view(place: &str, at: Place, key: &Key, item: &Item) -> Value {
    let attributes = item.attributes().iter().filter(|(name, _)| !at.attributes().contains(&name.as_str()));
    let attributes = attributes.map(|(name, value)| (name, AttributeValue::from(value.clone())));
    json!({
        "place": place,
        "index": at.index(),
        "pk": key.pk,
        "sk": key.sk,
        "attributes": attributes.collect::<BTreeMap<_, _>>(),
        "bytes": item.stored_bytes(),
        // The time of the last write, if the stream still has its record.
        "written_at": null,
    })
}

async fn width(shared: &ConsoleState, topic: &Topic) -> Result<BucketWidth, Problem> {
    let view = shared.looking.op().topic(topic).view().await?;
    Ok(view.settings.bucket)
}

impl ConsoleState {
    /// Gives the items the times of their last writes, as far as the stream has the records.
    fn show_writes(&self, items: &mut [Value]) {
        let stream = self.parts.system.engine.stream(TABLE);
        for record in stream.map(|stream| stream.all()).unwrap_or_default() {
            let (key, at) = (Item::from(record.keys()).key(), UnixMillis::new(record.at_micros / 1000));
            if let (Ok(key), Ok(at)) = (key, at) {
                let written = items.iter_mut().filter(|item| item["pk"] == key.pk && item["sk"] == key.sk);
                written.for_each(|item| item["written_at"] = json!(at));
            }
        }
    }

    /// The contents of a bucket.
    async fn bucket(&self, topic: &Topic, entry: &Item) -> Result<Value, Problem> {
        let DirectoryEntry { bucket, coverage, .. } =
            DirectoryEntry::decode(entry).map_err(TableError::from)?;
        let types: Option<BTreeSet<EventType>> =
            entry.optional(DirectoryEntry::TYPES).map_err(TableError::from)?;
        let mut counts = Vec::new();
        for shard in coverage.most_shards().shards() {
            counts.push(self.count(topic, bucket, shard).await?);
        }
        let capped = counts.iter().any(|count| *count >= COUNTED);
        // A span of time has its own number of shards; `to` is the first moment after it.
        let spread = |Spread { first, last, shards }: &Spread| json!({ "from": first, "to": last.saturating_add(1), "shards": shards.get() });
        Ok(json!({
            "label": bucket,
            // The most shards that the bucket has at any time, and those that it has at all times.
            "shards": coverage.most_shards().get(),
            "base": coverage.base().get(),
            "spreads": coverage.spreads().iter().map(spread).collect::<Vec<_>>(),
            "types": types.unwrap_or_default(),
            "counts": counts,
            "capped": capped,
        }))
    }

    /// The number of events in a partition, or [`COUNTED`] if there are at least as many.
    async fn count(&self, topic: &Topic, bucket: Bucket, shard: Shard) -> Result<usize, Problem> {
        let partition = EventPartition { topic: topic.clone(), bucket, shard }.to_string();
        let (mut count, mut next) = (0, None);
        loop {
            let query = Query::partition(&*partition).count().limit(COUNTED - count).start(next);
            let page = self.table.begin().query(&query).await?;
            count += page.count;
            next = page.next;
            // The engine responds without waiting, so other tasks get their turn here.
            tokio::task::yield_now().await;
            if next.is_none() || count >= COUNTED {
                return Ok(count);
            }
        }
    }

    /// Reads an item consistently.
    async fn item(&self, key: &Key) -> Result<Option<Item>, TableError> {
        self.table.begin().get(key.clone()).await
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

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::types::AttributeValue;

    use super::*;

    #[test]
    fn an_item_is_shown_without_its_keys_but_its_size_counts_them() {
        let item = Item::from([("pk", "EVENTS#a"), ("sk", "1"), ("s", "text")])
            .with("n", AttributeValue::N("-12".to_owned()))
            .with("f", AttributeValue::Bool(true));
        let key = Key { pk: "EVENTS#a".to_owned(), sk: "1".to_owned() };
        let expected = json!({
            "place": "event", "index": null, "pk": "EVENTS#a", "sk": "1",
            "attributes": {"s": {"S": "text"}, "n": {"N": "-12"}, "f": {"BOOL": true}},
            "written_at": null,
            // 10 + 3, 1 + 4, 1 + 3, 1 + 1
            "bytes": 24,
        });
        assert_eq!(view("event", Place::Table, &key, &item), expected);
    }
}
