//! A feed being mended: entries put that belong to it, and deleted that do not.
//!
//! What belongs to a feed may change while it is mended: a source is followed or no longer followed, an event is
//! deleted. So after each round of writes all is looked at again, consistently, until nothing has changed since:
//! what changes later, fan-out and clean-up see after our writes, and settle it themselves.

use std::collections::BTreeSet;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use lately_keys::table::{FeedEntryKey, SourceEntryKey};
use lately_keys::{Actor, EventId, Place, Source, TableKey};

use crate::entry::TimelineEntry;
use crate::error::TableError;
use crate::feed::FeedHandle;
use crate::item::keyed;
use crate::limits::{BATCH_ITEMS, CONFLICTS};
use crate::pull_marker::PullMarker;

impl FeedHandle<'_> {
    /// Puts those of some entries into a feed that belong to it, and deletes the others from it.
    pub(super) async fn mend_entries(self, entries: &[TimelineEntry]) -> Result<(), TableError> {
        if entries.is_empty() {
            return Ok(());
        }
        let mut belonging = self.belonging(entries).await?;
        for _ in 0..CONFLICTS {
            let writes: Vec<_> =
                entries.iter().map(|entry| self.write_entry(entry, belonging.contains(&entry.id))).collect();
            stream::iter(writes).buffer_unordered(BATCH_ITEMS).try_collect::<()>().await?;
            let now = self.belonging(entries).await?;
            if now == belonging {
                return Ok(());
            }
            belonging = now;
        }
        Err(TableError::unavailable("what the feed must show keeps changing"))
    }

    /// Puts the mark of a source into a feed that must pull it, and deletes it from one that must not.
    pub(super) async fn mend_pull(self, source: &Source) -> Result<(), TableError> {
        let user = self.user;
        let mut wanted = self.wanted_pull(source).await?;
        for _ in 0..CONFLICTS {
            match &wanted {
                Some(pull) => self.op.table.put_item(&pull.encode(user)).await?,
                None => self.op.table.delete_item(&PullMarker::key(user, source)).await?,
            }
            let now = self.wanted_pull(source).await?;
            if now == wanted {
                return Ok(());
            }
            wanted = now;
        }
        Err(TableError::unavailable("what the feed must pull keeps changing"))
    }

    /// The mark that a feed must have of a source, if it has none.
    pub(super) async fn missing_pull(self, source: &Source) -> Result<Option<PullMarker>, TableError> {
        let user = self.user;
        let Some(pull) = self.wanted_pull(source).await? else { return Ok(None) };
        let marked = self.op.table.get_item(PullMarker::key(user, source)).await?;
        Ok(marked.is_none().then_some(pull))
    }

    /// The mark that a feed must have of a source: if the user follows it, and it is not pushed.
    async fn wanted_pull(self, source: &Source) -> Result<Option<PullMarker>, TableError> {
        let user = self.user;
        let Some(edge) = self.op.user(user).edge(source).await? else { return Ok(None) };
        Ok(self.op.source(source).stored().await?.marker(source, edge.since))
    }

    /// Those of some entries that belong to a feed: of events that are there, and the user's own or of a source
    /// that is followed.
    pub(super) async fn belonging(self, entries: &[TimelineEntry]) -> Result<BTreeSet<EventId>, TableError> {
        let user = self.user;
        let myself = Actor::from(user);
        let edges = self.op.user(user).edges(entries).await?;
        let followed = |entry: &TimelineEntry| entry.sources().any(|source| edges.contains_key(&source));
        let wanted: Vec<_> =
            entries.iter().filter(|entry| entry.actor == myself || followed(entry)).collect();
        let keys = wanted.iter().flat_map(|entry| {
            entry
                .sources()
                .map(|source| keyed(Place::Table, SourceEntryKey { source, id: entry.id }.encode()))
        });
        let listed = self.op.table.get_items(&keys.collect::<Vec<_>>(), true).await?;
        let mut belonging = BTreeSet::new();
        for item in &listed {
            belonging.insert(TimelineEntry::decode(item)?.id);
        }
        for entry in wanted {
            // An own post is in its author's feed before any source lists it.
            if !belonging.contains(&entry.id) && self.has_event(entry).await? {
                belonging.insert(entry.id);
            }
        }
        Ok(belonging)
    }

    /// Whether an entry's event is there.
    async fn has_event(self, entry: &TimelineEntry) -> Result<bool, TableError> {
        let Some(key) = entry.event_key(self.op).await? else { return Ok(false) };
        Ok(!self.op.table.existing(&[key]).await?.is_empty())
    }

    async fn write_entry(self, entry: &TimelineEntry, belongs: bool) -> Result<(), TableError> {
        let user = self.user;
        if belongs {
            let item = entry.in_feed(user, self.op.store.feeds().retention);
            return self.op.table.put_item(&item).await;
        }
        let key = FeedEntryKey { user: user.clone(), id: entry.id }.encode();
        self.op.table.delete_item(&keyed(Place::Table, key)).await
    }
}
