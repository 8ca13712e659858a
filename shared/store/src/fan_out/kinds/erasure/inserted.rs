//! Events of an erased actor that are written while the erasure runs, or whose records come later.
//!
//! Fan-out reads the list of erasures after it has written the entries of the records' events. So an event whose entry
//! was too late for the erasure's search is found here. The event's time decides: what is older than the erasure's end is
//! deleted.

use lately_items::event::is_keyed;
use lately_items::{BacklogItem, DeferredEvent, EventKey};
use lately_keys::{Actor, TableKey};
use lately_table::TableError;

use crate::op::Op;

/// Deletes an event of an erased actor. No retry writes it again.
pub(crate) async fn erase_event(op: &Op, key: &EventKey) -> Result<(), TableError> {
    let Some(event) = op.table.get(key.encode()).await? else { return Ok(()) };
    if is_keyed(&event)? {
        op.event(&key.partition().topic, key.id()).note_deletion().await?;
    }
    op.table.delete(key.encode()).await
}

/// Deletes the events of an erased actor that a backlog has deferred.
pub(crate) async fn erase_deferred(op: &Op, actor: &Actor, items: &[BacklogItem]) -> Result<(), TableError> {
    let erased = op.erasures().erased_actors().await?;
    let written = items.iter().filter_map(|item| Some((item.written.as_ref()?, &item.events)));
    for ((topic, width), events) in written {
        for DeferredEvent { id, .. } in events {
            if erased.cover(actor, id.at()) {
                erase_event(op, &EventKey::new(topic.clone(), *width, *id)).await?;
            }
        }
    }
    Ok(())
}
