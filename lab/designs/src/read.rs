//! Reading a page: windows of time in waves that double, and the queries of a round in parallel.
//!
//! Nothing lists the partitions that hold events, so a read visits empty partitions too, and pays for them. Visiting
//! several partitions at a time saves time, but no read units.

use futures_util::stream::{self, StreamExt, TryStreamExt};
use lately_table::{Cost, Item, Query, Table, TableError};

use crate::DesignTable;
use crate::key::Event;
use crate::keys::PublishedError;
use crate::stop::{Answer, Lane, Stop};
use crate::walk::{Position, Span, Walk};

/// Parallel queries of one read.
const QUERIES_AT_ONCE: usize = 64;

/// Queries of one read in all. A read that needs more ends early and says so.
const QUERIES_PER_READ: usize = 1_024;

/// Read units after which a read ends: 32 MB, or half of that if the read is consistent. An event may be as large as an
/// item can be, and a caller may ask for any number of events. A round that has begun is finished, and may add a full
/// query for each partition.
const UNITS_PER_READ: u64 = 4_096;

/// The most windows of time in one wave.
const WINDOWS_PER_WAVE: usize = 16;

/// Some events of a walk.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// In the order of the walk.
    pub events: Vec<Event>,
    /// The position of the walk behind these events. At the end of a walk, the position is behind all of its times: a
    /// caller that continues from there misses events of these times that arrive later.
    pub position: Position,
    /// True if there may be more events.
    pub has_more: bool,
}

/// Why a walk could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The position does not belong to this timeline.
    #[error("the position: {0}")]
    Position(#[source] PublishedError),
    /// The table could not be read.
    #[error(transparent)]
    Table(#[from] TableError),
}

impl DesignTable {
    /// The next events of a walk. If the read reaches the limits of one read, it returns fewer events than asked for,
    /// or even none, and says that there may be more.
    pub async fn read(&self, walk: &Walk) -> Result<(Page, Cost), ReadError> {
        let table = self.connection.begin();
        let span = Span::new(&self.design, walk).map_err(ReadError::Position)?;
        let page = Page { events: Vec::new(), position: span.position.clone(), has_more: true };
        let mut reading = Reading { of: self, walk, span, page, visits: 0, table: &table };
        reading.fill().await?;
        Ok((reading.page, table.meter().total()))
    }
}

/// A page that is being read.
struct Reading<'a> {
    of: &'a DesignTable,
    walk: &'a Walk,
    span: Span<'a>,
    page: Page,
    /// The number of queries, and of windows that took no query.
    visits: usize,
    table: &'a Table,
}

/// The outcome of reading a stop.
enum Ending {
    /// All events of the stop are given.
    Done,
    /// The page is full, or the read has reached its limits.
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
            windows = (windows * 2).min(WINDOWS_PER_WAVE);
        }
        self.page.has_more = !self.span.is_over();
        Ok(())
    }

    /// The next windows: at most `windows`, and no more partitions than can be read at once.
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

    /// Gives the events of a stop, and reads more of them if needed.
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

    /// Queries all lanes without a next event.
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
        self.table.meter().round();
        let answers: Vec<_> = stream::iter(queries).buffer_unordered(QUERIES_AT_ONCE).try_collect().await?;
        self.visits += answers.len();
        for (n, lane, answer) in answers {
            stops[n].absorb(lane, answer);
        }
        Ok(())
    }

    /// Asks a lane for as many events as the page still has room for, because all of them may be in this lane.
    async fn query(&self, lane: &Lane, forward: bool) -> Result<Answer, TableError> {
        let DesignTable { keys, design, .. } = self.of;
        let Lane { partition, keys: wanted, behind, .. } = lane;
        let query = Query::partition(partition)
            .between(&wanted.least, &wanted.greatest)
            .backward(!forward)
            .limit(u32::try_from(self.missing()).unwrap_or(u32::MAX))
            .consistent(self.walk.consistent)
            .start(behind.as_ref().map(|sk| keys.keyed(Item::new(), partition, sk)));
        let page = self.table.query(&query).await?;
        let stopped_at = page.next.map(|key| keys.sk(&key, partition)).transpose()?;
        self.table.meter().items(page.items.len());
        let events = page.items.into_iter().map(|item| keys.event(item, partition, design));
        Ok(Answer { events: events.collect::<Result<_, _>>()?, stopped_at })
    }

    fn missing(&self) -> usize {
        let limit = usize::try_from(self.walk.limit.get()).unwrap_or(usize::MAX);
        limit - self.page.events.len()
    }

    fn is_spent(&self) -> bool {
        self.visits >= QUERIES_PER_READ || self.table.meter().read_units() >= UNITS_PER_READ
    }
}
