//! Items of timelines, feeds and follows, as fan-out and follows write them; tests put them without these writers.
//!
//! The items are put together by hand, as the files of `lately-items` describe them. So the tests check
//! the readers against the stored formats, and not against the writers.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, DeleteRequest, PutRequest, WriteRequest};
use lately_items::{EventKey, FeedEntryKey, FollowKey, PullMarkerKey, SourceEntryKey, SourceItemKey};
use lately_keys::{BucketWidth, EventId, Key, Shard, Source, TableKey, Tick, UnixMillis, User};
use lately_model::{Event, EventQuery, FeedQuery, Page, SourceQuery, TimelineEvent};
use lately_store::Store;

use crate::support::{Item, TABLE, query};

pub(crate) fn user(name: &str) -> User {
    name.parse().unwrap()
}

pub(crate) fn source(name: &str) -> Source {
    name.parse().unwrap()
}

/// An id of a time. The number tells apart the ids of the same time.
pub(crate) fn id(at: UnixMillis, number: u64) -> EventId {
    EventId::new(Tick::first_of(at), Shard::from(0), number)
}

pub(crate) fn text(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

pub(crate) fn number(number: impl ToString) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

pub(crate) fn keyed(key: Key) -> Item {
    Item::from([("pk".to_owned(), text(key.pk)), ("sk".to_owned(), text(key.sk))])
}

/// An item of a key with some attributes.
pub(crate) fn item<const N: usize>(key: &impl TableKey, attributes: [(&str, AttributeValue); N]) -> Item {
    let attributes = attributes.into_iter().map(|(name, value)| (name.to_owned(), value));
    attributes.chain(keyed(key.encode())).collect()
}

/// An event, with the form of its entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) told: TimelineEvent,
    pub(crate) fans_out: bool,
    pub(crate) expires_at: Option<u64>,
    /// The entries are pointers to the event, not copies.
    pub(crate) points: bool,
}

impl Listed {
    pub(crate) fn new(id: EventId, actor: &str, subject: Option<&str>) -> Self {
        let event = Event {
            id,
            event_type: "note".parse().unwrap(),
            actor: actor.parse().unwrap(),
            subject: subject.map(|subject| subject.parse().unwrap()),
            data: Some("1".parse().unwrap()),
        };
        let told = TimelineEvent { topic: "posts".parse().unwrap(), event };
        Self { told, fans_out: true, expires_at: None, points: false }
    }

    /// The same event, with data of `bytes` bytes.
    pub(crate) fn of_bytes(self, bytes: usize) -> Self {
        let mut listed = self;
        listed.told.event.data = Some(format!("\"{}\"", "x".repeat(bytes - 2)).parse().unwrap());
        listed
    }

    pub(crate) fn id(&self) -> EventId {
        self.told.event.id
    }

    pub(crate) fn sources(&self) -> Vec<Source> {
        let event = &self.told.event;
        let actor = Source::Actor(event.actor.clone());
        [actor].into_iter().chain(event.subject.clone().map(Source::Subject)).collect()
    }

    /// True if the event has not expired.
    pub(crate) fn is_there(&self, now: UnixMillis) -> bool {
        self.expires_at.is_none_or(|seconds| seconds > now.get() / 1000)
    }

    fn entry(&self, key: Key) -> Item {
        let event = &self.told.event;
        let mut item = keyed(key);
        let mut put = |name: &str, value: AttributeValue| item.insert(name.to_owned(), value);
        put("t", text(event.event_type.as_str()));
        put("a", text(event.actor.as_str()));
        put("o", text(self.told.topic.as_str()));
        put("v", text(if event.subject.is_some() { "as" } else { "a" }));
        if let Some(subject) = &event.subject {
            put("s", text(subject.as_str()));
        }
        if self.points {
            put("w", text("d"));
        } else if let Some(data) = &event.data {
            put("d", text(data.as_str()));
        }
        if let Some(seconds) = self.expires_at {
            put("expires_at", number(seconds));
        }
        item
    }

    pub(crate) fn at_source(&self, source: &Source) -> Item {
        let mut item =
            self.entry(SourceEntryKey { source: source.clone(), shard: 0.into(), id: self.id() }.encode());
        if !self.fans_out {
            item.insert("n".to_owned(), AttributeValue::Bool(true));
        }
        item
    }

    pub(crate) fn at_sources(&self) -> impl Iterator<Item = Item> {
        self.sources().into_iter().map(|source| self.at_source(&source))
    }

    pub(crate) fn in_feed(&self, user: &User) -> Item {
        self.entry(FeedEntryKey { user: user.clone(), id: self.id() }.encode())
    }

    /// The event itself, in a topic of daily buckets.
    pub(crate) fn event(&self) -> Item {
        let event = &self.told.event;
        let key = EventKey::new(self.told.topic.clone(), BucketWidth::Day, self.id());
        let data = event.data.as_ref().unwrap();
        let texts = [("t", event.event_type.as_str()), ("a", event.actor.as_str()), ("d", data.as_str())];
        let mut item = item(&key, texts.map(|(name, value)| (name, text(value))));
        item.extend(event.subject.iter().map(|subject| ("s".to_owned(), text(subject.as_str()))));
        item
    }
}

/// The pull marker of a source, in a user's feed.
pub(crate) fn pull(user: &User, source: &Source, since: EventId) -> Item {
    let key = PullMarkerKey { user: user.clone(), source: source.clone() };
    item(&key, [("since", text(since.to_string()))])
}

/// The item of a source that is pulled, with the id at which its promotion began.
pub(crate) fn source_item(source: &Source, promotion: EventId) -> Item {
    let from = || text(promotion.to_string());
    let key = SourceItemKey { source: source.clone() };
    item(&key, [("mode", text("pull")), ("promotion", from()), ("pull_from", from())])
}

/// The edge of a follow.
pub(crate) fn follow(user: &User, source: &Source, since: UnixMillis) -> Item {
    let key = FollowKey { user: user.clone(), source: source.clone() };
    item(&key, [("n", number(0)), ("since", number(since.get()))])
}

/// The size of an item that has only texts.
pub(crate) fn bytes(item: &Item) -> usize {
    item.iter().map(|(name, value)| name.len() + value.as_s().unwrap().len()).sum()
}

/// The events of a page.
pub(crate) fn told(page: &Page<TimelineEvent>) -> Vec<EventId> {
    page.events.iter().map(|event| event.event.id).collect()
}

/// All events that a user finds in a feed of one page.
pub(crate) async fn feed_of(store: &Store, who: &User) -> Vec<EventId> {
    let page = EventQuery { consistent: true, ..query(200) };
    let page = store.op().feed(who).page(&FeedQuery { page, wait_for: None }).await.unwrap().page;
    assert!(!page.has_more);
    told(&page)
}

/// All events of a source's timeline of one page.
pub(crate) async fn timeline_of(store: &Store, source: &Source) -> Vec<EventId> {
    let page = EventQuery { consistent: true, ..query(200) };
    let query = SourceQuery { page, topic: None, wait_for: None };
    let page = store.op().timeline(source).page(&query).await.unwrap();
    assert!(!page.has_more);
    told(&page)
}

pub(crate) async fn put(client: &Client, items: impl IntoIterator<Item = Item>) {
    let request = |item| {
        let put = PutRequest::builder().set_item(Some(item)).build().unwrap();
        WriteRequest::builder().put_request(put).build()
    };
    write(client, items.into_iter().map(request).collect()).await;
}

pub(crate) async fn delete(client: &Client, items: impl IntoIterator<Item = Item>) {
    let request = |mut item: Item| {
        item.retain(|name, _| ["pk", "sk"].contains(&name.as_str()));
        let delete = DeleteRequest::builder().set_key(Some(item)).build().unwrap();
        WriteRequest::builder().delete_request(delete).build()
    };
    write(client, items.into_iter().map(request).collect()).await;
}

async fn write(client: &Client, requests: Vec<WriteRequest>) {
    for batch in requests.chunks(25) {
        let answer = client.batch_write_item().request_items(TABLE, batch.to_vec()).send().await.unwrap();
        assert!(answer.unprocessed_items.is_none_or(|left| left.is_empty()));
    }
}
