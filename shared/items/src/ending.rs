//! A change of all that a topic holds: its deletion, or another retention.
//!
//! ```text
//! table   pk  ANNOUNCED#{topic}                                        sk  #DELETION   or   #RETENTION    the mark
//!   deletion: begun N (milliseconds), done BOOL? (the directory was empty), expires_at N? (once it is finished)
//!   retention: begun N (milliseconds), retention_days N? (the new retention; forever if absent), expires_at N
//!         pk  JOB#DELETION#{topic}   or   JOB#RETENTION#{topic}        sk  STEP                           the next step: see ending_step.rs
//! ```
//!
//! The mark stands beside the announcements, because fan-out reads these for every new event anyway. A step's record of
//! the stream makes fan-out do the step.

use lately_keys::{Topic, UnixMillis};
use lately_model::RetentionDays;

use crate::item::{Corrupt, Item};
use crate::key::key;
use crate::limits::ENDING_MARK_SECONDS;

lately_keys::words! {
    /// A change of all events of a topic.
    #[derive(PartialOrd, Ord)]
    pub enum Ending {
        /// The topic is deleted.
        Deletion = "DELETION",
        /// The topic's events get another expiry.
        Retention = "RETENTION",
    }
}

key! {
    /// The item that says that a topic is deleted, or that its retention has changed.
    pub struct EndingMarkKey {
        /// The topic.
        pub topic: Topic,
        /// The change.
        pub ending: Ending,
    }
    Table: pk "ANNOUNCED#{topic}" sk "#{ending}"
}

key! {
    /// The item with the next step.
    pub struct EndingStepKey {
        /// The topic.
        pub topic: Topic,
        /// The change.
        pub ending: Ending,
    }
    Table: pk "JOB#{ending}#{topic}" sk "STEP"
}

impl Ending {
    /// The key of a topic's mark.
    pub fn mark_of(self, topic: &Topic) -> EndingMarkKey {
        EndingMarkKey { topic: topic.clone(), ending: self }
    }

    /// The key of a topic's next step.
    pub fn step_of(self, topic: &Topic) -> EndingStepKey {
        EndingStepKey { topic: topic.clone(), ending: self }
    }
}

/// A change of all that a topic holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndingMark {
    /// The topic is deleted.
    Deletion {
        /// When the deletion began. The walk finds what landed before.
        begun: UnixMillis,
        /// True if no entry of the directory was left. Entries that are made later are deleted, too.
        is_done: bool,
    },
    /// The topic has another retention.
    Retention(Option<RetentionDays>),
}

impl EndingMark {
    /// The attribute with the time at which a change began, in milliseconds.
    pub const BEGUN: &str = "begun";
    /// The attribute that says that a deletion has found the directory empty.
    pub const DONE: &str = "done";

    /// When a mark expires, in unix seconds.
    pub fn expiry(from: UnixMillis) -> u64 {
        from.get() / 1000 + ENDING_MARK_SECONDS
    }

    /// The mark of an item.
    pub fn decode(ending: Ending, item: &Item) -> Result<Self, Corrupt> {
        Ok(match ending {
            Ending::Deletion => {
                Self::Deletion { begun: item.get(Self::BEGUN)?, is_done: item.flag(Self::DONE) }
            }
            Ending::Retention => Self::Retention(item.optional("retention_days")?),
        })
    }

    /// The mark of a deletion that begins.
    pub fn of_deletion(topic: &Topic, begun: UnixMillis) -> Item {
        Item::at(&Ending::Deletion.mark_of(topic)).with(Self::BEGUN, begun.get())
    }

    /// The mark of another retention.
    pub fn of_retention(topic: &Topic, begun: UnixMillis, days: Option<RetentionDays>) -> Item {
        Item::at(&Ending::Retention.mark_of(topic))
            .with(Self::BEGUN, begun.get())
            .with_some("retention_days", days.as_ref())
            .with("expires_at", Self::expiry(begun))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_bytes() {
        let (topic, begun) = ("posts".parse().unwrap(), UnixMillis::new(1_000_500).unwrap());
        let deletion = EndingMark::of_deletion(&topic, begun);
        let expected =
            Item::from([("pk", "ANNOUNCED#posts"), ("sk", "#DELETION")]).with("begun", 1_000_500_u64);
        assert_eq!(deletion, expected);
        let decoded = |item| EndingMark::decode(Ending::Deletion, &item);
        assert_eq!(decoded(deletion.clone()), Ok(EndingMark::Deletion { begun, is_done: false }));
        assert_eq!(decoded(deletion.with("done", true)), Ok(EndingMark::Deletion { begun, is_done: true }));

        let days = RetentionDays::new(7).ok();
        let retention = EndingMark::of_retention(&topic, begun, days);
        let expected = Item::from([("pk", "ANNOUNCED#posts"), ("sk", "#RETENTION")])
            .with("begun", 1_000_500_u64)
            .with("retention_days", 7_u64)
            .with("expires_at", 1_000 + ENDING_MARK_SECONDS);
        assert_eq!(retention, expected);
        assert_eq!(EndingMark::decode(Ending::Retention, &retention), Ok(EndingMark::Retention(days)));
    }
}
