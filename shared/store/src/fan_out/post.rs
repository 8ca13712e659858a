//! An event that was written, or deleted: its entries under its sources, and in feeds.
//!
//! The order is what makes it right. Written: the sources' entries, then each source's item, then its followers,
//! all read consistently, then their copies; so who follows too late to be read finds the source's entry. Deleted:
//! the sources' entries first, then the copies; so who follows too late to be read finds none.

use std::collections::BTreeSet;

use lately_keys::table::{EventKey, Job, JobTask};
use lately_keys::{EventId, ShardCount, Source, TableKey, UnixMillis, User};

use crate::call::TableError;
use crate::entry::{TimelineEntry, own_feed, place_in_feed};
use crate::fan_out::job::{JobWork, PageTask, Task};
use crate::fan_out::page::Page;
use crate::fan_out::{FanOut, plan};
use crate::follow::Counts;
use crate::limits::FAN_OUT_RESERVE;

impl FanOut<'_> {
    pub(super) async fn posted(
        &self,
        key: &EventKey,
        entry: &TimelineEntry,
        at: UnixMillis,
    ) -> Result<(), TableError> {
        let entry = &entry.clone().imported(plan::is_import(entry.id, at));
        let is_pushed = entry.is_for_feeds();
        let own = own_feed(&entry.actor).filter(|_| is_pushed);
        let retention = self.store.feeds().retention;
        let at_sources = entry.sources().map(|source| entry.at_source(&source));
        let in_own_feed = own.as_ref().map(|user| entry.in_feed(user, retention));
        self.put(at_sources.chain(in_own_feed).collect()).await?;

        let mut pages = Vec::new();
        if is_pushed {
            let task = PageTask::Push(entry.clone(), key.partition().bucket.width());
            let work = JobWork::first(Task::Page(task), at);
            for source in entry.sources() {
                let stored = self.store.stored_source(&source, self.operation).await?;
                if stored.pushes(entry.id) {
                    let jobs = jobs(JobTask::Push, entry.id, &source);
                    pages.extend(self.few_or_jobs(jobs, stored.shards, &work).await?);
                }
            }
        }
        let mut users: BTreeSet<&User> = pages.iter().flat_map(Page::users).collect();
        users.extend(&own);
        let copies = users.iter().filter(|user| Some(**user) != own.as_ref());
        self.deliver(copies.map(|user| entry.in_feed(user, retention)).collect()).await?;

        let mut gone = BTreeSet::new();
        for page in &pages {
            gone.append(&mut self.gone(page, at).await?);
        }
        if self.is_gone(key).await? {
            return Ok(self.delete(entry.places(users.into_iter().chain(&gone))).await?);
        }
        self.take_back(gone, entry).await
    }

    pub(super) async fn deleted(
        &self,
        key: &EventKey,
        entry: &TimelineEntry,
        at: UnixMillis,
    ) -> Result<(), TableError> {
        let own = own_feed(&entry.actor).filter(|_| entry.fans_out);
        self.delete(entry.places(own.iter())).await?;
        if !entry.fans_out {
            return Ok(());
        }
        let work = JobWork::first(Task::Page(PageTask::Remove), at);
        let mut pages = Vec::new();
        for source in entry.sources() {
            let shards = self.store.stored_source(&source, self.operation).await?.shards;
            pages.extend(self.few_or_jobs(jobs(JobTask::Remove, key.id(), &source), shards, &work).await?);
        }
        let users: BTreeSet<&User> = pages.iter().flat_map(Page::users).collect();
        Ok(self.delete(users.into_iter().map(|user| place_in_feed(entry.id, user)).collect()).await?)
    }

    /// A source's followers, a page for each of their shards, if they are few and there is time; all that are not in
    /// these pages are left to jobs.
    async fn few_or_jobs(
        &self,
        jobs: Job,
        shards: ShardCount,
        work: &JobWork,
    ) -> Result<Vec<Page>, TableError> {
        let counts = self.store.counts_of(&jobs.source, shards, self.operation).await?;
        let audience: u64 = counts.values().map(|counts| counts.here).sum();
        let is_small = audience <= u64::from(self.store.feeds().audience);
        let is_few = is_small && self.operation.time_left() > FAN_OUT_RESERVE;
        let (mut pages, mut left) = (Vec::new(), Vec::new());
        // Who left may have been here when this was handled before.
        let is_asked = |counts: &Counts| counts.here > 0 || (counts.left > 0 && jobs.task == JobTask::Push);
        for (shard, _) in counts.into_iter().filter(|(_, counts)| is_asked(counts)) {
            let page = match is_few {
                true => Some(self.page_of(&jobs.source, shard, None).await?),
                false => None,
            };
            match page.filter(|page| !page.more) {
                Some(page) => pages.push(page),
                None => left.push(Job { shard, ..jobs.clone() }),
            }
        }
        self.put_first_pages(left, work).await?;
        Ok(pages)
    }

    /// Whether an event is not there any more.
    pub(super) async fn is_gone(&self, key: &EventKey) -> Result<bool, TableError> {
        Ok(self.store.existing(&[key.encode()], self.operation).await?.is_empty())
    }
}

/// The jobs for a source's followers, as that of the first shard.
fn jobs(task: JobTask, id: EventId, source: &Source) -> Job {
    Job { task, id, source: source.clone(), shard: 0.into() }
}
