//! The marks of a topic: the topic is being deleted, or has another retention (`ending/`).
//!
//! A writer that does not know of the change may still store events. Fan-out sees each of them after it was stored, and
//! deletes it, or gives it the new expiry. A new entry of the directory then stays at least as long as its events.

use lately_items::{DirectoryKey, EndingMark};
use lately_keys::{TableKey, UnixMillis};
use lately_model::RetentionDays;
use lately_table::TableError;

use crate::at_once::run_each;
use crate::fan_out::kinds::retention::stamp_event;
use crate::fan_out::record::InsertedEvent;
use crate::limits::{CLOCKS_APART_MILLIS, WRITES_AT_ONCE};
use crate::op::Op;
use crate::work::delete_each;

/// Applies a mark to events that were stored, and to entries of the directory that were made.
pub(super) async fn apply_mark(
    op: &Op,
    mark: &EndingMark,
    inserted: &[&InsertedEvent],
    opened: &[&DirectoryKey],
) -> Result<(), TableError> {
    match mark {
        EndingMark::Deletion { begun, is_done } => {
            delete_stored(op, *begun, inserted).await?;
            // While the walk goes on, it needs the entries, and deletes them.
            if *is_done {
                delete_each(op, opened.iter().map(|key| key.encode()).collect()).await?;
            }
            Ok(())
        }
        EndingMark::Retention(days) => restamp(op, *days, inserted, opened).await,
    }
}

/// Deletes the events that were stored after a deletion began. The walk finds and counts earlier ones.
async fn delete_stored(op: &Op, begun: UnixMillis, inserted: &[&InsertedEvent]) -> Result<(), TableError> {
    let mut events = Vec::new();
    for event in inserted {
        // The stream's clock and that of the process that began the deletion may differ.
        if event.at.saturating_add(CLOCKS_APART_MILLIS) >= begun {
            events.push(event.key.encode());
        }
    }
    delete_each(op, events).await
}

/// Gives events the expiry of another retention, and lets entries of the directory stay as long as the events.
async fn restamp(
    op: &Op,
    days: Option<RetentionDays>,
    inserted: &[&InsertedEvent],
    opened: &[&DirectoryKey],
) -> Result<(), TableError> {
    let stamps = inserted
        .iter()
        .map(|event| stamp_event(op, event.key.encode(), event.expires_at, event.key.id(), days));
    run_each(WRITES_AT_ONCE, stamps).await?;
    run_each(WRITES_AT_ONCE, opened.iter().map(|key| keep_entry(op, key, days))).await
}

/// Lets an entry of the directory stay at least as long as its events: a reader shows no event for longer than the bucket's
/// entry says.
async fn keep_entry(op: &Op, key: &DirectoryKey, days: Option<RetentionDays>) -> Result<(), TableError> {
    let directory = op.directory(&key.topic);
    match directory.stored_entry(key.bucket).await? {
        Some(entry) if !entry.outlives(days) => directory.keep(&entry, days).await.map(drop),
        _ => Ok(()),
    }
}
