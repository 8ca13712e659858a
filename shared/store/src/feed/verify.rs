//! The comparison of a feed with its sources. It finds entries that the feed lacks, and entries that do not
//! belong.
//!
//! A feed must hold the events of each followed source since the follow, and the user's own posts. It may also hold
//! older events of followed sources, as many as were backfilled. So:
//!
//! - **missing** is an event that a followed source lists since the follow, from a topic that fans out, if the feed
//!   neither holds nor pulls it; an own post that the feed does not hold; and the marker of a source that must be
//!   pulled;
//! - **extra** is an entry of a source that is neither followed nor the user's own, or of an event that no longer
//!   exists; and the marker of a source that is not followed.
//!
//! Imports may be there or not: fan-out pushes them to no feed, and a backfill may copy them. Fan-out runs meanwhile,
//! and the entries that it is about to write are reported as missing.
//!
//! Memory is bounded: sources, their timelines and the feed are read page by page, and the findings of a page are
//! handed on.

use lately_items::{FeedEntryKey, FeedMarks, PullMarker, TimelineEntry, place_in_feed};
use lately_keys::{Actor, EventId, Order, Source, User};
use lately_model::{FollowView, ListQuery, PageSize};
use lately_table::TableError;

use crate::feed::rebuild::{belonging_to, mend_entries, mend_pull, missing_pull};
use crate::handle::FeedHandle;
use crate::lane::{LanePage, LaneRange};
use crate::limits::COMPARED_ENTRIES;
use crate::list::ListError;
use crate::op::Op;
use crate::span::IdRange;
use crate::timeline::filter::Filter;

/// The first page of the sources that a user follows.
const ALL_FOLLOWS: ListQuery = ListQuery { limit: PageSize::MAX, cursor: None };

/// The figures of a feed's comparison so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeedReport {
    /// Timelines that were read: the user's own, those of followed sources, and the feed.
    pub timelines: u64,
    /// Entries that were read.
    pub entries: u64,
    /// Events and pull markers that the feed lacks.
    pub missing: u64,
    /// Entries and pull markers that do not belong to the feed.
    pub extra: u64,
}

/// A difference between a feed and its sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FeedFinding {
    /// An event that the feed should show, and does not.
    Missing(EventId),
    /// A source that the feed should pull, and does not.
    MissingPull(Source),
    /// An entry that the feed should not have.
    Extra(EventId),
    /// A source that the feed should not pull.
    ExtraPull(Source),
}

impl FeedHandle<'_> {
    /// Compares a user's feed with its sources, and repairs the differences if `mends` says so. After every page,
    /// `progress` gets the report so far and the findings of that page. A repair may be stopped and run again at any time,
    /// also while fan-out runs.
    pub async fn compare(
        self,
        mends: bool,
        progress: impl FnMut(&FeedReport, &[FeedFinding]) + Send,
    ) -> Result<FeedReport, TableError> {
        let user = self.user;
        let marks = self.op.step().feed(user).marks(true).await?;
        let report = FeedReport::default();
        let mut comparison = Comparison { op: self.op, user, mends, marks, progress, report };
        comparison.pulls().await?;
        comparison.followed_sources().await?;
        // The feed itself, in which some entries do not belong.
        let all = IdRange { oldest: EventId::MIN, newest: EventId::MAX };
        comparison.partition(&FeedEntryKey::partition(user), all, None).await?;
        comparison.report.timelines += 1;
        Ok(comparison.report)
    }
}

/// The comparison of one feed. Each page is an operation with its own deadline, because a feed may be too large for one
/// request.
struct Comparison<'a, Progress> {
    op: &'a Op,
    user: &'a User,
    mends: bool,
    /// The marks at the beginning, and the missing pull markers that were found since.
    marks: FeedMarks,
    progress: Progress,
    report: FeedReport,
}

impl<Progress: FnMut(&FeedReport, &[FeedFinding]) + Send> Comparison<'_, Progress> {
    /// Compares the feed with all sources that the user follows.
    async fn followed_sources(&mut self) -> Result<(), TableError> {
        let own = Source::Actor(Actor::from(self.user));
        self.source(&own, EventId::MIN).await?;
        let mut query = Some(ALL_FOLLOWS);
        while let Some(follows) = self.follows(&mut query).await? {
            // The user's own timeline was compared from its beginning.
            for FollowView { source, since } in follows.into_iter().filter(|follow| follow.source != own) {
                self.source(&source, EventId::first_of(since)).await?;
            }
        }
        Ok(())
    }

    /// The next page of the sources that the user follows, if there is one.
    async fn follows(
        &mut self,
        query: &mut Option<ListQuery>,
    ) -> Result<Option<Vec<FollowView>>, TableError> {
        let Some(page) = query.take() else { return Ok(None) };
        let list = self.op.step().user(self.user).following(&page).await.map_err(|error| match error {
            ListError::Table(error) => error,
            ListError::Cursor(error) => TableError::unavailable(error),
        })?;
        *query = list.next.map(|next| ListQuery { cursor: Some(next), ..page });
        Ok(Some(list.following))
    }

    /// Looks for missing events among those that a source lists from an id on.
    async fn source(&mut self, source: &Source, oldest: EventId) -> Result<(), TableError> {
        if let Some(ids) = IdRange::new(oldest, EventId::MAX) {
            for (partition, ids) in self.op.step().source(source).partitions(ids, true).await? {
                self.partition(&partition, ids, Some(source)).await?;
            }
        }
        self.report.timelines += 1;
        Ok(())
    }

    /// Looks for missing events in a partition of a source, or for extra entries in the feed's own partition.
    async fn partition(
        &mut self,
        partition: &str,
        ids: IdRange,
        source: Option<&Source>,
    ) -> Result<(), TableError> {
        let mut rest = Some(ids);
        while let Some(ids) = rest {
            let op = self.op.step();
            let range = LaneRange { partition, ids, order: Order::NewestFirst, consistent: true };
            let page =
                LanePage::read(&op, &range.query().limit(COMPARED_ENTRIES), TimelineEntry::decode).await?;
            rest = page.rest(&range);
            self.report.entries += page.items.len() as u64;
            let (wrong, found): (_, fn(EventId) -> FeedFinding) = match source {
                Some(source) => (self.missing(source, page.items, &op).await?, FeedFinding::Missing),
                None => (self.extra(page.items, &op).await?, FeedFinding::Extra),
            };
            if self.mends {
                mend_entries(&op, self.user, &wrong).await?;
            }
            self.report(wrong.iter().map(|entry| found(entry.id)).collect());
        }
        Ok(())
    }

    /// The entries of the feed that do not belong to it.
    async fn extra(
        &self,
        mut entries: Vec<TimelineEntry>,
        op: &Op,
    ) -> Result<Vec<TimelineEntry>, TableError> {
        entries.retain(|entry| Filter::default().takes_entry(entry, op.now()));
        let belonging = belonging_to(op, self.user, &entries).await?;
        entries.retain(|entry| !belonging.contains(&entry.id));
        Ok(entries)
    }

    /// The entries of a source that the feed should show, and does not.
    async fn missing(
        &self,
        source: &Source,
        mut entries: Vec<TimelineEntry>,
        op: &Op,
    ) -> Result<Vec<TimelineEntry>, TableError> {
        entries.retain(|entry| {
            let pulled = entry.sources().any(|source| self.marks.pull(&source, entry.id));
            let kept = matches!(op.feed(self.user).entry(entry).is_over(op.now()), Ok(false));
            entry.is_for_feeds() && !pulled && kept
        });
        let keys: Vec<_> = entries.iter().map(|entry| place_in_feed(entry.id, self.user)).collect();
        for item in op.table.get_many(&keys, true).await? {
            let held = TimelineEntry::decode(&item)?.id;
            entries.retain(|entry| entry.id != held);
        }
        // Actors come before subjects. So if the user follows both sources of an event, it was found under its actor.
        if matches!(source, Source::Subject(_)) {
            let edges = op.user(self.user).edges(&entries).await?;
            let myself = Actor::from(self.user);
            entries.retain(|entry| {
                let actor = entry.sources().find(|source| matches!(source, Source::Actor(_)));
                let followed = actor.and_then(|actor| edges.get(&actor));
                let found = followed.is_some_and(|edge| entry.id >= EventId::first_of(edge.since));
                !found && (entry.actor != myself)
            });
        }
        Ok(entries)
    }

    /// Looks for pull markers of sources that are not followed, and for missing pull markers.
    async fn pulls(&mut self) -> Result<(), TableError> {
        for PullMarker { source, .. } in self.marks.pulls.clone() {
            let op = self.op.step();
            if op.user(self.user).edge(&source).await?.is_none() {
                self.found_pull(&source, FeedFinding::ExtraPull(source.clone()), &op).await?;
            }
        }
        let mut query = Some(ALL_FOLLOWS);
        while let Some(follows) = self.follows(&mut query).await? {
            for FollowView { source, .. } in follows {
                if self.marks.pulls.iter().any(|pull| pull.source == source) {
                    continue;
                }
                let op = self.op.step();
                if let Some(missing) = missing_pull(&op, self.user, &source).await? {
                    self.found_pull(&source, FeedFinding::MissingPull(source.clone()), &op).await?;
                    // The events that are missing only because of this marker are not reported one by one.
                    self.marks.pulls.push(missing);
                }
            }
        }
        Ok(())
    }

    async fn found_pull(&mut self, source: &Source, found: FeedFinding, op: &Op) -> Result<(), TableError> {
        if self.mends {
            mend_pull(op, self.user, source).await?;
        }
        self.report(vec![found]);
        Ok(())
    }

    fn report(&mut self, found: Vec<FeedFinding>) {
        for finding in &found {
            match finding {
                FeedFinding::Missing(_) | FeedFinding::MissingPull(_) => self.report.missing += 1,
                FeedFinding::Extra(_) | FeedFinding::ExtraPull(_) => self.report.extra += 1,
            }
        }
        (self.progress)(&self.report, &found);
    }
}
