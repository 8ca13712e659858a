//! `lately import`: a table of a published design, brought over into a topic.
//!
//! - **Options** (`options.rs`): which design, from where, to where, and what becomes of an item.
//! - **State** (`state.rs`): how far it is, in a file.
//! - **Mapping** (`mapping.rs`, `json.rs`, pure): an item as the event that it becomes.
//!
//! The table is walked oldest first (`lately_store::published`), up to a time that is fixed when the import starts: what
//! is written meanwhile is for the next run. A page is written, then the file says so. The id of an event follows from its
//! item's key and the number of shards, which the file says before the first event is written.
//!
//! What must hold: however often an import is killed and run again, each item of the range is one event. An item that is no
//! event of Lately's is named; nothing of its page is written then, unless it may be skipped.

mod json;
mod mapping;
mod options;
mod state;

use std::io::Write;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use lately_designs::{self as designs, DesignTable, Page, ReadError, Walk, WriteKey};
use lately_keys::ShardCount;
use lately_kit::settings::SettingsError;
use lately_model::Event;
use lately_model::limits::{BATCH_EVENTS, IMPORT_SECONDS};
use lately_store::{Cost, ImportError as WriteError, Store, TableError, TopicError};
use lately_table::Connection;

use crate::operate::import::mapping::Why;
use crate::operate::import::options::Timeline;
use crate::operate::import::state::{ImportRequest, State};
use crate::operate::table::{client, connection, store_of};

pub use mapping::Invalid;
pub use options::{ImportOptions, OptionsError};
pub use state::StateError;

/// The time between two lines of progress.
const PROGRESS: Duration = Duration::from_secs(5);

/// Events that a dry run prints.
const SHOWN: usize = 10;

/// Write units that are written at once, at most, unless one event has more: a shard takes them in half a second.
const UNITS_AT_ONCE: usize = 500;

/// The most bytes that an event's item has beside its data.
const ITEM_BYTES: usize = 512;

/// Why an import ended before its end.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The options contradict one another.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// It cannot begin, or go on.
    #[error(transparent)]
    State(#[from] StateError),
    /// There is no such topic.
    #[error("there is no such topic: PUT /topics/{{topic}} creates it")]
    TopicNotFound,
    /// The topic's buckets have fewer.
    #[error("--shards is more than the topic's max_shards, which is {0}")]
    TooManyShards(ShardCount),
    /// An item is no event of Lately's.
    #[error("{0}\nMend it and run this again, or say --skip-invalid.")]
    Invalid(Box<Invalid>),
    /// The table that is imported could not be read.
    #[error(
        "{0}\nAre the table's name and keys right, and may these credentials read it? Run again, it goes on."
    )]
    Read(#[from] ReadError),
    /// Lately's table could not be read or written.
    #[error("{0}\nIs the table's name right, and may these credentials use it? Run again, it goes on.")]
    Table(#[from] TableError),
    /// Events were refused that were accepted before: the topic or the clock has changed.
    #[error("{0}")]
    Write(#[source] WriteError),
    /// The environment is not what it should be.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// Nothing could be printed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Imports a table.
///
/// # Errors
/// See [`ImportError`].
pub async fn run(
    options: ImportOptions,
    out: &mut (impl Write + Send),
    told: &mut (impl Write + Send),
) -> Result<(), ImportError> {
    let client = client().await;
    let source = connection(client.clone(), &*options.table);
    let target = store_of(client, &options.into)?;
    between(&source, &target, options, out, told).await
}

/// Imports from a table of a published design into Lately's.
///
/// # Errors
/// See [`ImportError`].
pub async fn between(
    source: &Connection,
    target: &Store,
    options: ImportOptions,
    out: &mut (impl Write + Send),
    told: &mut (impl Write + Send),
) -> Result<(), ImportError> {
    let mut import = Import::plan(source, target, options).await?;
    if import.options.dry_run {
        return import.show(out, told).await;
    }
    import.state.write(&import.path)?;
    import.all(told).await?;
    let State { events, skipped, until, .. } = &import.state;
    writeln!(out, "imported  {events}")?;
    writeln!(out, "skipped   {skipped}")?;
    writeln!(out, "up to     {until}")?;
    writeln!(told, "{}; {}", import.read.of_read(), import.written.of_write())?;
    Ok(())
}

/// An import under way.
struct Import<'a> {
    source: &'a Connection,
    target: &'a Store,
    options: ImportOptions,
    timelines: Vec<Timeline>,
    path: PathBuf,
    state: State,
    read: Cost,
    written: Cost,
}

impl<'a> Import<'a> {
    async fn plan(
        source: &'a Connection,
        target: &'a Store,
        options: ImportOptions,
    ) -> Result<Self, ImportError> {
        let timelines = options.timelines()?;
        let topic = target.op().topic(&options.topic).view().await.map_err(|error| match error {
            TopicError::NotFound(_) => ImportError::TopicNotFound,
            TopicError::Table(error) => ImportError::Table(error),
        })?;
        let design = &timelines[0].design;
        let path = options.state(design);
        let asked = ImportRequest {
            import: options.identity(),
            shards: options.shards,
            default_shards: topic.settings.min_shards,
            users: options.users.clone(),
            since: options.since,
            until: options.until,
            latest: latest(target),
            needs_since: design.is_windowed(),
        };
        let state = State::plan(State::read(&path)?, asked, &path)?;
        if state.shards > topic.settings.max_shards {
            return Err(ImportError::TooManyShards(topic.settings.max_shards));
        }
        let (read, written) = (Cost::default(), Cost::default());
        Ok(Self { source, target, options, timelines, path, state, read, written })
    }

    /// Imports what is left, and says now and then how far it is.
    async fn all(&mut self, told: &mut impl Write) -> Result<(), ImportError> {
        let clock = self.target.ambient();
        let (begun, before) = (clock.monotonic(), self.state.events);
        let mut due = begun + PROGRESS;
        while let Some(timeline) = self.timelines.get(self.state.timelines).cloned() {
            let page = self.page(&timeline).await?;
            let at = page.events.last().map(|event| event.at);
            self.write(&timeline, &page.events, told).await?;
            self.state.stand_at(page.position);
            if !page.has_more {
                self.state.end_timeline(self.timelines.len());
            }
            self.state.write(&self.path)?;
            let now = clock.monotonic();
            if let Some(at) = at.filter(|_| now >= due) {
                due = now + PROGRESS;
                let State { events, skipped, .. } = self.state;
                let rate = (events - before) / (now - begun).as_secs().max(1);
                writeln!(told, "{events} events, {skipped} skipped, {rate} a second, at {at}")?;
            }
        }
        Ok(())
    }

    /// The next events of a timeline.
    async fn page(&mut self, timeline: &Timeline) -> Result<Page, ImportError> {
        let table = DesignTable::new(self.source.clone(), timeline.design.clone(), self.options.keys());
        let limit = u32::try_from(BATCH_EVENTS).ok().and_then(NonZeroU32::new).expect("a few hundred");
        let State { since, until, .. } = self.state;
        // What was acknowledged a minute ago is there: at twice the price, which is little beside the writes'.
        let walk = Walk::oldest_first(before(since), before(until), limit);
        let walk = Walk { position: self.state.position(), consistent: true, ..walk };
        let (page, cost) = table.read(&walk).await?;
        self.read += cost;
        Ok(page)
    }

    /// Writes what the items of a page become.
    async fn write(
        &mut self,
        timeline: &Timeline,
        items: &[designs::Event],
        told: &mut impl Write,
    ) -> Result<(), ImportError> {
        let mut events = Vec::with_capacity(items.len());
        for item in items {
            match timeline.mapping.event(item, &timeline.design, self.state.shards) {
                Ok(event) => events.push((&item.key, event)),
                Err(invalid) => self.skip(invalid, told)?,
            }
        }
        for part in parts(events) {
            self.write_part(part, told).await?;
        }
        Ok(())
    }

    /// Writes events, in the time that they may take.
    async fn write_part(
        &mut self,
        mut part: Vec<(&WriteKey, Event)>,
        told: &mut impl Write,
    ) -> Result<(), ImportError> {
        let clock = self.target.ambient();
        let started = clock.monotonic();
        // Each round is one of fewer events.
        while !part.is_empty() {
            let events = part.iter().map(|(_, event)| event.clone()).collect();
            let op = self.target.op();
            match op.topic(&self.options.topic).import(self.state.shards, events).await {
                Ok(()) => {
                    let cost = op.cost();
                    self.state.events += part.len() as u64;
                    self.written += cost;
                    let micros = cost.write_units.halves * 500_000 / u64::from(self.options.rate.get());
                    let taken = clock.monotonic() - started;
                    tokio::time::sleep(Duration::from_micros(micros).saturating_sub(taken)).await;
                    return Ok(());
                }
                Err(WriteError::TooOld(places)) => {
                    for place in places.into_iter().rev() {
                        let (key, _) = part.remove(place);
                        self.skip(Invalid::new(key, Why::TooOld), told)?;
                    }
                }
                Err(WriteError::Table(error)) => return Err(error.into()),
                Err(error) => return Err(ImportError::Write(error)),
            }
        }
        Ok(())
    }

    /// Names what is no event, and goes on if it may.
    fn skip(&mut self, invalid: Invalid, told: &mut impl Write) -> Result<(), ImportError> {
        if !self.options.skip_invalid {
            return Err(ImportError::Invalid(Box::new(invalid)));
        }
        self.state.skipped += 1;
        Ok(writeln!(told, "skipped  {invalid}")?)
    }

    /// Prints the first events of the next page, as they would be.
    async fn show(&mut self, out: &mut impl Write, told: &mut impl Write) -> Result<(), ImportError> {
        let timeline = self.timelines[self.state.timelines].clone();
        let page = self.page(&timeline).await?;
        let mut shown = 0;
        for item in &page.events {
            match timeline.mapping.event(item, &timeline.design, self.state.shards) {
                Ok(event) if shown < SHOWN => {
                    shown += 1;
                    let json = serde_json::to_string(&event).map_err(std::io::Error::from)?;
                    writeln!(out, "{json}")?;
                }
                Ok(_) => {}
                Err(invalid) => {
                    self.state.skipped += 1;
                    writeln!(told, "invalid  {invalid}")?;
                }
            }
        }
        let State { since, until, skipped, .. } = self.state;
        let found = page.events.len();
        let more = if page.has_more { ", and there may be more" } else { "" };
        writeln!(
            told,
            "a page of {found} items from {since} on, before {until}{more}; {skipped} are no events"
        )?;
        writeln!(told, "nothing was written; {}", self.read.of_read())?;
        Ok(())
    }
}

/// Events in parts that are written at once.
fn parts(events: Vec<(&WriteKey, Event)>) -> Vec<Vec<(&WriteKey, Event)>> {
    let (mut parts, mut part, mut units) = (Vec::new(), Vec::new(), 0);
    for (key, event) in events {
        let bytes = ITEM_BYTES + event.data.as_ref().map_or(0, |data| data.as_str().len());
        let more = bytes.div_ceil(1024);
        if units + more > UNITS_AT_ONCE && !part.is_empty() {
            parts.push(std::mem::take(&mut part));
            units = 0;
        }
        units += more;
        part.push((key, event));
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}

/// The last time before which all events are imports, and stand still in the table that is imported.
fn latest(store: &Store) -> Timestamp {
    let now = store.now().saturating_sub((IMPORT_SECONDS + 1) * 1000);
    let millis = i64::try_from(now.get()).expect("a UnixMillis lies before the year 10000");
    Timestamp::from_millisecond(millis).expect("a UnixMillis lies before the year 10000")
}

fn before(at: Timestamp) -> Timestamp {
    at.checked_sub(SignedDuration::from_nanos(1)).unwrap_or(Timestamp::MIN)
}
