//! The updates that change an issue's item. Pure.

use lately_items::{IssueKey, ReadIssue};
use lately_keys::TableKey;
use lately_model::Issue;
use lately_table::{Item, REVISION, Update};

/// The attributes that must not have changed between a read and the write that follows. The revision is not enough: a
/// writer of an older schema changes some of the others without a new revision.
const BASIS: [&str; 6] = ["schema", REVISION, "status", "labels", "priority", "by_hand"];

/// The update that upgrades the stored item; `None` if the item needs no upgrade.
pub(super) fn upgrade(read: &ReadIssue) -> Option<Update> {
    update_between(read, &read.upgraded)
}

/// The update of the stored item to another state of the issue; `None` if nothing differs.
pub(super) fn update_to(read: &ReadIssue, next: &Issue) -> Option<Update> {
    update_between(read, &read.item_of(next))
}

fn update_between(read: &ReadIssue, wanted: &Item) -> Option<Update> {
    Update::between(IssueKey::of(&read.issue).encode(), &read.stored, wanted, &BASIS)
}
