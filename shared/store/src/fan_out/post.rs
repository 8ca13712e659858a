//! An event that was written: its entries under its sources, and in feeds.
//!
//! The order of the steps makes the result correct: fan-out writes the sources' entries, then reads each source's item
//! and followers consistently, and then writes the copies. The backfill of a user who follows too late for these reads
//! finds the source's entry. Last come the checks (`checks.rs`).

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future;
use lately_items::{
    Backlog, DeferredEvent, EventKey, JobKind, JobStep, Timeline, TimelineEntry, place_in_feed,
};
use lately_keys::{Source, UnixMillis, User};
use lately_table::{TableError, Write};

use crate::coverage::CoverageKeeper;
use crate::fan_out::audience::few_or_jobs;
use crate::fan_out::batch::FanOut;
use crate::fan_out::deferred::DeferredWrite;
use crate::follow::FollowerPage;

/// An event that was written.
#[derive(Clone, Copy)]
pub(super) struct Post<'a> {
    pub(super) fan_out: FanOut<'a>,
    pub(super) key: &'a EventKey,
    pub(super) entry: &'a TimelineEntry,
    /// When the event was written.
    pub(super) at: UnixMillis,
}

impl Post<'_> {
    /// Delivers the event to all of its sources.
    pub(super) async fn deliver(self) -> Result<(), TableError> {
        let own = self.entry.is_for_feeds().then(|| User::from(&self.entry.actor));
        self.deliver_to(self.entry.sources().collect(), own).await
    }

    /// Writes the event's entries under some of its sources, in the feeds of their followers, and in the author's own
    /// feed.
    pub(super) async fn deliver_to(self, sources: Vec<Source>, own: Option<User>) -> Result<(), TableError> {
        let (sources, own) = self.write_at_sources(sources, own).await?;
        if sources.is_empty() && own.is_none() {
            return Ok(());
        }
        let pages = if self.entry.is_for_feeds() { self.followers(&sources).await? } else { Vec::new() };
        self.copy_to(&pages, own.as_ref()).await
    }

    /// Copies the event into the feeds of some followers. The author's own feed has its entry already. Then everything
    /// is removed that does not belong.
    pub(super) async fn copy_to(
        self,
        pages: &[Arc<FollowerPage>],
        own: Option<&User>,
    ) -> Result<(), TableError> {
        let Self { fan_out, key, entry, at } = self;
        let mut users: BTreeSet<&User> = pages.iter().flat_map(|page| page.users()).collect();
        if let Some(own) = own {
            users.remove(own);
        }
        let FanOut { op, done, .. } = fan_out;
        let copies = users.iter().map(|user| Write::Put(op.feed(user).entry(entry))).collect();
        let deferred = fan_out.write(copies, &[self.later()]).await?;
        users.retain(|user| !deferred.contains(&(Backlog::Feed((*user).clone()), entry.id)));
        done.add(|all| all.deliveries += users.len() as u64);
        let timelines = users.iter().map(|user| Timeline::Feed((*user).clone()));
        done.late_entries.add(op.now(), &[entry.id], timelines);
        users.extend(own);

        // The writes are durable. Both reads check them.
        let is_deleted = fan_out.reads.is_deleted(fan_out.op, key);
        let (leavers, is_deleted) = future::try_join(fan_out.leavers(pages, at), is_deleted).await?;
        if is_deleted {
            let users = users.into_iter().chain(&leavers);
            let mut keys: Vec<_> = users.map(|user| place_in_feed(entry.id, user)).collect();
            for source in entry.sources() {
                keys.extend(fan_out.op.source(&source).places(entry.id).await?);
            }
            return fan_out.remove(self.later().event, keys).await.map(drop);
        }
        fan_out.remove_from(leavers, entry).await
    }

    /// Leaves the event to the backlogs of all of its sources, and of the author's own feed.
    pub(super) fn defer(self) {
        let FanOut { deferred, record, .. } = self.fan_out;
        for source in self.entry.sources() {
            deferred.add(Backlog::Source(source), self.later(), record);
        }
        if self.entry.is_for_feeds() {
            deferred.add(Backlog::Feed(User::from(&self.entry.actor)), self.later(), record);
        }
    }

    fn later(self) -> DeferredWrite {
        let Self { entry, at, .. } = self;
        let written = Some((entry.topic.clone(), self.key.partition().bucket.width()));
        DeferredWrite { written, event: DeferredEvent { id: entry.id, at, fans_out: entry.fans_out } }
    }

    /// Writes the entries under the sources, and in the author's own feed. Returns those that were not deferred.
    async fn write_at_sources(
        self,
        mut sources: Vec<Source>,
        own: Option<User>,
    ) -> Result<(Vec<Source>, Option<User>), TableError> {
        let Self { fan_out, entry, .. } = self;
        let op = fan_out.op;
        let at_sources = sources.iter().map(|source| entry.at_source(source));
        let in_own_feed = own.iter().map(|user| op.feed(user).entry(entry));
        let writes = at_sources.chain(in_own_feed).map(Write::Put).collect();
        let deferred = fan_out.write(writes, &[self.later()]).await?;
        for source in &sources {
            let source = op.source(source);
            source.look_after(&source.known_coverage(), entry.id.at()).await;
        }
        sources.retain(|source| !deferred.contains(&(Backlog::Source(source.clone()), entry.id)));
        let own = own.filter(|user| !deferred.contains(&(Backlog::Feed(user.clone()), entry.id)));
        let followed = sources.iter().cloned().map(Timeline::Source);
        let timelines = followed.chain(own.iter().cloned().map(Timeline::Feed));
        fan_out.done.late_entries.add(op.now(), &[entry.id], timelines);
        Ok((sources, own))
    }

    /// The followers of those sources that push, after the sources have the entry. Jobs push to the others.
    async fn followers(self, sources: &[Source]) -> Result<Vec<Arc<FollowerPage>>, TableError> {
        let Self { fan_out, key, entry, at } = self;
        let task = JobKind::Push(entry.topic.clone(), key.partition().bucket.width());
        let mut pages = Vec::new();
        for source in sources {
            let stored = fan_out.reads.stored(fan_out.op, source).await?;
            if stored.pushes(entry.id) {
                let first = JobStep::first(task.clone(), entry.id, source.clone(), at);
                pages.extend(few_or_jobs(fan_out, &first, stored.shards, true).await?);
            }
        }
        Ok(pages)
    }
}
