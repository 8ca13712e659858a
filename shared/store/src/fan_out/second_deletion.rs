//! The second deletion of an event.
//!
//! An attempt to write an event may time out and be carried out later, after another attempt and a deletion. So the deletion
//! of a young event is noted, and an event that is stored late although its deletion was noted is deleted again. The order
//! of an item's records makes this certain.

use lately_items::DeletedEventKey;
use lately_keys::{TableKey, Topic};
use lately_table::TableError;

use crate::fan_out::record::InsertedEvent;
use crate::limits::{STORED_LATE_MILLIS, WRITE_MILLIS};
use crate::op::Op;
use crate::work::delete_each;

/// Deletes the events that were stored late although their deletion was noted.
pub(super) async fn delete_again(
    op: &Op,
    topic: &Topic,
    inserted: &[&InsertedEvent],
) -> Result<(), TableError> {
    let mut events = Vec::new();
    let mut notes = Vec::new();
    for event in inserted {
        if may_be_second(event) {
            let id = event.key.id();
            events.push(event);
            notes.push(DeletedEventKey { topic: topic.clone(), id }.encode());
        }
    }
    let noted = op.table.existing(&notes).await?;
    let mut deleted = Vec::new();
    for (event, note) in events.iter().zip(&notes) {
        if noted.contains(note) {
            deleted.push(event.key.encode());
        }
    }
    delete_each(op, deleted).await
}

/// True if an attempt that had timed out may have stored the event.
fn may_be_second(event: &InsertedEvent) -> bool {
    let at = event.key.id().at();
    // The time of the insert is rounded down to a second, and an attempt takes seconds to time out.
    let is_late = event.at >= at.saturating_add(STORED_LATE_MILLIS);
    is_late && event.at <= at.saturating_add(WRITE_MILLIS)
}
