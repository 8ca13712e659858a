//! A page of followers, and the jobs that are done for each of them.
//!
//! Each unfollow raises its shard's `left`. It is read before the page, and again when the page is done: if it has
//! changed, the page's followers are read again, and what those who are gone were given is taken back.

use std::collections::BTreeSet;

use lately_keys::table::{EventKey, Job, JobPage};
use lately_keys::{Shard, Source, User};

use crate::call::{TableError, Unavailable};
use crate::entry::{TimelineEntry, place_in_feed};
use crate::fan_out::FanOut;
use crate::fan_out::job::{JobWork, Task};
use crate::follow::{Follower, FollowerRange};
use crate::limits::PAGES_AGAIN;

/// Some followers of a shard.
#[derive(Debug)]
pub(super) struct Page {
    source: Source,
    shard: Shard,
    /// The follower behind whom it begins.
    after: Option<User>,
    followers: Vec<Follower>,
    /// Whether there may be more behind it.
    pub(super) more: bool,
    /// How many had left the shard before it was read.
    left: u64,
}

impl Page {
    pub(super) fn users(&self) -> impl Iterator<Item = &User> {
        self.followers.iter().map(|follower| &follower.user)
    }
}

impl FanOut<'_> {
    /// Does a job for a page of followers.
    pub(super) async fn run_job(&self, job: &Job, number: JobPage, work: &JobWork) -> Result<(), TableError> {
        let Job { source, shard, .. } = job;
        let left = self.left(source, *shard).await?;
        let page = self.page_under(source, *shard, work.after.clone(), left).await?;
        let next = match page.followers.last().filter(|_| page.more) {
            None => None,
            Some(last) => {
                let next = number.next().ok_or_else(|| Unavailable::new("a job has too many pages"))?;
                Some((next, work.behind(&last.user)))
            }
        };
        match &work.task {
            Task::Push(entry, width) => {
                if let Some((number, next)) = &next {
                    self.put_job(job, *number, next).await?;
                }
                let key = EventKey::new(entry.topic.clone(), *width, entry.id);
                self.push(entry, &key, &page).await
            }
            Task::Remove => {
                if let Some((number, next)) = &next {
                    self.put_job(job, *number, next).await?;
                }
                Ok(self.delete(page.users().map(|user| place_in_feed(job.id, user)).collect()).await?)
            }
            Task::Promote => {
                let stored = self.store.stored_source(source, self.operation).await?;
                let markers = page.followers.iter().filter_map(|follower| {
                    Some(stored.marker(source, follower.since)?.encode(&follower.user))
                });
                self.put(markers.collect()).await?;
                for user in self.gone(&page).await? {
                    self.settle_marker(user, source).await?;
                }
                match &next {
                    Some((number, next)) => Ok(self.put_job(job, *number, next).await?),
                    None => self.store.promote_shard(source, *shard, job.id, self.operation).await,
                }
            }
        }
    }

    /// Puts an event's copies into the feeds of a page.
    async fn push(&self, entry: &TimelineEntry, key: &EventKey, page: &Page) -> Result<(), TableError> {
        let retention = self.store.feeds().retention;
        self.deliver(page.users().map(|user| entry.in_feed(user, retention)).collect()).await?;
        if self.is_gone(key).await? {
            return Ok(self.delete(entry.places(page.users())).await?);
        }
        self.take_back_from_gone(page, entry).await
    }

    /// Reads a page of a shard, that so many had left before.
    pub(super) async fn page_under(
        &self,
        source: &Source,
        shard: Shard,
        after: Option<User>,
        left: u64,
    ) -> Result<Page, TableError> {
        let range = FollowerRange { shard, after, until: None };
        let limit = usize::from(self.store.feeds().followers_per_job);
        let read = self.store.followers_of(source, &range, limit, true, self.operation).await?;
        let source = source.clone();
        Ok(Page { source, shard, after: range.after, followers: read.followers, more: read.more, left })
    }

    /// Takes an entry out of the feeds of those who no longer follow, though they did when the page was read.
    pub(super) async fn take_back_from_gone(
        &self,
        page: &Page,
        entry: &TimelineEntry,
    ) -> Result<(), TableError> {
        for user in self.gone(page).await? {
            self.withdraw(user, vec![entry.clone()]).await?;
        }
        Ok(())
    }

    /// Who of a page is not there any more.
    async fn gone<'p>(&self, page: &'p Page) -> Result<Vec<&'p User>, TableError> {
        let Some(last) = page.followers.last() else { return Ok(Vec::new()) };
        if self.left(&page.source, page.shard).await? == page.left {
            return Ok(Vec::new());
        }
        let mut gone: Vec<_> = page.users().collect();
        let mut range =
            FollowerRange { shard: page.shard, after: page.after.clone(), until: Some(last.user.clone()) };
        // Who came since is read too: no more than so many pages of them.
        for _ in 0..PAGES_AGAIN {
            let limit = usize::from(self.store.feeds().followers_per_job);
            let read = self.store.followers_of(&page.source, &range, limit, true, self.operation).await?;
            let here: BTreeSet<_> = read.followers.iter().map(|there| &there.user).collect();
            gone.retain(|user| !here.contains(user));
            if !read.more {
                return Ok(gone);
            }
            range.after = read.followers.last().map(|last| last.user.clone());
        }
        Err(Unavailable::new("the followers of a page keep changing").into())
    }

    async fn left(&self, source: &Source, shard: Shard) -> Result<u64, TableError> {
        Ok(self.store.counts(source, shard, self.operation).await?.left)
    }
}
