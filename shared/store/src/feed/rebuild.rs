//! The repair of a feed: it puts the entries and markers that belong to the feed, and deletes those that do not
//! (`settle.rs`).

use std::collections::BTreeSet;

use lately_keys::{EventId, Source, User};
use lately_table::TableError;
use lately_table::limits::BATCH_ITEMS;

use crate::at_once::run_each;
use crate::feed::settle::settle;
use crate::op::Op;
use lately_items::{PullMarker, TimelineEntry, place_at_source, place_in_feed};

/// Puts the entries that belong to the feed, and deletes the other entries from it.
pub(super) async fn mend_entries(op: &Op, user: &User, entries: &[TimelineEntry]) -> Result<(), TableError> {
    if entries.is_empty() {
        return Ok(());
    }
    let write = async |belonging: BTreeSet<EventId>| {
        let write = async |entry: &TimelineEntry| match belonging.contains(&entry.id) {
            true => op.table.put(&op.feed(user).entry(entry)).await,
            false => op.table.delete(place_in_feed(entry.id, user)).await,
        };
        run_each(BATCH_ITEMS, entries.iter().map(write)).await
    };
    settle(&op.table, "the entries of the feed", || belonging_to(op, user, entries), write).await
}

/// Puts the pull marker of a source if the feed must pull the source, and deletes the marker otherwise.
pub(super) async fn mend_pull(op: &Op, user: &User, source: &Source) -> Result<(), TableError> {
    let wanted = || wanted_pull(op, user, source);
    let write = async |wanted: Option<PullMarker>| match wanted {
        Some(pull) => op.table.put(&pull.encode(user)).await,
        None => op.table.delete(PullMarker::key(user, source)).await,
    };
    settle(&op.table, "the pull markers of the feed", wanted, write).await
}

/// The pull marker of a source, if the feed must have the marker and lacks it.
pub(super) async fn missing_pull(
    op: &Op,
    user: &User,
    source: &Source,
) -> Result<Option<PullMarker>, TableError> {
    let Some(pull) = wanted_pull(op, user, source).await? else { return Ok(None) };
    let marked = op.table.get(PullMarker::key(user, source)).await?;
    Ok(marked.is_none().then_some(pull))
}

/// The pull marker that the feed must have of a source; `None` if the user does not follow the source, or the
/// source is pushed.
async fn wanted_pull(op: &Op, user: &User, source: &Source) -> Result<Option<PullMarker>, TableError> {
    let Some(edge) = op.user(user).edge(source).await? else { return Ok(None) };
    Ok(op.source(source).stored().await?.marker(source, edge.since))
}

/// The ids of the entries that belong to the feed. Their events exist, and are the user's own or of a source that
/// the user follows.
pub(super) async fn belonging_to(
    op: &Op,
    user: &User,
    entries: &[TimelineEntry],
) -> Result<BTreeSet<EventId>, TableError> {
    let wanted = op.user(user).split_followed(entries.to_vec()).await?.0;
    let keys =
        wanted.iter().flat_map(|entry| entry.sources().map(|source| place_at_source(entry.id, &source)));
    let listed = op.table.get_many(&keys.collect::<Vec<_>>(), true).await?;
    let mut belonging = BTreeSet::new();
    for item in &listed {
        belonging.insert(TimelineEntry::decode(item)?.id);
    }
    for entry in &wanted {
        // The author's feed has an own post before any source lists it.
        if !belonging.contains(&entry.id)
            && let Some(event) = op.topic(&entry.topic).event_key(entry).await?
            && !op.table.existing(&[event]).await?.is_empty()
        {
            belonging.insert(entry.id);
        }
    }
    Ok(belonging)
}
