//! The note of a change that fan-out handles later, because a busy key range refused a call that the change needs.
//!
//! ```text
//! table   pk  JOB#CHANGE#{id}    sk  STEP
//!   at N (milliseconds: when the change was made), p S, s S (the key of the item that changed)
//!   gone BOOL? (the change was the item's removal)
//! ```
//!
//! The id is the change's own, so a second note of the same change is the same item. The note has nothing of the changed
//! item but its key: fan-out reads the item when it handles the note. It deletes the note when the change is handled.

use lately_keys::{EventId, UnixMillis};

use crate::AnyKey;
use crate::item::{Corrupt, Item};
use crate::key::key;
use crate::record::{Record, record};

key! {
    /// The item that notes a change.
    pub struct ChangeNoteKey {
        /// The change's own id, which is derived from its stream record.
        pub id: EventId,
    }
    Table: pk "JOB#CHANGE#{id}" sk "STEP"
}

record! {
    /// The note of a change.
    pub struct ChangeNote {
        /// The note's key.
        pub key: ChangeNoteKey = key,
        /// When the change was made.
        pub at: UnixMillis = required("at"),
        /// The item that changed.
        pub changed: AnyKey = part,
        /// True if the change was the item's removal.
        pub is_removal: bool = flag("gone"),
    }
}

/// The key of an item that changed.
impl Record for AnyKey {
    fn add_to(&self, item: Item) -> Item {
        let key = self.encode();
        item.with("p", key.pk).with("s", key.sk)
    }

    fn decode(item: &Item) -> Result<Self, Corrupt> {
        let [pk, sk]: [String; 2] = [item.get("p")?, item.get("s")?];
        Self::decode(&pk, &sk).ok_or_else(|| item.corrupt("p"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FollowerKey;
    use crate::tests::{ID, millis};

    #[test]
    fn golden_bytes() {
        let changed = FollowerKey {
            source: "actor:ada".parse().unwrap(),
            shard: 7.into(),
            user: "bob".parse().unwrap(),
        };
        let key = ChangeNoteKey { id: ID.parse().unwrap() };
        let at = millis(1_720_800_000_000);
        let note = ChangeNote { key, at, changed: changed.into(), is_removal: true };
        let expected = Item::from([("pk", &*format!("JOB#CHANGE#{ID}")), ("sk", "STEP")])
            .with("at", 1_720_800_000_000_u64)
            .with("p", "FOLLOWERS#actor:ada#7")
            .with("s", "bob")
            .with("gone", true);
        assert_eq!(note.encode(), expected);
        let note = ChangeNote { is_removal: false, ..note };
        assert_eq!(ChangeNote::decode(&note.encode()), Ok(note));
        let cut = expected.with("p", "FOLLOWERS#");
        assert!(ChangeNote::decode(&cut).is_err());
    }
}
