//! The updates that change an issue's item. Pure.

use lately_items::{IssueKey, ReadIssue};
use lately_keys::TableKey;
use lately_table::{Item, REVISION, Update};

/// The attributes that must not have changed between a read and the write that follows. The revision is not enough: a
/// writer of an older schema changes some of the others without a new revision.
const BASIS: [&str; 6] = ["schema", REVISION, "status", "labels", "priority", "by_hand"];

/// The update of the stored item to another item of the issue; `None` if nothing differs.
pub(super) fn update_between(read: &ReadIssue, wanted: &Item) -> Option<Update> {
    Update::between(IssueKey::of(&read.issue).encode(), &read.stored, wanted, &BASIS)
}
