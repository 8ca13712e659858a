//! The announcement of a report run: the end of the range that it is about to read.
//!
//! ```text
//! table   pk  ANNOUNCED#{topic}    sk  {consumer's name}
//!   incarnation N, start S (an id), to S (an id: the end of the range that is being read, or was read last)
//!   mode S?
//!   from S? (an id: where the last run begins), at N? (when that run was announced, by the reader's clock)
//!   l0 … l15 N? (how often an entry was put into each partition of the late ledger)
//!   ended BOOL? (the consumer is being deleted: the announcement counts as absent)
//! ```
//!
//! All consumers of a topic share one partition, so fan-out reads all announcements with one query per event.

use lately_keys::{Consumer, EventId, Topic, UnixMillis};
use lately_model::Revision;

use crate::consumer::{Checkpoint, ConsumerKey, ConsumerMode};
use crate::item::{Corrupt, INCARNATION, Item};
use crate::key::key;
use crate::ledger_counters::LedgerCounters;

key! {
    /// The item that announces a consumer's runs.
    pub struct AnnouncementKey {
        /// The topic that is read.
        pub topic: Topic,
        /// The consumer that reads it.
        pub name: Consumer,
    }
    Table: pk "ANNOUNCED#{topic}" sk "{name}"
    fn partition(topic: &Topic)
}

/// A consumer's announcement, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announcement {
    /// The consumer.
    pub consumer: ConsumerKey,
    /// The incarnation of the consumer.
    pub incarnation: Revision,
    /// No event at or before it is ever given.
    pub start: EventId,
    /// The end of the range that is being read, or was read last.
    pub to: EventId,
    /// For a consumer that produces reports: where the run begins, and when the run was announced.
    pub run: Option<(EventId, UnixMillis)>,
    /// The number of entries that were put into each partition of the late ledger.
    pub counters: LedgerCounters,
}

impl Announcement {
    /// The attribute of the id before all events of the consumer.
    pub const START: &str = "start";
    /// The attribute of the end of the range.
    pub const TO: &str = "to";
    /// The attribute of the use of the consumer.
    pub const MODE: &str = "mode";
    /// The attribute of the id at which the last run begins.
    pub const FROM: &str = "from";
    /// The attribute of the time at which that run was announced.
    pub const AT: &str = "at";
    /// The attribute of an announcement whose consumer is being deleted.
    pub const ENDED: &str = "ended";

    /// The key of a consumer's announcement.
    pub fn key(consumer: &ConsumerKey) -> AnnouncementKey {
        let ConsumerKey { topic, name } = consumer.clone();
        AnnouncementKey { topic, name }
    }

    /// The announcement of a consumer that is being created, and has read nothing yet.
    pub fn first(checkpoint: &Checkpoint) -> Item {
        let Checkpoint { consumer, incarnation, start, .. } = checkpoint;
        Item::at(&Self::key(consumer))
            .with(INCARNATION, incarnation)
            .with(Self::START, start)
            .with(Self::TO, start)
    }

    /// The announcement of an item.
    pub fn decode(item: &Item) -> Result<Self, Corrupt> {
        let AnnouncementKey { topic, name } = item.key_as()?;
        let run = match item.optional(Self::MODE)? {
            Some(ConsumerMode::Runs) => Some((item.get(Self::FROM)?, item.get(Self::AT)?)),
            Some(ConsumerMode::Polls) | None => None,
        };
        Ok(Self {
            consumer: ConsumerKey { topic, name },
            incarnation: item.get(INCARNATION)?,
            start: item.get(Self::START)?,
            to: item.get(Self::TO)?,
            run,
            counters: LedgerCounters::of_attributes(item)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use lately_model::SettleSeconds;

    use super::*;
    use crate::tests::{ID, millis, nightly};

    #[test]
    fn golden_bytes() {
        let start: EventId = ID.parse().unwrap();
        let checkpoint = Checkpoint::new(&nightly(), start, SettleSeconds::default(), Revision::new(7));
        let item = Announcement::first(&checkpoint);
        let expected =
            Item::from([("pk", "ANNOUNCED#billing"), ("sk", "nightly"), ("start", ID), ("to", ID)])
                .with("incarnation", 7_u64);
        assert_eq!(item, expected);
        let (incarnation, counters) = (checkpoint.incarnation, LedgerCounters::default());
        let first = Announcement { consumer: nightly(), incarnation, start, to: start, run: None, counters };
        assert_eq!(Announcement::decode(&item).as_ref(), Ok(&first));

        let item = item.with("mode", "runs").with("from", ID).with("at", 8_u64).with("l15", 3_u64);
        let announced = Announcement::decode(&item).unwrap();
        assert_eq!(announced.run, Some((start, millis(8))));
        assert_eq!(announced.counters.risen_since(&counters), [15]);
        assert_eq!(Announcement::decode(&item.with("mode", "polls")).unwrap().run, None);
    }
}
