//! Jobs: what is left to do for many followers, kept in the table, whose stream runs it.
//!
//! ```text
//! JOB#{task}#{id}#{source}#{n} / {page}
//!   after S? (the follower behind whom the page begins), expires_at N
//!   push:   the entry's attributes (`entry.rs`), until N? (when the event expires), b S (the topic's bucket width)
//!   remove, promote: nothing more
//!   cleanup, backfill: user S, behind S? (the id of the oldest entry that was looked at)
//!   backfill: since N (when the follow began), k N (older entries still wanted), seen N (older entries looked at)
//!
//! JOB#BACKFILL#{id}#{source}#{n} / {page}#BEGUN
//!   expires_at N
//! ```
//!
//! A page of a job is made of what makes it alone, down to when it expires: making it again changes nothing, and is
//! not run again. A page puts the next one before it does anything else, so the pages of a job run at the same time;
//! only a promotion's wait for each other, because its last page says that all is done. The pages of a cleanup and of a
//! backfill are the steps of one walk (`walk.rs`): each puts the next one when it ends.

use lately_keys::table::{Job, JobKey, JobPage, JobTask};
use lately_keys::{BucketWidth, Place, TableKey, UnixMillis, User};

use crate::entry::TimelineEntry;
use crate::error::TableError;
use crate::fan_out::walk::{Backfill, FeedWalk, Purpose};
use crate::item::{Corrupt, Fields, Item, keyed, number, text};
use crate::limits::JOB_SECONDS;
use crate::op::Op;

/// A page of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JobWork {
    /// The follower behind whom the page begins.
    pub(super) after: Option<User>,
    /// When the job is forgotten, in unix seconds.
    pub(super) expires_at: u64,
    pub(super) task: Task,
}

/// The work of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// For the followers of a page.
    Page(PageTask),
    /// For one user, in steps.
    Walk(FeedWalk),
}

/// The work for each follower of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PageTask {
    /// The entry to write, and the width of its topic's buckets.
    Push(TimelineEntry, BucketWidth),
    Remove,
    Promote,
}

impl JobWork {
    /// The first page of a job that follows from a change.
    pub(super) fn first(task: Task, changed_at: UnixMillis) -> Self {
        Self { after: None, expires_at: changed_at.get() / 1000 + JOB_SECONDS, task }
    }

    /// When what it follows from was changed.
    pub(super) fn changed_at(&self) -> UnixMillis {
        let seconds = self.expires_at.saturating_sub(JOB_SECONDS);
        UnixMillis::new(seconds.saturating_mul(1000)).unwrap_or(UnixMillis::MIN)
    }

    /// The page that begins behind a follower.
    pub(super) fn behind(&self, last: &User) -> Self {
        Self { after: Some(last.clone()), ..self.clone() }
    }

    /// Puts it as a page of a job. By itself: it is not to wait for a batch, and a batch of entries not to lack a place.
    pub(super) async fn put(&self, op: &Op, job: &Job, page: JobPage) -> Result<(), TableError> {
        op.table.put_item(&self.encode(job, page)).await
    }

    pub(super) fn encode(&self, job: &Job, page: JobPage) -> Item {
        let mut item = keyed(Place::Table, JobKey { job: job.clone(), page }.encode());
        match &self.task {
            Task::Page(PageTask::Push(entry, width)) => {
                item.extend(entry.attributes());
                item.insert("b".to_owned(), text(width.as_str()));
                if let Some(until) = entry.expires_at {
                    item.insert("until".to_owned(), number(until));
                }
            }
            Task::Walk(walk) => item.extend(walk.attributes()),
            Task::Page(PageTask::Remove | PageTask::Promote) => {}
        }
        if let Some(after) = &self.after {
            item.insert("after".to_owned(), text(after.as_str()));
        }
        item.insert("expires_at".to_owned(), number(self.expires_at));
        item
    }

    pub(super) fn decode(job: &Job, item: &Item) -> Result<Self, Corrupt> {
        let fields = Fields(item);
        let task = match job.task {
            JobTask::Push => {
                let mut entry = TimelineEntry::with_id(item, job.id)?;
                entry.expires_at = fields.optional_number("until")?;
                Task::Page(PageTask::Push(entry, fields.parsed("b")?))
            }
            JobTask::Remove => Task::Page(PageTask::Remove),
            JobTask::Promote => Task::Page(PageTask::Promote),
            JobTask::Cleanup => Task::Walk(FeedWalk::decode(fields, Purpose::Cleanup)?),
            JobTask::Backfill => {
                let since = UnixMillis::new(fields.number("since")?).map_err(|_| fields.corrupt("since"))?;
                let (wanted, looked_at) = (fields.number("k")?, fields.number("seen")?);
                Task::Walk(FeedWalk::decode(
                    fields,
                    Purpose::Backfill(Backfill { since, wanted, looked_at }),
                )?)
            }
        };
        let (after, expires_at) = (fields.optional_parsed("after")?, fields.number("expires_at")?);
        Ok(Self { after, expires_at, task })
    }
}

impl FeedWalk {
    fn attributes(&self) -> Item {
        let mut item = Item::from([("user".to_owned(), text(self.user.as_str()))]);
        if let Some(behind) = self.behind {
            item.insert("behind".to_owned(), text(behind.to_string()));
        }
        if let Purpose::Backfill(Backfill { since, wanted, looked_at }) = self.purpose {
            item.insert("since".to_owned(), number(since.get()));
            item.insert("k".to_owned(), number(wanted));
            item.insert("seen".to_owned(), number(looked_at));
        }
        item
    }

    fn decode(fields: Fields<'_>, purpose: Purpose) -> Result<Self, Corrupt> {
        Ok(Self { user: fields.parsed("user")?, behind: fields.optional_parsed("behind")?, purpose })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use lately_keys::table::EventKey;

    use super::*;

    const ID: &str = "0190a4cd-d3e7-7222-9f99-fdb74feee752";

    fn job(task: JobTask) -> Job {
        Job { task, id: ID.parse().unwrap(), source: "actor:ada".parse().unwrap(), shard: 7.into() }
    }

    fn entry(data: &str) -> TimelineEntry {
        let key = EventKey::new("posts".parse().unwrap(), BucketWidth::Hour, ID.parse().unwrap());
        let event = [("t", "note"), ("a", "ada"), ("d", data), ("v", "asf")];
        let mut event: Item = event.into_iter().map(|(name, value)| (name.to_owned(), text(value))).collect();
        event.insert("expires_at".to_owned(), number(1_720_900_000_u64));
        TimelineEntry::of(&key, &event, key.id().at()).unwrap().unwrap()
    }

    fn walk(purpose: Purpose) -> Task {
        Task::Walk(FeedWalk { user: "bob".parse().unwrap(), behind: Some(ID.parse().unwrap()), purpose })
    }

    fn backfill() -> Purpose {
        let since = UnixMillis::new(1_720_799_999_000).unwrap();
        Purpose::Backfill(Backfill { since, wanted: 30, looked_at: 1_000 })
    }

    fn shown(item: &Item) -> BTreeMap<&str, &str> {
        item.iter()
            .map(|(name, value)| (name.as_str(), value.as_s().or(value.as_n()).unwrap().as_str()))
            .collect()
    }

    #[test]
    fn golden_bytes_of_a_walk() {
        let at = UnixMillis::new(1_720_800_000_999).unwrap();
        let work = JobWork::first(walk(backfill()), at);
        let item = work.encode(&job(JobTask::Backfill), JobPage::new(2).unwrap());
        let pk = format!("JOB#BACKFILL#{ID}#actor:ada#7");
        let expected = BTreeMap::from([
            ("pk", pk.as_str()),
            ("sk", "00000002"),
            ("user", "bob"),
            ("behind", ID),
            ("since", "1720799999000"),
            ("k", "30"),
            ("seen", "1000"),
            ("expires_at", "1720972800"),
        ]);
        assert_eq!(shown(&item), expected);
        let item =
            JobWork::first(walk(Purpose::Cleanup), at).encode(&job(JobTask::Cleanup), JobPage::default());
        let pk = format!("JOB#CLEANUP#{ID}#actor:ada#7");
        let expected = BTreeMap::from([
            ("pk", pk.as_str()),
            ("sk", "00000000"),
            ("user", "bob"),
            ("behind", ID),
            ("expires_at", "1720972800"),
        ]);
        assert_eq!(shown(&item), expected);
    }

    #[test]
    fn golden_bytes() {
        let at = UnixMillis::new(1_720_800_000_999).unwrap();
        let work = JobWork::first(Task::Page(PageTask::Push(entry("1"), BucketWidth::Hour)), at)
            .behind(&"bob".parse().unwrap());
        let item = work.encode(&job(JobTask::Push), JobPage::default());
        let pk = format!("JOB#PUSH#{ID}#actor:ada#7");
        let expected = BTreeMap::from([
            ("pk", pk.as_str()),
            ("sk", "00000000"),
            ("t", "note"),
            ("a", "ada"),
            ("o", "posts"),
            ("v", "a"),
            ("d", "1"),
            ("b", "hour"),
            ("until", "1720900000"),
            ("after", "bob"),
            ("expires_at", "1720972800"),
        ]);
        assert_eq!(shown(&item), expected);
    }

    #[test]
    fn what_a_job_needs_to_know_comes_back() {
        let large = format!("\"{}\"", "x".repeat(2_000));
        for (name, task) in [
            (JobTask::Push, Task::Page(PageTask::Push(entry("1"), BucketWidth::Hour))),
            (JobTask::Push, Task::Page(PageTask::Push(entry(&large), BucketWidth::Hour))),
            (JobTask::Remove, Task::Page(PageTask::Remove)),
            (JobTask::Promote, Task::Page(PageTask::Promote)),
            (JobTask::Cleanup, walk(Purpose::Cleanup)),
            (JobTask::Backfill, walk(backfill())),
        ] {
            let first = JobWork::first(task, UnixMillis::MIN);
            for work in [first.behind(&"bob".parse().unwrap()), first] {
                let item = work.encode(&job(name), JobPage::default());
                assert_eq!(JobWork::decode(&job(name), &item), Ok(work));
            }
        }
    }
}
