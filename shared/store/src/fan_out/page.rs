//! A page of followers, and the jobs that are done for each of them.
//!
//! A follower can unfollow while their page is processed. Cleanup first records the leaver, and then looks through the
//! feed (`cleanup.rs`); a job first writes its entries, and then reads the leavers. So each entry is removed by one
//! side or the other. A job reads the leavers since the change that the job follows from. So an attempt that follows
//! one that died also finds the leavers who were on the earlier attempt's page.

use std::collections::BTreeSet;

use lately_items::{EventKey, Job, JobKey, JobKind, JobWork, PageTask, TimelineEntry, place_in_feed};
use lately_keys::TableKey;
use lately_table::{TableError, Write};

use crate::fan_out::batch::FanOut;
use crate::fan_out::deferred::DeferredWrite;
use crate::fan_out::shard_page::ShardPage;

/// One step of a job: a page of it.
#[derive(Clone, Copy)]
pub(super) struct JobStep<'a> {
    pub(super) fan_out: FanOut<'a>,
    pub(super) key: &'a JobKey,
    pub(super) work: &'a JobWork,
}

impl JobStep<'_> {
    /// Does the work of the page, unless it is done, and deletes the page.
    pub(super) async fn run(self) -> Result<(), TableError> {
        let (table, page) = (&self.fan_out.op.table, self.key.encode());
        if table.get(page.clone()).await?.is_none() {
            return Ok(());
        }
        self.work().await?;
        table.delete(page).await
    }

    async fn work(self) -> Result<(), TableError> {
        let Self { fan_out, key: JobKey { job, page: number }, work } = self;
        let task = match &work.task {
            JobKind::Page(task) => task,
            JobKind::Walk(walk) => return self.walk(walk.clone(), None).await,
        };
        let Job { source, shard, .. } = job;
        let page = ShardPage::read(fan_out.op, source, *shard, work.after.clone()).await?;
        let next = match page.followers.last().filter(|_| page.more) {
            None => None,
            Some(last) => {
                let next =
                    number.next().ok_or_else(|| TableError::unavailable("a job has too many pages"))?;
                Some((next, work.behind(&last.user)))
            }
        };
        if let Some((number, next)) = &next
            && !matches!(task, PageTask::Promote)
        {
            fan_out.op.table.put(&next.encode(job, *number)).await?;
        }
        match task {
            PageTask::Push(topic, width) => {
                self.push(&EventKey::new(topic.clone(), *width, job.id), &page).await
            }
            PageTask::Remove => {
                let stored = fan_out.op.source(source).stored().await?;
                let holders = page.holders(&stored, job.id);
                let copies = holders.map(|user| Write::Delete(place_in_feed(job.id, user))).collect();
                let later = |_: &_| DeferredWrite::remove(job.id, work.changed_at(), true);
                fan_out.write_or_defer(copies, later).await.map(drop)
            }
            PageTask::Restamp(topic, width) => {
                let key = EventKey::new(topic.clone(), *width, job.id);
                // The deletion of an event removes its copies.
                let Some(entry) = fan_out.entry_of(&key).await? else { return Ok(()) };
                fan_out.restamp_copies(&entry, page.users()).await
            }
            PageTask::Promote => {
                let stored = fan_out.op.source(source).stored().await?;
                let markers = page.followers.iter().filter_map(|follower| {
                    Some(stored.marker(source, follower.since)?.encode(&follower.user))
                });
                fan_out.put(markers.collect()).await?;
                for user in &page.gone(fan_out.op, work.changed_at()).await? {
                    fan_out.feed(user).settle_marker(source).await?;
                }
                match &next {
                    Some((number, next)) => fan_out.op.table.put(&next.encode(job, *number)).await,
                    None => fan_out.op.source(source).promote_shard(*shard, job.id).await,
                }
            }
        }
    }

    /// Puts an event's copies into the feeds of a page.
    async fn push(self, key: &EventKey, page: &ShardPage) -> Result<(), TableError> {
        let (fan_out, at) = (self.fan_out, self.work.changed_at());
        let mut users: BTreeSet<_> = page.users().collect();
        let Some(entry) = fan_out.entry_of(key).await? else {
            // An earlier attempt may have written copies after the event's deletion.
            let gone = page.gone(fan_out.op, at).await?;
            let copies =
                users.into_iter().chain(&gone).map(|user| Write::Delete(place_in_feed(key.id(), user)));
            let later = |_: &_| DeferredWrite::remove(key.id(), at, true);
            return fan_out.write_or_defer(copies.collect(), later).await.map(drop);
        };
        let entry = &entry;
        fan_out.copy_into(entry, &mut users, |_| DeferredWrite::write(key, at, entry.fans_out)).await?;
        let gone = page.gone(fan_out.op, at).await?;
        if fan_out.reads.is_gone(fan_out.op, key).await? {
            return fan_out.remove_entry(entry, users.into_iter().chain(&gone), at).await;
        }
        fan_out.remove_from(gone, entry).await
    }
}

impl FanOut<'_> {
    /// The entry of an event, if the event exists.
    async fn entry_of(&self, key: &EventKey) -> Result<Option<TimelineEntry>, TableError> {
        let Some(event) = self.op.table.get(key.encode()).await? else { return Ok(None) };
        Ok(TimelineEntry::of(key, &event)?)
    }
}
