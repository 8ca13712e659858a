//! A change that is handled later, because a busy key range refused a call that it needs (`fan_out/mod.rs`).
//!
//! The stream record of a note makes fan-out handle the noted change, as if its own record had come again. But the note has
//! no image of the changed item, so the item is read as it is now. A later change of the item has a record of its own, which
//! may have been handled before, as with a record that is redriven.

use lately_items::{AnyKey, ChangeNote, ChangeNoteKey, Follower, FollowerCounts, StoredSource};
use lately_keys::TableKey;
use lately_table::{Item, TableError};

use crate::fan_out::batch::FanOut;
use crate::fan_out::entries::entry_of;
use crate::fan_out::kinds::{backfill, cleanup, promotion};
use crate::fan_out::restamp::restamp_entries;

/// Handles a noted change, and deletes the note. A note that is gone is handled already.
pub(crate) async fn run(fan_out: FanOut<'_>, key: &ChangeNoteKey) -> Result<(), TableError> {
    let op = fan_out.op;
    let Some(note) = op.table.find::<ChangeNote>(key.encode()).await? else { return Ok(()) };
    fan_out.done.add(|all| all.oldest = all.oldest.into_iter().chain([note.at]).min());
    handle(fan_out, &note).await?;
    op.table.delete(key.encode()).await
}

async fn handle(fan_out: FanOut<'_>, note: &ChangeNote) -> Result<(), TableError> {
    let (op, id, at) = (fan_out.op, note.key.id, note.at);
    match &note.changed {
        AnyKey::Event(key) => {
            // The deletion of an event removes its entries.
            let Some(entry) = entry_of(op, key).await? else { return Ok(()) };
            restamp_entries(fan_out, key, &entry, at).await
        }
        AnyKey::Follower(key) if note.is_removal => cleanup::begin(fan_out, key, at).await,
        AnyKey::Follower(key) => {
            // The record of the unfollow begins a cleanup.
            let Some(item) = op.table.get(key.encode()).await? else { return Ok(()) };
            backfill::begin(fan_out, key, &Follower::decode(&item)?, id, at).await
        }
        AnyKey::FollowerCount(key) => {
            let item = op.table.get(key.encode()).await?;
            let counts = item.as_ref().map(FollowerCounts::decode).transpose()?.unwrap_or_default();
            promotion::counted(fan_out, key, counts, counts.here > 0).await
        }
        AnyKey::SourceItem(key) => {
            let Some(item) = op.table.get(key.encode()).await? else { return Ok(()) };
            // The jobs of a promotion that goes on may be begun twice.
            promotion::source_changed(fan_out, &key.source, true, &StoredSource::decode(&item)?, at).await
        }
        _ => Err(Item::at(&note.key).corrupt("p").into()),
    }
}
