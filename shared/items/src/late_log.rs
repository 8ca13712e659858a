//! A topic's late log: the ids of events that were stored so late that a reader may have passed them.
//!
//! ```text
//! table   pk  ANNOUNCED#{topic}         sk  #LATE                   the log's end
//!   n N (the number of the last item), created N (when the topic was created, in milliseconds)
//!         pk  LATE#{topic}#{0..15}      sk  {number, 12 digits}     an item of the log
//!   e B? (ids, 16 bytes each; absent: a reader has filled the gap of a writer that died), at N (when it was put, in
//!   milliseconds), expires_at N
//! ```
//!
//! Items are numbered from 1. A writer first raises the end, and so owns a number; then it puts its item. Successive
//! numbers lie in different partitions, so a large import is spread over sixteen of them.
//!
//! The end stands beside the announcements, because fan-out reads these for every new event anyway. A topic has an end
//! from the time at which somebody first reads the topic as a consumer or as a live follower.

use lately_keys::{EventId, Topic, UnixMillis};

use crate::attribute::stored_as;
use crate::form::TwelveDigits;
use crate::item::{EXPIRES_AT, Item};
use crate::key::key;
use crate::record::{Record, record};

/// The partitions of a log.
pub const LATE_SLOTS: u64 = 16;

key! {
    /// The item that holds the number of the last item of a topic's late log.
    pub struct LateLogKey {
        /// The topic.
        pub topic: Topic,
    }
    Table: pk "ANNOUNCED#{topic}" sk "#LATE"
}

record! {
    /// The end of a topic's late log.
    #[derive(Copy)]
    pub struct LateLogEnd {
        /// The number of the last item; 0 if there is none.
        pub number: u64 = required(NUMBER = "n"),
        /// When the topic was created. A later topic of its name has a log of its own.
        pub created_at: UnixMillis = required(CREATED = "created"),
    }
}

impl LateLogKey {
    /// The item of an end.
    pub fn item(&self, end: LateLogEnd) -> Item {
        end.add_to(Item::at(self))
    }
}

key! {
    /// An item of a topic's late log.
    pub struct LateBatchKey {
        /// The topic.
        pub topic: Topic,
        /// The partition, which follows from the number.
        pub slot: u64,
        /// The item's number.
        pub number: u64 as TwelveDigits,
    }
    Table: pk "LATE#{topic}#{slot}" sk "{number}"
    fn partition(topic: &Topic, slot: u64)
    if |key| key.slot == key.number % LATE_SLOTS
}

impl LateBatchKey {
    /// The key of the item with a number.
    pub fn new(topic: Topic, number: u64) -> Self {
        Self { topic, slot: number % LATE_SLOTS, number }
    }

    /// The item with the ids of late events. Without ids, it fills a gap.
    pub fn item(&self, ids: &[EventId], at: UnixMillis, expires_at: u64) -> Item {
        let ids = Some(ids.to_vec()).filter(|ids| !ids.is_empty());
        Item::at(self).with_some("e", ids.as_ref()).with("at", &at).with(EXPIRES_AT, expires_at)
    }
}

record! {
    /// An item of a late log, as a reader gets it.
    pub struct LateBatch {
        /// The item's number.
        pub number: u64 = of_key,
        /// The late events, in the order of their ids.
        pub ids: Vec<EventId> = list("e"),
        /// When the item was put, by the clock of the process that did.
        pub at: UnixMillis = required("at"),
    }
    key LateBatchKey { number, .. }
}

/// A reader's place in a late log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LatePlace {
    /// The reader has read all items up to this number.
    pub number: u64,
    /// The reader has also read so many ids of the next item.
    pub ids: u64,
}

impl LatePlace {
    /// The place after an item.
    pub const fn after(number: u64) -> Self {
        Self { number, ids: 0 }
    }
}

stored_as! {
    // Two numbers.
    LatePlace as Vec<u64>: |place| vec![place.number, place.ids], |numbers| {
        let [number, ids] = numbers.try_into().ok()?;
        Some(Self { number, ids })
    };
}

#[cfg(test)]
mod tests {
    use lately_keys::TableKey;

    use super::*;
    use crate::attribute::Value;
    use crate::tests::{ID, millis};

    #[test]
    fn golden_bytes() {
        let topic: Topic = "billing".parse().unwrap();
        let end = LateLogEnd { number: 5, created_at: millis(7) };
        let item = LateLogKey { topic: topic.clone() }.item(end);
        let stored = Item::from([("pk", "ANNOUNCED#billing"), ("sk", "#LATE")]);
        assert_eq!(item, stored.with("n", 5_u64).with("created", 7_u64));
        assert_eq!(LateLogEnd::decode(&item), Ok(end));

        let id: EventId = ID.parse().unwrap();
        let key = LateBatchKey::new(topic, 35);
        let item = key.item(&[id], millis(8), 100);
        let stored = Item::from([("pk", "LATE#billing#3"), ("sk", "000000000035")])
            .with("at", 8_u64)
            .with("expires_at", 100_u64);
        let bytes = Value::bytes(id.as_uuid().as_bytes().to_vec());
        assert_eq!(item, stored.clone().with("e", bytes));
        let batch = LateBatch { number: 35, ids: vec![id], at: millis(8) };
        assert_eq!(LateBatch::decode(&item).as_ref(), Ok(&batch));

        let filler = key.item(&[], millis(8), 100);
        assert_eq!(filler, stored);
        assert_eq!(LateBatch::decode(&filler), Ok(LateBatch { ids: vec![], ..batch }));

        let place = LatePlace { number: 35, ids: 2 };
        let item = Item::new().with("log", &place);
        assert_eq!(item, Item::new().with("log", Value::list([35_u64, 2])));
        assert_eq!(item.get("log"), Ok(place));
    }

    #[test]
    fn an_item_lies_in_the_partition_of_its_number() {
        assert!(LateBatchKey::decode("LATE#billing#3", "000000000035").is_some());
        for (pk, sk) in [
            ("LATE#billing#4", "000000000035"),
            ("LATE#billing#19", "000000000035"),
            ("LATE#billing#3", "35"),
        ] {
            assert_eq!(LateBatchKey::decode(pk, sk), None, "{pk} {sk}");
        }
    }

    #[test]
    fn places_are_in_the_order_of_reading() {
        let inside = LatePlace { number: 3, ids: 7 };
        assert!(LatePlace::after(3) < inside && inside < LatePlace::after(4));
    }
}
