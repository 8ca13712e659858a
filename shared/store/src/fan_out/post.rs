//! An event that was written or deleted: its entries under its sources, and in feeds.
//!
//! The order of the steps makes the result correct:
//! - For a written event, fan-out writes the sources' entries, then reads each source's item and followers
//!   consistently, and then writes the copies. The backfill of a user who follows too late for these reads finds the
//!   source's entry.
//! - For a deleted event, fan-out deletes the sources' entries first, and then the copies. The backfill of a user who
//!   follows too late finds no entry.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use lately_items::{
    DeferredEvent, EventKey, FollowerCounts, Job, JobKind, JobTask, JobWork, PageTask, Timeline,
    TimelineEntry, own_feed, place_at_source, place_in_feed, places_at_source,
};
use lately_keys::{EventId, Key, ShardCount, Source, UnixMillis, User};
use lately_table::{TableError, Write};

use crate::coverage::CoverageKeeper;
use crate::fan_out::batch::{FanOut, count};
use crate::fan_out::deferred::DeferredWrite;
use crate::fan_out::ending::stamp;
use crate::fan_out::shard_page::ShardPage;
use crate::limits::{CLOCKS_APART_MILLIS, SHARDS_AT_ONCE, TOLD_APART_MILLIS, WRITES_AT_ONCE};

/// Fan-out leaves an event to jobs if it begins with the event when less than this is left before the deadline.
const FAN_OUT_RESERVE: Duration = Duration::from_secs(2);

impl FanOut<'_> {
    pub(super) async fn posted(
        &self,
        key: &EventKey,
        entry: &TimelineEntry,
        at: UnixMillis,
    ) -> Result<(), TableError> {
        let own = own_feed(&entry.actor).filter(|_| entry.is_for_feeds());
        self.deliver_entry(key, entry, at, entry.sources().collect(), own).await
    }

    /// Writes the entries of an event under some of its sources, in the feeds of their followers, and in the author's
    /// own feed.
    pub(super) async fn deliver_entry(
        &self,
        key: &EventKey,
        entry: &TimelineEntry,
        at: UnixMillis,
        mut sources: Vec<Source>,
        mut own: Option<User>,
    ) -> Result<(), TableError> {
        let retention = self.op.store.feeds().retention;
        let later = |_: &Key| DeferredWrite::write(key, at, entry.fans_out);
        let at_sources = sources.iter().map(|source| entry.at_source(source));
        let in_own_feed = own.iter().map(|user| entry.in_feed(user, retention));
        let writes = at_sources.chain(in_own_feed).map(Write::Put).collect();
        let deferred = self.write_or_defer(writes, later).await?;
        for source in &sources {
            let source = self.op.source(source);
            source.look_after(&source.known_coverage(), entry.id.at()).await;
        }
        // The followers of a source are read only after the source has the entry.
        sources.retain(|source| !deferred.contains(&place_at_source(entry.id, source)));
        own = own.filter(|user| !deferred.contains(&place_in_feed(entry.id, user)));
        let followed = sources.iter().cloned().map(Timeline::Source);
        let timelines = followed.chain(own.iter().cloned().map(Timeline::Feed));
        self.done.late_entries.add(self.op.now(), &[entry.id], timelines);
        if sources.is_empty() && own.is_none() {
            return Ok(());
        }

        let mut pages = Vec::new();
        if entry.is_for_feeds() {
            let task = PageTask::Push(entry.topic.clone(), key.partition().bucket.width());
            let work = JobWork::first(JobKind::Page(task), at);
            for source in &sources {
                let stored = self.reads.stored(self.op, source).await?;
                if stored.pushes(entry.id) {
                    let jobs = jobs(JobTask::Push, entry.id, source);
                    pages.extend(self.few_or_jobs(jobs, stored.shards, &work, true).await?);
                }
            }
        }
        let mut users: BTreeSet<&User> = pages.iter().flat_map(|page| page.users()).collect();
        if let Some(own) = &own {
            users.remove(own);
        }
        self.copy_into(entry, &mut users, later).await?;
        users.extend(&own);

        // The writes are durable. Both reads judge them.
        let (gone, is_gone) =
            future::try_join(self.gone_from(&pages, at), self.reads.is_gone(self.op, key)).await?;
        if is_gone {
            return self.remove_entry(entry, users.into_iter().chain(&gone), at).await;
        }
        self.remove_from(gone, entry).await
    }

    /// Puts copies of an event into the feeds of some users. The users whose copies are deferred to a backlog are removed
    /// from `users`.
    pub(super) async fn copy_into(
        &self,
        entry: &TimelineEntry,
        users: &mut BTreeSet<&User>,
        later: impl Fn(&Key) -> DeferredWrite,
    ) -> Result<(), TableError> {
        let retention = self.op.store.feeds().retention;
        let copies = users.iter().map(|user| Write::Put(entry.in_feed(user, retention))).collect();
        let deferred = self.write_or_defer(copies, later).await?;
        if !deferred.is_empty() {
            users.retain(|user| !deferred.contains(&place_in_feed(entry.id, user)));
        }
        count(&self.done.deliveries, users.len());
        let timelines = users.iter().map(|user| Timeline::Feed((*user).clone()));
        self.done.late_entries.add(self.op.now(), &[entry.id], timelines);
        Ok(())
    }

    /// Deletes the entries that were written of an event that no longer exists: under its sources, and in some feeds.
    pub(super) async fn remove_entry<'u>(
        &self,
        entry: &TimelineEntry,
        users: impl Iterator<Item = &'u User>,
        at: UnixMillis,
    ) -> Result<(), TableError> {
        let mut places: Vec<_> = users.map(|user| place_in_feed(entry.id, user)).collect();
        for source in entry.sources() {
            places.extend(self.op.source(&source).places(entry.id).await?);
        }
        let later = |_: &Key| DeferredWrite::remove(entry.id, at, entry.fans_out);
        self.write_or_defer(places.into_iter().map(Write::Delete).collect(), later).await.map(drop)
    }

    /// Gives an event's entries the event's expiry. Entries that do not exist are not written.
    pub(super) async fn restamped(
        &self,
        key: &EventKey,
        entry: &TimelineEntry,
        at: UnixMillis,
    ) -> Result<(), TableError> {
        let mut pages = Vec::new();
        for source in entry.sources() {
            let places = self.op.source(&source).places(entry.id).await?;
            self.restamp(&places, entry.expires_at).await?;
            if entry.fans_out {
                let task = PageTask::Restamp(entry.topic.clone(), key.partition().bucket.width());
                let work = JobWork::first(JobKind::Page(task), at);
                let shards = self.reads.stored(self.op, &source).await?.shards;
                let jobs = jobs(JobTask::Restamp, entry.id, &source);
                pages.extend(self.few_or_jobs(jobs, shards, &work, false).await?);
            }
        }
        let own = own_feed(&entry.actor).filter(|_| entry.fans_out);
        let users: BTreeSet<&User> = pages.iter().flat_map(|page| page.users()).chain(&own).collect();
        self.restamp_copies(entry, users.into_iter()).await
    }

    /// Gives an event's copies in some feeds the event's expiry.
    pub(super) async fn restamp_copies<'u>(
        &self,
        entry: &TimelineEntry,
        users: impl Iterator<Item = &'u User>,
    ) -> Result<(), TableError> {
        let places: Vec<_> = users.map(|user| place_in_feed(entry.id, user)).collect();
        self.restamp(&places, entry.expiry_in_feed(self.op.store.feeds().retention)).await
    }

    async fn restamp(&self, places: &[Key], expires_at: Option<u64>) -> Result<(), TableError> {
        let there = self.op.table.existing(places).await?;
        let updates = there.into_iter().map(|place| stamp(self.op, place, expires_at));
        stream::iter(updates).buffer_unordered(WRITES_AT_ONCE).try_collect().await
    }

    pub(super) async fn deleted(&self, entry: &TimelineEntry, at: UnixMillis) -> Result<(), TableError> {
        let own = own_feed(&entry.actor).filter(|_| entry.fans_out);
        let event = DeferredEvent { id: entry.id, at, fans_out: entry.fans_out };
        self.clear(&event, entry.sources().collect(), own, false).await
    }

    /// Removes the entries of an event from some of its sources, and then from the feeds of their followers. If an
    /// attempt may have written them, also from the feeds of followers who have unfollowed since.
    pub(super) async fn clear(
        &self,
        event: &DeferredEvent,
        mut sources: Vec<Source>,
        own: Option<User>,
        was_written: bool,
    ) -> Result<(), TableError> {
        let DeferredEvent { id, at, fans_out } = *event;
        let later = |_: &Key| DeferredWrite::remove(id, at, fans_out);
        let places = |source: &Source| places_at_source(id, source, &self.op.source(source).known_coverage());
        let mut cleared: Vec<_> = sources.iter().flat_map(places).collect();
        let in_own_feed = own.iter().map(|user| place_in_feed(id, user));
        let writes = cleared.iter().cloned().chain(in_own_feed).map(Write::Delete).collect();
        let mut deferred = self.write_or_defer(writes, later).await?;
        let mut found = Vec::new();
        for source in &sources {
            let mut stored = self.op.source(source).stored().await?;
            // Entries may be in shards that this process did not know. They are deleted before the followers are read.
            let mut others = places_at_source(id, source, &stored.coverage);
            others.retain(|place| !cleared.contains(place));
            if !others.is_empty() {
                cleared.extend(others.iter().cloned());
                deferred.extend(
                    self.write_or_defer(others.into_iter().map(Write::Delete).collect(), later).await?,
                );
                stored = self.op.source(source).stored().await?;
            }
            found.push(stored);
        }
        let mut found: Vec<_> = sources.drain(..).zip(found).collect();
        found.retain(|(source, _)| !deferred.contains(&place_at_source(id, source)));
        if !fans_out {
            return Ok(());
        }
        let work = JobWork::first(JobKind::Page(PageTask::Remove), at);
        let (mut pages, mut users) = (Vec::new(), BTreeSet::new());
        for (source, stored) in &found {
            let jobs = jobs(JobTask::Remove, id, source);
            let found = self.few_or_jobs(jobs, stored.shards, &work, was_written).await?;
            users.extend(found.iter().flat_map(|page| page.holders(stored, id)).cloned());
            pages.extend(found);
        }
        if was_written {
            users.append(&mut self.gone_from(&pages, at).await?);
        }
        let copies = users.iter().map(|user| Write::Delete(place_in_feed(id, user))).collect();
        self.write_or_defer(copies, later).await.map(drop)
    }

    /// A source's followers, one page for each shard, if they are few and there is time. Jobs process
    /// all other followers.
    ///
    /// A shard without followers has a page if followers may have unfollowed since the change, and `with_leavers` says
    /// that an earlier attempt may have written into their feeds.
    async fn few_or_jobs(
        &self,
        jobs: Job,
        shards: ShardCount,
        work: &JobWork,
        with_leavers: bool,
    ) -> Result<Vec<Arc<ShardPage>>, TableError> {
        let counts = self.reads.counts(self.op, &jobs.source, shards).await?;
        let audience: u64 = counts.values().map(|counts| counts.here).sum();
        let is_small = audience <= u64::from(self.op.store.feeds().audience);
        let is_few = is_small && self.op.table.time_left() > FAN_OUT_RESERVE;
        let since = work.changed_at().saturating_sub(TOLD_APART_MILLIS);
        let is_asked =
            |counts: &FollowerCounts| counts.here > 0 || (with_leavers && may_have_left_since(counts, since));
        let asked = counts.iter().filter(|(_, counts)| is_asked(counts));
        let read: Vec<_> = asked
            .map(async |(&shard, counts)| {
                let page = match (is_few, counts.here) {
                    (false, _) => None,
                    // The backfill of a user who follows after the counts were read finds the source's entry.
                    (true, 0) => Some(Arc::new(ShardPage::of_nobody(&jobs.source, shard))),
                    (true, _) => Some(self.reads.page(self.op, &jobs.source, shard).await?),
                };
                Ok::<_, TableError>((shard, page.filter(|page| !page.more)))
            })
            .collect();
        let read: Vec<_> = stream::iter(read).buffered(SHARDS_AT_ONCE).try_collect().await?;
        let (mut pages, mut deferred) = (Vec::new(), Vec::new());
        for (shard, page) in read {
            match page {
                Some(page) => pages.push(page),
                None => deferred.push(Job { shard, ..jobs.clone() }),
            }
        }
        self.put_first_pages(deferred, work).await?;
        Ok(pages)
    }
}

/// The job for a source's first follower shard. The jobs for the other shards differ only in the shard.
fn jobs(task: JobTask, id: EventId, source: &Source) -> Job {
    Job { task, id, source: source.clone(), shard: 0.into() }
}

/// True if a follower may have left at a time or later.
fn may_have_left_since(counts: &FollowerCounts, since: UnixMillis) -> bool {
    let since = since.saturating_sub(CLOCKS_APART_MILLIS);
    counts.left_at.is_some_and(|left_at| left_at >= since)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leavers_since_a_time_allow_for_clock_differences() {
        let at = |millis| UnixMillis::new(millis).unwrap();
        let counts = |left_at| FollowerCounts { left_at, ..FollowerCounts::default() };
        assert!(!may_have_left_since(&counts(None), at(100_000)));
        assert!(may_have_left_since(&counts(Some(at(40_000))), at(100_000)));
        assert!(!may_have_left_since(&counts(Some(at(39_999))), at(100_000)));
    }
}
