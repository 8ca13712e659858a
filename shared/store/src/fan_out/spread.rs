//! Spreading a busy source: its timeline gets more shards, and the entries that were refused go there.
//!
//! A writer places an entry by the coverage that the process knows (see `source/`), which may be too old. If the
//! entry's shard refuses it because its key range is hot, the writer learns of more shards, or adds a spread with twice
//! the shards from the event's time on, and writes the entry once more. The backlog gets the writes that are refused again.
//!
//! Imports do not grow a timeline: their times lie apart, and each would need a spread of its own.

use lately_items::{SourceEntryKey, TimelineEntry};
use lately_keys::{Key, ShardCount, TableKey};
use lately_table::{Item, TableError, Write};

use crate::fan_out::batch::FanOut;
use crate::op::Op;

/// An entry that is written to a source's timeline.
#[derive(Debug)]
pub(super) struct ListedEntry {
    /// Its key as it was given, in the timeline's first shard.
    key: SourceEntryKey,
    item: Item,
    /// The number of shards by which the entry was placed.
    shards: ShardCount,
}

/// Places an entry of a source in the shard of its time, and returns it if it may be spread. All other writes stay as they
/// are.
pub(super) fn listed(op: &Op, write: &mut Write) -> Option<ListedEntry> {
    let Write::Put(item) = write else { return None };
    let key: SourceEntryKey = item.key_as().ok()?;
    let shards = op.source(&key.source).known_coverage().shards_at(key.id.at());
    *item = placed(item, &key, shards);
    let is_import = item.flag(TimelineEntry::IMPORT);
    (!is_import).then(|| ListedEntry { item: item.clone(), key, shards })
}

/// Writes refused entries to timelines that have more shards by now. Returns the keys of the other entries.
pub(super) async fn spread(
    fan_out: FanOut<'_>,
    refused: Vec<(Key, ListedEntry)>,
) -> Result<Vec<Key>, TableError> {
    let FanOut { op, writer, .. } = fan_out;
    let (mut deferred, mut writes) = (Vec::new(), Vec::new());
    for (key, entry) in refused {
        let ListedEntry { key: SourceEntryKey { source, id, .. }, .. } = &entry;
        let Some(wider) = op.source(source).grow(*id, entry.shards).await else {
            deferred.push(key);
            continue;
        };
        // The shard takes only a part of the entries from now on.
        op.memory().busy.forget(&key.pk);
        writer.forgive(&key.pk);
        writes.push(Write::Put(placed(&entry.item, &entry.key, wider.shards_at(id.at()))));
    }
    for key in writer.write_or_refuse(writes).await? {
        op.memory().busy.note(key.pk.clone(), op.ambient());
        deferred.push(key);
    }
    Ok(deferred)
}

/// An entry in the shard that follows from its time.
fn placed(item: &Item, key: &SourceEntryKey, shards: ShardCount) -> Item {
    let key = SourceEntryKey { shard: shards.shard_at(key.id.tick()), ..key.clone() };
    item.clone().with("pk", key.encode().pk)
}
