//! An event that was deleted: its entries are removed from its sources first, and then the copies from feeds. The
//! backfill of a user who follows too late finds no entry.

use std::collections::BTreeSet;
use std::sync::Arc;

use lately_items::{
    Backlog, DeferredEvent, JobKind, JobStep, StoredSource, TimelineEntry, place_in_feed, places_at_source,
};
use lately_keys::{Source, UnixMillis, User};
use lately_table::TableError;

use crate::fan_out::audience::few_or_jobs;
use crate::fan_out::batch::FanOut;
use crate::fan_out::deferred::DeferredWrite;
use crate::follow::FollowerPage;

/// An event whose entries are removed.
#[derive(Clone, Copy)]
pub(super) struct Removal<'a> {
    pub(super) fan_out: FanOut<'a>,
    pub(super) event: DeferredEvent,
    /// True if an attempt that died may have written entries meanwhile, also into the feeds of followers who have
    /// unfollowed since.
    pub(super) may_be_written: bool,
}

impl<'a> Removal<'a> {
    /// Removes all entries of an event that was deleted.
    pub(super) async fn of(
        fan_out: FanOut<'a>,
        entry: &TimelineEntry,
        at: UnixMillis,
    ) -> Result<(), TableError> {
        let own = entry.fans_out.then(|| User::from(&entry.actor));
        let event = DeferredEvent { id: entry.id, at, fans_out: entry.fans_out };
        Self { fan_out, event, may_be_written: false }.remove_from(entry.sources().collect(), own).await
    }

    /// Leaves the removal of a deleted event's entries to the backlogs of its sources, and of the author's own feed.
    pub(super) fn defer(fan_out: FanOut<'a>, entry: &TimelineEntry, at: UnixMillis) {
        let FanOut { deferred, record, .. } = fan_out;
        let event = DeferredEvent { id: entry.id, at, fans_out: entry.fans_out };
        for source in entry.sources() {
            deferred.add(Backlog::Source(source), DeferredWrite { written: None, event }, record);
        }
        if entry.fans_out {
            let own = Backlog::Feed(User::from(&entry.actor));
            deferred.add(own, DeferredWrite { written: None, event }, record);
        }
    }

    /// Removes the event's entries from some of its sources, from a user's own feed, and then from the feeds of the
    /// sources' followers.
    pub(super) async fn remove_from(self, sources: Vec<Source>, own: Option<User>) -> Result<(), TableError> {
        let Self { fan_out, event: DeferredEvent { id, at, fans_out }, may_be_written } = self;
        let removed = self.remove_at_sources(sources, own).await?;
        if !fans_out {
            return Ok(());
        }
        let (mut pages, mut users): (Vec<Arc<FollowerPage>>, _) = (Vec::new(), BTreeSet::new());
        for (source, stored) in &removed {
            let first = JobStep::first(JobKind::Remove, id, source.clone(), at);
            let found = few_or_jobs(fan_out, &first, stored.shards, may_be_written).await?;
            users.extend(found.iter().flat_map(|page| page.holders(stored, id)).cloned());
            pages.extend(found);
        }
        if may_be_written {
            users.append(&mut fan_out.leavers(&pages, at).await?);
        }
        fan_out.remove_copies(id, users.iter(), at).await
    }

    /// Removes the entries under the sources, and in a user's own feed. Returns those sources whose entries were not
    /// deferred, each as it was stored after that.
    async fn remove_at_sources(
        self,
        sources: Vec<Source>,
        own: Option<User>,
    ) -> Result<Vec<(Source, StoredSource)>, TableError> {
        let Self { fan_out, event, .. } = self;
        let (op, id) = (fan_out.op, event.id);
        let known = |source: &Source| places_at_source(id, source, &op.source(source).known_coverage());
        let mut removed: Vec<_> = sources.iter().flat_map(known).collect();
        let in_own_feed = own.iter().map(|user| place_in_feed(id, user));
        let mut deferred = fan_out.remove(event, removed.iter().cloned().chain(in_own_feed)).await?;
        let mut found = Vec::new();
        for source in sources {
            let mut stored = op.source(&source).stored().await?;
            // Entries may be in shards that this process did not know. They are deleted before the followers are read.
            let mut others = places_at_source(id, &source, &stored.coverage);
            others.retain(|key| !removed.contains(key));
            if !others.is_empty() {
                removed.extend(others.iter().cloned());
                deferred.extend(fan_out.remove(event, others).await?);
                stored = op.source(&source).stored().await?;
            }
            found.push((source, stored));
        }
        found.retain(|(source, _)| !deferred.contains(&(Backlog::Source(source.clone()), id)));
        Ok(found)
    }
}
