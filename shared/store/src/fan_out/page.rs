//! A page of followers, and the jobs that are done for each of them.
//!
//! Who is on a page may leave while it is handled. A cleanup writes that down before it looks at the feed
//! (`cleanup.rs`), and here it is read after all is written: what was written too late for the one to see it, the other
//! takes back. What is read goes back to the change that the page follows from. So who handles it after one that died
//! knows also who was on that one's page.

use lately_keys::table::{EventKey, Job, JobKey};
use lately_keys::{EventId, Shard, Source, UnixMillis, User};

use crate::entry::{TimelineEntry, place_in_feed};
use crate::error::TableError;
use crate::fan_out::FanOut;
use crate::fan_out::backlog::Later;
use crate::fan_out::job::{JobWork, PageTask, Task};
use crate::fan_out::writer::Write;
use crate::follow::{Follower, FollowerRange};
use crate::source::StoredSource;

/// Some followers of a shard.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) source: Source,
    pub(super) shard: Shard,
    /// The follower behind whom it begins.
    after: Option<User>,
    followers: Vec<Follower>,
    /// Whether there may be more behind it.
    pub(super) more: bool,
}

impl Page {
    pub(super) fn users(&self) -> impl Iterator<Item = &User> {
        self.followers.iter().map(|follower| &follower.user)
    }

    /// A shard without followers.
    pub(super) fn of_nobody(source: &Source, shard: Shard) -> Self {
        Self { source: source.clone(), shard, after: None, followers: Vec::new(), more: false }
    }

    /// Whose feeds may have a copy of an event of the source. One that is pulled was copied by backfills alone, into the feeds
    /// of those who followed after its time.
    pub(super) fn holders(&self, stored: &StoredSource, id: EventId) -> impl Iterator<Item = &User> {
        let was_pushed = stored.may_have_pushed(id);
        let may_hold = move |follower: &&Follower| was_pushed || id < EventId::first_of(follower.since);
        self.followers.iter().filter(may_hold).map(|follower| &follower.user)
    }

    /// Whether it would have a follower of that name.
    pub(super) fn covers(&self, user: &User) -> bool {
        let last = self.followers.last().filter(|_| self.more);
        self.after.as_ref().is_none_or(|after| after < user) && last.is_none_or(|last| *user <= last.user)
    }
}

impl FanOut<'_> {
    /// Does a page of a job.
    pub(super) async fn run_job(&self, key: &JobKey, work: &JobWork) -> Result<(), TableError> {
        let JobKey { job, page: number } = key;
        let task = match &work.task {
            Task::Page(task) => task,
            Task::Walk(walk) => return self.walk(key, walk.clone(), work).await,
        };
        let Job { source, shard, .. } = job;
        let page = self.page_of(source, *shard, work.after.clone()).await?;
        let next = match page.followers.last().filter(|_| page.more) {
            None => None,
            Some(last) => {
                let next =
                    number.next().ok_or_else(|| TableError::unavailable("a job has too many pages"))?;
                Some((next, work.behind(&last.user)))
            }
        };
        match task {
            PageTask::Push(entry, width) => {
                if let Some((number, next)) = &next {
                    self.put_job(job, *number, next).await?;
                }
                let key = EventKey::new(entry.topic.clone(), *width, entry.id);
                self.push(entry, &key, &page, work.changed_at()).await
            }
            PageTask::Remove => {
                if let Some((number, next)) = &next {
                    self.put_job(job, *number, next).await?;
                }
                let stored = self.op.source(source).stored().await?;
                let holders = page.holders(&stored, job.id);
                let copies = holders.map(|user| Write::Delete(place_in_feed(job.id, user))).collect();
                let later = |_: &_| Later::remove(job.id, work.changed_at(), true);
                self.write_or_leave(copies, later).await.map(drop)
            }
            PageTask::Promote => {
                let stored = self.op.source(source).stored().await?;
                let markers = page.followers.iter().filter_map(|follower| {
                    Some(stored.marker(source, follower.since)?.encode(&follower.user))
                });
                self.put(markers.collect()).await?;
                for user in &self.gone(&page, work.changed_at()).await? {
                    self.settle_marker(user, source).await?;
                }
                match &next {
                    Some((number, next)) => Ok(self.put_job(job, *number, next).await?),
                    None => self.op.source(source).promote_shard(*shard, job.id).await,
                }
            }
        }
    }

    /// Puts an event's copies into the feeds of a page.
    async fn push(
        &self,
        entry: &TimelineEntry,
        key: &EventKey,
        page: &Page,
        at: UnixMillis,
    ) -> Result<(), TableError> {
        let mut users = page.users().collect();
        self.copy_into(entry, &mut users, |_| Later::write(key, at, entry.fans_out)).await?;
        let gone = self.gone(page, at).await?;
        if self.is_gone(key).await? {
            return self.take_away(entry, entry.places(users.into_iter().chain(&gone)), at).await;
        }
        self.take_back(gone, entry).await
    }

    /// Reads a page of a shard.
    pub(super) async fn page_of(
        &self,
        source: &Source,
        shard: Shard,
        after: Option<User>,
    ) -> Result<Page, TableError> {
        let range = FollowerRange { shard, after };
        let limit = usize::from(self.op.store.feeds().followers_per_job);
        let read = self.op.source(source).followers_of(&range, limit, true).await?;
        let source = source.clone();
        Ok(Page { source, shard, after: range.after, followers: read.followers, more: read.more })
    }
}
