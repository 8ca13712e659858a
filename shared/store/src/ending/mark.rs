//! The mark of a topic's deletion or of its new retention, for those who see its events land.
//!
//! ```text
//! ANNOUNCED#{topic} / #DELETION
//!   begun N (milliseconds), done BOOL? (the directory was empty), expires_at N? (once the deletion is finished)
//! ANNOUNCED#{topic} / #RETENTION
//!   begun N (milliseconds), retention_days N? (the new retention; forever if absent), expires_at N
//! ```

use lately_items::{Ending, EndingMarkKey};
use lately_keys::{TableKey, Topic, UnixMillis};
use lately_model::RetentionDays;
use lately_table::{Condition, Corrupt, Item, Update};

use crate::limits::ENDING_MARK_SECONDS;

/// A change of all that a topic holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EndingMark {
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
    pub(crate) fn decode(ending: Ending, item: &Item) -> Result<Self, Corrupt> {
        Ok(match ending {
            Ending::Deletion => Self::Deletion { begun: item.millis("begun")?, is_done: item.flag("done") },
            Ending::Retention => Self::Retention(item.retention_days("retention_days")?),
        })
    }

    /// The mark of a deletion that begins.
    pub(super) fn of_deletion(topic: &Topic, begun: UnixMillis) -> Item {
        Item::at(&key(topic, Ending::Deletion)).with("begun", begun.get())
    }

    /// Notes that no entry of the directory is left.
    pub(crate) fn finish_deletion(topic: &Topic, begun: UnixMillis, now: UnixMillis) -> Update {
        Update::of(&key(topic, Ending::Deletion))
            .set("done", true)
            .set("expires_at", expiry(now))
            .only_if(Condition::equals("begun", begun.get()))
    }

    /// The mark of another retention.
    pub(super) fn of_retention(topic: &Topic, begun: UnixMillis, days: Option<RetentionDays>) -> Item {
        Item::at(&key(topic, Ending::Retention))
            .with("begun", begun.get())
            .with_some("retention_days", days.map(RetentionDays::get))
            .with("expires_at", expiry(begun))
    }
}

pub(super) fn key(topic: &Topic, ending: Ending) -> EndingMarkKey {
    EndingMarkKey { topic: topic.clone(), ending }
}

fn expiry(from: UnixMillis) -> u64 {
    from.get() / 1000 + ENDING_MARK_SECONDS
}

/// The key of a topic's mark, as text.
pub(super) fn place(topic: &Topic, ending: Ending) -> lately_keys::Key {
    key(topic, ending).encode()
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
