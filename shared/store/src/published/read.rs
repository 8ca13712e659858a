//! The reading of a page: windows of time in waves that double, the queries of a round at once.
//!
//! Nothing lists the partitions that hold something, so empty ones are visited too, and paid for. That they are visited
//! several at a time saves time, and no unit.

use futures_util::stream::{self, StreamExt, TryStreamExt};
use lately_keys::published::PublishedError;

use crate::cost::Cost;
use crate::error::TableError;
use crate::limits::{PUBLISHED_UNITS_PER_READ, QUERIES_AT_ONCE, QUERIES_PER_PAGE, WAVE_BUCKETS};
use crate::op::Op;
use crate::published::DesignTable;
use crate::published::key::{Event, attribute};
use crate::published::stop::{Answer, Lane, Stop};
use crate::published::walk::{Position, Span, Walk};

/// Some events of a walk.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// In the order of the walk.
    pub events: Vec<Event>,
    /// Where the walk stands behind them. At its end that is past all of its times: what lands there later is missed by
    /// who goes on from here.
    pub position: Position,
    /// Whether there may be more.
    pub has_more: bool,
}

/// Why a walk could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The position is none of this timeline.
    #[error("the position: {0}")]
    Position(#[source] PublishedError),
    /// The table could not be read.
    #[error(transparent)]
    DesignTable(#[from] TableError),
}

impl DesignTable {
    /// The next events of a walk. Fewer than asked for, and even none, where it has done as much work as one read may;
    /// it then says that there may be more.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub async fn read(&self, walk: &Walk) -> Result<(Page, Cost), ReadError> {
        let op = self.store.op();
        let span = Span::new(&self.design, walk).map_err(ReadError::Position)?;
        let page = Page { events: Vec::new(), position: span.position.clone(), has_more: true };
        let mut reading = Reading { table: self, walk, span, page, visits: 0, op: &op };
        reading.fill().await?;
        Ok((reading.page, op.cost()))
    }
}

/// A page being read.
struct Reading<'a> {
    table: &'a DesignTable,
    walk: &'a Walk,
    span: Span<'a>,
    page: Page,
    /// Queries, and windows without any.
    visits: usize,
    op: &'a Op,
}

/// How the reading of a stop ended.
enum Ending {
    /// All of it is given.
    Done,
    /// The page is full, or has done its work.
    Stopped,
}

impl Reading<'_> {
    async fn fill(&mut self) -> Result<(), TableError> {
        let mut windows = 1;
        while !self.span.is_over() && !self.is_spent() {
            let mut wave = self.next_wave(windows.min(self.missing()));
            self.ask(&mut wave).await?;
            for n in 0..wave.len() {
                if let Ending::Stopped = self.give(&mut wave[n]).await? {
                    self.page.has_more = !self.span.is_over() || wave[n..].iter().any(Stop::has_more);
                    if !self.page.has_more
                        && let Some(last) = wave.pop()
                    {
                        self.page.position = last.end;
                    }
                    return Ok(());
                }
            }
            windows = (windows * 2).min(WAVE_BUCKETS);
        }
        self.page.has_more = !self.span.is_over();
        Ok(())
    }

    /// The next windows, at most so many, and no more partitions than can be read at once.
    fn next_wave(&mut self, windows: usize) -> Vec<Stop> {
        let mut wave = Vec::new();
        let mut lanes = 0;
        let is_room =
            |wave: &[Stop], lanes| wave.first().is_none_or(|first| lanes + first.lanes() <= QUERIES_AT_ONCE);
        while wave.len() < windows && is_room(&wave, lanes) {
            let Some(stop) = self.span.next_stop() else { break };
            lanes += stop.lanes();
            self.visits += usize::from(stop.lanes() == 0);
            wave.push(stop);
        }
        wave
    }

    /// Gives what a stop holds, and reads on where that is needed.
    async fn give(&mut self, stop: &mut Stop) -> Result<Ending, TableError> {
        let given = self.page.events.len();
        loop {
            let is_hungry = stop.hungry().next().is_some();
            if self.missing() == 0 || is_hungry && self.is_spent() {
                if let Some(last) = self.page.events[given..].last() {
                    self.page.position = Position::Behind(last.key.clone());
                }
                return Ok(Ending::Stopped);
            }
            if is_hungry {
                self.ask(std::slice::from_mut(stop)).await?;
                continue;
            }
            match stop.give() {
                Some(event) => self.page.events.push(event),
                None => {
                    self.page.position = stop.end.clone();
                    return Ok(Ending::Done);
                }
            }
        }
    }

    /// Asks all lanes of which nothing is left to give.
    async fn ask(&mut self, stops: &mut [Stop]) -> Result<(), TableError> {
        let mut queries = Vec::new();
        for (n, stop) in stops.iter().enumerate() {
            let forward = stop.is_forward();
            queries.extend(stop.hungry().map(|(lane, asked)| {
                let answer = self.query(asked, forward);
                async move { Ok::<_, TableError>((n, lane, answer.await?)) }
            }));
        }
        if queries.is_empty() {
            return Ok(());
        }
        self.op.table.meter.round();
        let answers: Vec<_> = stream::iter(queries).buffer_unordered(QUERIES_AT_ONCE).try_collect().await?;
        self.visits += answers.len();
        for (n, lane, answer) in answers {
            stops[n].absorb(lane, answer);
        }
        Ok(())
    }

    /// Asks a lane for all that the page can still take: any of it may lie there.
    async fn query(&self, lane: &Lane, forward: bool) -> Result<Answer, TableError> {
        let DesignTable { keys, design, .. } = self.table;
        let Lane { partition, keys: wanted, behind, .. } = lane;
        let limit = i32::try_from(self.missing()).unwrap_or(i32::MAX);
        let start = behind.as_ref().map(|sk| keys.item(partition, sk));
        let answer = self
            .op
            .table
            .query(|query| {
                query
                    .key_condition_expression("#pk = :pk AND #sk BETWEEN :least AND :greatest")
                    .expression_attribute_names("#pk", &keys.pk)
                    .expression_attribute_names("#sk", &keys.sk)
                    .expression_attribute_values(":pk", attribute(partition))
                    .expression_attribute_values(":least", attribute(&wanted.least))
                    .expression_attribute_values(":greatest", attribute(&wanted.greatest))
                    .set_exclusive_start_key(start.clone())
                    .scan_index_forward(forward)
                    .limit(limit)
                    .consistent_read(self.walk.consistent)
            })
            .await?;
        let stopped_at = answer.last_evaluated_key().map(|key| keys.sk(key, partition)).transpose()?;
        let items = answer.items.unwrap_or_default();
        self.op.table.meter.items(items.len());
        let events = items.into_iter().map(|item| keys.event(item, partition, design));
        Ok(Answer { events: events.collect::<Result<_, _>>()?, stopped_at })
    }

    fn missing(&self) -> usize {
        let limit = usize::try_from(self.walk.limit.get()).unwrap_or(usize::MAX);
        limit - self.page.events.len()
    }

    fn is_spent(&self) -> bool {
        let read = self.op.cost().read_units.halves;
        self.visits >= QUERIES_PER_PAGE as usize || read >= 2 * PUBLISHED_UNITS_PER_READ
    }
}
