//! Reads a page of entries: sends the queries of a round together, and then reads the events.
//!
//! A source's timeline has one shard, and more in its busy times. The first query to the first shard also learns of the
//! others, which become further lanes of the wave. In the same way, the first query to a feed also learns of the sources
//! that the feed pulls.
//!
//! The whole page is read with one wave. If events of entries no longer exist, the wave is asked for as many more
//! entries, and nothing that it holds is read again.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::try_join;
use lately_items::{FeedEntryKey, FeedMarks, PullMarker, SourceEntryKey, TimelineEntry};
use lately_keys::{Coverage, EventId, Order, Source, UnixMillis, User};
use lately_model::TimelineEvent;
use lately_table::TableError;

use crate::lane::{LanePage, LaneRange};
use crate::latest::page::{Budget, PageDraft, PageEnd};
use crate::latest::round::WaveReader;
use crate::latest::wave::{Ask, FurtherLanes, LaneAnswer, Slices, Wave, WaveLane};
use crate::op::Op;
use crate::span::IdRange;
use crate::timeline::filter::Filter;

/// The first lane: the page's own timeline. The other lanes are the timelines that the feed pulls.
const OWN_LANE: usize = 0;

/// The partition of the first shard of a source's timeline, in which all entries of quiet times are.
fn first_shard(source: &Source) -> String {
    SourceEntryKey::partition(source, 0.into())
}

/// The reading of one page.
#[derive(Debug)]
pub(crate) struct TimelineReading<'a> {
    pub(super) op: &'a Op,
    filter: &'a Filter,
    order: Order,
    pub(super) consistent: bool,
    pub(super) now: UnixMillis,
    pub(super) budget: Budget,
    /// The user whose feed is read. A feed shows only entries that fan out.
    feed: Option<User>,
    /// The marks of the feed, once they are known.
    pub(crate) marks: Option<FeedMarks>,
    /// The lanes that are the first shards of sources whose other shards are not known yet.
    unopened: BTreeMap<usize, Source>,
}

impl<'a> TimelineReading<'a> {
    pub(crate) fn new(op: &'a Op, filter: &'a Filter, order: Order, consistent: bool) -> Self {
        let (now, budget, unopened) = (op.now(), Budget::default(), BTreeMap::new());
        Self { op, filter, order, consistent, now, budget, feed: None, marks: None, unopened }
    }

    /// A wave with the page's own timeline as its only lane.
    fn wave(&self, partition: String, ids: IdRange) -> Wave<TimelineEntry> {
        let (_, end) = ids.ends(self.order);
        Wave::new(self.order, vec![self.lane(partition, ids, 1)], end)
    }

    /// A lane of a wave. If the filter is narrow, the events of the page are taken to be spread over `lanes` lanes.
    fn lane(&self, partition: String, ids: IdRange, lanes: u16) -> WaveLane {
        let is_sparse = self.filter.is_narrow();
        // Timelines do not share events evenly, as shards do. So without a filter, each lane is asked for a whole page.
        WaveLane {
            partition,
            by_type: false,
            is_sparse,
            shards: if is_sparse { lanes } else { 1 },
            ids,
            slices: None,
        }
    }

    /// A wave with all shards of a source.
    pub(crate) fn source_wave(&mut self, source: &Source, ids: IdRange) -> Wave<TimelineEntry> {
        let mut wave = self.wave(first_shard(source), ids);
        self.begin_source(&mut wave, source, OWN_LANE);
        wave
    }

    /// A wave with a feed, and with the sources that it pulls as soon as its marks are known.
    pub(crate) fn feed_wave(
        &mut self,
        user: &User,
        ids: IdRange,
        marks: Option<FeedMarks>,
    ) -> Wave<TimelineEntry> {
        self.feed = Some(user.clone());
        let mut wave = self.wave(FeedEntryKey::partition(user), ids);
        marks.into_iter().for_each(|marks| self.push_pulls(&mut wave, marks));
        wave
    }

    /// Adds the timelines of the sources that a feed pulls: the first shard of each, and its other shards as soon as they
    /// are known.
    fn push_pulls(&mut self, wave: &mut Wave<TimelineEntry>, marks: FeedMarks) {
        let ids = wave.lane(OWN_LANE).ids;
        let lanes = u16::try_from(1 + marks.pulls.len()).unwrap_or(u16::MAX);
        for PullMarker { source, since } in &marks.pulls {
            if let Some(ids) = IdRange::new(ids.oldest.max(*since), ids.newest) {
                wave.push(self.lane(first_shard(source), ids, lanes));
                self.begin_source(wave, source, wave.last_lane());
            }
        }
        self.marks = Some(marks);
    }

    /// Notes that a lane of a wave is the first shard of a source.
    fn begin_source(&mut self, wave: &mut Wave<TimelineEntry>, source: &Source, lane: usize) {
        match self.op.source(source).recent_coverage().filter(|_| !self.consistent) {
            Some(coverage) => self.push_shards(wave, source, lane, &coverage),
            None => {
                self.unopened.insert(lane, source.clone());
            }
        }
    }

    /// Adds the other shards of a source that may hold entries of the lane's range.
    fn push_shards(
        &self,
        wave: &mut Wave<TimelineEntry>,
        source: &Source,
        lane: usize,
        coverage: &Arc<Coverage>,
    ) {
        let ids = wave.lane(lane).ids;
        let Some(ids) = ids.in_sight(coverage, self.now, self.consistent) else { return };
        let shards = coverage.shards_within(ids.oldest.at(), ids.newest.at());
        let lanes = u16::try_from(shards.len()).unwrap_or(u16::MAX);
        for shard in shards.into_iter().filter(|shard| shard.get() > 0) {
            let partition = SourceEntryKey::partition(source, shard);
            let slices = Some(Slices { coverage: Arc::clone(coverage), shard });
            wave.push(WaveLane { slices, ..self.lane(partition, ids, lanes) });
        }
    }

    /// Fills a page from a wave, and returns the page's ending.
    pub(crate) async fn fill(
        &mut self,
        wave: &mut Wave<TimelineEntry>,
        draft: &mut PageDraft<TimelineEvent>,
    ) -> Result<PageEnd, TableError> {
        let mut taken = 0;
        loop {
            let wanted = taken + draft.missing();
            // A client that may not see all topics learns that there is more only if it may see a further entry. Hidden
            // entries do not count.
            let beyond = usize::from(self.filter.topics.is_some());
            self.read(wave, wanted + beyond, draft.room()).await?;
            let exact = wave.settled();
            let next = &exact[taken..exact.len().min(wanted)];
            let (events, looked_at) = self.resolve(next, draft.room()).await?;
            taken += looked_at;
            let (rest, edge) = (exact.len() - taken, wave.edge());
            if let Some(ending) = draft.take(events, rest, edge) {
                return Ok(ending);
            }
            if draft.missing() == 0 || rest == 0 && !edge.more {
                return Ok(PageEnd::default());
            }
            if rest > 0 && self.is_spent() {
                let last = taken.checked_sub(1).and_then(|last| wave.settled().get(last));
                return Ok(PageEnd { more: true, at: last.map(|last| last.id) });
            }
        }
    }

    /// Drops the entries of an answer that the page does not show.
    fn hide(&self, wave: &mut Wave<TimelineEntry>, ask: Ask, found: &mut LanePage<TimelineEntry>) {
        found.stopped_at = found.stopped_at.map(|id| self.place_of(id, ask, &found.items));
        let looked_at = found.items.len();
        // A source also lists events of topics that do not fan out. A feed does not show them.
        found.items.retain(|entry| {
            self.filter.takes_entry(entry, self.now) && (self.feed.is_none() || entry.fans_out)
        });
        if found.items.is_empty() && looked_at > 0 {
            wave.expect_few(ask.lane);
        }
    }

    /// The id up to which a lane is known after its query ended at the entry `last`. The page's cursor may contain this
    /// id. So if the caller may not see that entry, the id lies between the entry and the one before, and no event has
    /// it. The entry is then read again.
    fn place_of(&self, last: EventId, ask: Ask, entries: &[TimelineEntry]) -> EventId {
        let seen = Filter { topics: self.filter.topics.clone(), ..Filter::default() };
        let is_seen = |entry: &TimelineEntry| seen.takes_entry(entry, self.now);
        let is_hidden = entries.last().is_some_and(|entry| entry.id == last && !is_seen(entry));
        if self.filter.topics.is_none() || !is_hidden {
            return last;
        }
        let before = entries.iter().rev().nth(1).map_or(ask.ids.ends(self.order).0, |entry| entry.id);
        before.between(last, self.op.table.ambient().entropy()).unwrap_or(last)
    }
}

impl WaveReader for TimelineReading<'_> {
    type Item = TimelineEntry;

    fn op(&self) -> &Op {
        self.op
    }

    fn budget(&mut self) -> &mut Budget {
        &mut self.budget
    }

    async fn query(&self, ask: Ask, lane: &WaveLane) -> Result<LaneAnswer<TimelineEntry>, TableError> {
        let (order, consistent) = (self.order, self.consistent);
        let range = LaneRange { partition: &lane.partition, ids: ask.ids, order, consistent };
        let query = range.query().limit(ask.limit);
        let page = LanePage::read(self.op, &query, TimelineEntry::decode);
        let begins = order == Order::NewestFirst && ask.ids.newest == EventId::MAX;
        // Most queries do not ask for further lanes, so only those that do pay for the memory of these futures.
        let (further, found) = if let Some(source) = self.unopened.get(&ask.lane) {
            let source = self.op.source(source);
            let (coverage, found) = match begins {
                true => Box::pin(source.start(&range, ask.limit)).await?,
                false => try_join(Box::pin(source.coverage(consistent)), page).await?,
            };
            (Some(FurtherLanes::Shards(coverage)), found)
        } else if let Some(user) = self.feed.as_ref().filter(|_| self.marks.is_none()) {
            let feed = self.op.feed(user);
            let (marks, found) = match begins {
                true => Box::pin(feed.start(&range, ask.limit)).await?,
                false => try_join(Box::pin(feed.marks(consistent)), page).await?,
            };
            (Some(FurtherLanes::Pulls(marks)), found)
        } else {
            (None, page.await?)
        };
        Ok(LaneAnswer { ask, found, further })
    }

    fn add(&mut self, wave: &mut Wave<TimelineEntry>, mut answers: Vec<LaneAnswer<TimelineEntry>>) -> bool {
        let mut opened = Vec::new();
        for LaneAnswer { ask, found, further } in &mut answers {
            opened.extend(further.take().map(|further| (ask.lane, further)));
            self.hide(wave, *ask, found);
        }
        wave.absorb(answers);
        let before = wave.last_lane();
        for (lane, further) in opened {
            match (further, self.unopened.remove(&lane)) {
                (FurtherLanes::Pulls(marks), _) => self.push_pulls(wave, marks),
                (FurtherLanes::Shards(coverage), Some(source)) => {
                    self.push_shards(wave, &source, lane, &coverage);
                }
                (FurtherLanes::Shards(_), None) => {}
            }
        }
        wave.last_lane() > before
    }
}
