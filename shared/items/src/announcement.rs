//! The announcement of a consumer: how long it waits before it passes an event.
//!
//! ```text
//! table   pk  ANNOUNCED#{topic}    sk  {consumer's name}
//!   incarnation N, start S (an id), settle N (seconds)
//!   passed S? (an id: the consumer may have passed the events up to it without waiting so long)
//!   runs BOOL? (the consumer produces reports), ended BOOL? (the consumer is being deleted: the announcement counts as
//!   absent)
//! ```
//!
//! The announcement follows from the consumer's checkpoint, and every change of it is one transaction with the checkpoint.
//! All consumers of a topic share one partition, so fan-out reads all announcements with one query for a batch.

use lately_keys::{Consumer, EventId, Topic};
use lately_model::{Revision, SettleSeconds};

use crate::consumer::{Checkpoint, ConsumerKey, ConsumerMode};
use crate::key::key;
use crate::record::record;

key! {
    /// The item that announces a consumer.
    pub struct AnnouncementKey {
        /// The topic that is read.
        pub topic: Topic,
        /// The consumer that reads it.
        pub name: Consumer,
    }
    Table: pk "ANNOUNCED#{topic}" sk "{name}"
    fn partition(topic: &Topic)
}

record! {
    /// A consumer's announcement.
    pub struct Announcement {
        /// The consumer's topic and name.
        pub key: AnnouncementKey = key,
        /// The incarnation of the consumer.
        pub incarnation: Revision = required("incarnation"),
        /// No event at or before it is ever given.
        pub start: EventId = required("start"),
        /// The consumer passes an event this long after the event's time …
        pub settle: SettleSeconds = required("settle"),
        /// … or at any time, up to this id.
        pub passed: Option<EventId> = optional("passed"),
        /// True if the consumer has begun to report.
        pub has_runs: bool = flag("runs"),
        /// True if the consumer is being deleted: then the announcement counts as absent.
        pub is_ended: bool = flag("ended"),
    }
}

impl Announcement {
    /// The key of a consumer's announcement.
    pub fn key_of(consumer: &ConsumerKey) -> AnnouncementKey {
        let ConsumerKey { topic, name } = consumer.clone();
        AnnouncementKey { topic, name }
    }

    /// The announcement of a consumer in this state.
    pub fn of(checkpoint: &Checkpoint) -> Self {
        Self {
            key: Self::key_of(&checkpoint.consumer),
            incarnation: checkpoint.incarnation,
            start: checkpoint.start,
            settle: checkpoint.settle,
            passed: checkpoint.passed,
            has_runs: checkpoint.mode == Some(ConsumerMode::Runs),
            is_ended: checkpoint.deleting,
        }
    }

    /// The consumer.
    pub fn consumer(&self) -> ConsumerKey {
        let AnnouncementKey { topic, name } = self.key.clone();
        ConsumerKey { topic, name }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::Item;
    use crate::tests::{ID, nightly};

    #[test]
    fn golden_bytes() {
        let start: EventId = ID.parse().unwrap();
        let new = Checkpoint::new(&nightly(), start, SettleSeconds::default(), 0, Revision::new(7));
        let stored = Item::from([("pk", "ANNOUNCED#billing"), ("sk", "nightly"), ("start", ID)])
            .with("incarnation", 7_u64)
            .with("settle", 10_u64);
        let all =
            Checkpoint { mode: Some(ConsumerMode::Runs), deleting: true, ..new.clone().having_passed(start) };
        let all_stored = stored.clone().with("passed", ID).with("runs", true).with("ended", true);
        for (checkpoint, stored) in [(new, stored), (all, all_stored)] {
            let announcement = Announcement::of(&checkpoint);
            assert_eq!(announcement.encode(), stored);
            assert_eq!(Announcement::decode(&stored), Ok(announcement));
        }
    }

    #[test]
    fn a_longer_settle_time_does_not_hold_for_events_that_were_passed_before() {
        let id: EventId = ID.parse().unwrap();
        let settle = |seconds| SettleSeconds::new(seconds).unwrap();
        let consumer = Checkpoint::new(&nightly(), EventId::MIN, settle(10), 0, Revision::new(7));
        let running = Checkpoint { running: Some(id), ..consumer };
        assert_eq!(running.clone().with_settle(settle(60)).passed, Some(id));
        assert_eq!(running.with_settle(settle(5)).passed, None);
    }
}
