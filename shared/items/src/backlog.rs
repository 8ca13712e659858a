//! The backlog of a source's timeline or of a feed: writes that the busy partition did not accept in time.
//!
//! ```text
//! table   pk  JOB#BACKLOG#SOURCE#{source}   or   JOB#BACKLOG#FEED#{user}    sk  {id}
//!   o S?, b S? (topic and bucket width of events that were written; absent: the events were deleted)
//!   e B (for each event 21 bytes: its id, when it was changed in unix seconds, 1 if its topic fans out)
//!   step N (how often the item was put)
//! ```
//!
//! The id is made together with the item. It is not inverted, so the oldest item is the first.

use aws_sdk_dynamodb::types::AttributeValue;
use lately_keys::{BucketWidth, EventId, Key, Source, TableKey, Topic, UnixMillis, UnknownWord, User};

use crate::attribute::Attribute;
use crate::item::{Corrupt, Item};
use crate::key::key;
use crate::record::{Record, record};
use crate::{FeedEntryKey, SourceEntryKey};

lately_keys::tagged! {
    /// A partition that may accept fewer writes than fan-out has for it. Its text is the partition of the backlog's items.
    pub enum Backlog {
        /// The timeline of a source.
        Source(Source) = "JOB#BACKLOG#SOURCE#",
        /// The feed of a user.
        Feed(User) = "JOB#BACKLOG#FEED#",
    }
    else UnknownWord: UnknownWord, |_| UnknownWord
}

impl Backlog {
    /// The backlog for the partition of an entry; `None` for all other keys.
    ///
    /// ```
    /// use lately_keys::TableKey;
    /// use lately_items::{Backlog, FeedEntryKey};
    ///
    /// let id = "0190a4cd-d3e7-7222-9f99-fdb74feee752".parse()?;
    /// let entry = FeedEntryKey { user: "bob".parse()?, id };
    /// assert_eq!(Backlog::of(&entry.encode()), Some(Backlog::Feed("bob".parse()?)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of(key: &Key) -> Option<Self> {
        let feed = FeedEntryKey::decode(&key.pk, &key.sk).map(|entry| Self::Feed(entry.user));
        feed.or_else(|| SourceEntryKey::decode(&key.pk, &key.sk).map(|entry| Self::Source(entry.source)))
    }
}

key! {
    /// An item of a backlog.
    pub struct BacklogKey {
        /// The partition that was too busy.
        pub backlog: Backlog,
        /// The id made together with the item.
        pub id: EventId,
    }
    Table: pk "{backlog}" sk "{id}"
}

/// An event in a backlog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeferredEvent {
    /// The event.
    pub id: EventId,
    /// When the event was written or deleted, in whole seconds.
    pub at: UnixMillis,
    /// True if the event's topic fans out. If not, the event is in no feed.
    pub fans_out: bool,
}

/// The topic and the bucket width of all events of an item; `None` if they were deleted.
pub type DeferredTopic = Option<(Topic, BucketWidth)>;

record! {
    /// An item of a backlog.
    pub struct BacklogItem {
        /// The item's key.
        pub key: BacklogKey = key,
        /// The topic of the events.
        pub written: DeferredTopic = part_if("o"),
        /// The events.
        pub events: Vec<DeferredEvent> = required("e"),
        /// The number of the step that works on it.
        pub step: u64 = required("step"),
    }
}

/// The topic of events, and the width of its buckets.
impl Record for (Topic, BucketWidth) {
    fn add_to(&self, item: Item) -> Item {
        item.with("o", &self.0).with("b", &self.1)
    }

    fn decode(item: &Item) -> Result<Self, Corrupt> {
        Ok((item.get("o")?, item.get("b")?))
    }
}

/// The bytes of one event: its id, its time, and whether its topic fans out.
const EVENT_BYTES: usize = 16 + 4 + 1;

impl Attribute for DeferredEvent {
    fn write_list(events: &[Self]) -> AttributeValue {
        let mut bytes = Vec::with_capacity(events.len() * EVENT_BYTES);
        for Self { id, at, fans_out } in events {
            bytes.extend(id.as_uuid().as_bytes());
            bytes.extend(u32::try_from(at.get() / 1000).unwrap_or(u32::MAX).to_be_bytes());
            bytes.push(u8::from(*fans_out));
        }
        bytes.write()
    }

    fn read_list(value: &AttributeValue) -> Option<Vec<Self>> {
        let (events, []) = value.as_b().ok()?.as_ref().as_chunks() else { return None };
        events.iter().map(deferred_event).collect()
    }
}

fn deferred_event(bytes: &[u8; EVENT_BYTES]) -> Option<DeferredEvent> {
    let (id, rest) = bytes.split_first_chunk::<16>()?;
    let (seconds, rest) = rest.split_first_chunk::<4>()?;
    let id = EventId::from_slice(id)?;
    let at = UnixMillis::new(u64::from(u32::from_be_bytes(*seconds)) * 1000).ok()?;
    Some(DeferredEvent { id, at, fans_out: rest == [1] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribute::Value;
    use crate::tests::ID;

    fn item(written: DeferredTopic) -> BacklogItem {
        let id = ID.parse().unwrap();
        let event =
            |at: u64, fans_out| DeferredEvent { id, at: UnixMillis::new(at * 1000).unwrap(), fans_out };
        let key = BacklogKey { backlog: Backlog::Source("actor:ada".parse().unwrap()), id };
        BacklogItem { key, written, events: vec![event(1, true), event(1_720_800_000, false)], step: 3 }
    }

    #[test]
    fn golden_bytes() {
        let stored = item(Some(("posts".parse().unwrap(), BucketWidth::Hour))).encode();
        let id: EventId = ID.parse().unwrap();
        let id = id.as_uuid();
        let events =
            [&id.as_bytes()[..], &[0, 0, 0, 1, 1], id.as_bytes(), &[0x66, 0x91, 0x53, 0, 0]].concat();
        let expected = Item::from([("pk", "JOB#BACKLOG#SOURCE#actor:ada"), ("sk", ID)])
            .with("o", "posts")
            .with("b", "hour")
            .with("e", Value::bytes(events))
            .with("step", 3_u64);
        assert_eq!(stored, expected);
    }

    #[test]
    fn an_item_decodes_to_itself() {
        for written in [None, Some(("posts".parse().unwrap(), BucketWidth::Month))] {
            let item = item(written);
            assert_eq!(BacklogItem::decode(&item.encode()), Ok(item));
        }
        let cut = item(None).encode().with("e", Value::bytes([1; 22]));
        assert!(BacklogItem::decode(&cut).is_err());
    }
}
