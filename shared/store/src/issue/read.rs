//! An issue that was read, in the current schema, and the update that changes its item. Pure.

use lately_items::IssueKey;
use lately_keys::TableKey;
use lately_model::Issue;
use lately_table::{Corrupt, Item, REVISION, Update};

use crate::issue::migration::upgraded;
use crate::issue::stored::{decode, encode};

/// The attributes that must not have changed between a read and the write that follows. The revision is not enough: a
/// writer of an older schema changes some of the others without a new revision.
const BASIS: [&str; 6] = ["schema", REVISION, "status", "labels", "priority", "by_hand"];

/// An issue that was read.
#[derive(Clone, Debug)]
pub(super) struct ReadIssue {
    pub(super) issue: Issue,
    /// The item as it is stored.
    stored: Item,
    /// The item in the current schema.
    upgraded: Item,
}

impl ReadIssue {
    pub(super) fn of(stored: Item) -> Result<Self, Corrupt> {
        let upgraded = upgraded(&stored)?;
        Ok(Self { issue: decode(&upgraded)?, stored, upgraded })
    }

    /// The update that upgrades the stored item; `None` if the item needs no upgrade.
    pub(super) fn upgrade(&self) -> Option<Update> {
        self.update_between(&self.upgraded)
    }

    /// The update of the stored item to another state of the issue; `None` if nothing differs.
    pub(super) fn update_to(&self, next: &Issue) -> Option<Update> {
        self.update_between(&self.item_of(next))
    }

    /// The item of another state of the issue. It differs from the upgraded item only in the attributes that the change
    /// is about: an item of a newer schema may have others, and other values.
    pub(super) fn item_of(&self, next: &Issue) -> Item {
        let (before, after) = (encode(&self.issue), encode(next));
        let mut item = self.upgraded.clone();
        for name in before.names().chain(after.names()).filter(|name| before.get(name) != after.get(name)) {
            match after.get(name) {
                Some(value) => item.set(name, value),
                None => drop(item.remove(name)),
            }
        }
        item
    }

    fn update_between(&self, wanted: &Item) -> Option<Update> {
        Update::between(IssueKey::of(&self.issue).encode(), &self.stored, wanted, &BASIS)
    }
}
