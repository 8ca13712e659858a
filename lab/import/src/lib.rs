//! `lately-import`: imports a table of a published design into a topic.
//!
//! It is a program of its own, because a table moves once: nothing that runs every day needs it.
//!
//! - **Options** (`options.rs`): the design, the source, the target, and the mapping of items.
//! - **State** (`state.rs`): the progress, in a file.
//! - **Mapping** (`mapping.rs`, `json.rs`, pure): turns an item into an event.
//!
//! The import reads the table oldest first (`lately_designs`), up to a time that is fixed when it starts;
//! items that are written later are for the next run. It writes the events of a page, then notes the progress in the
//! file. An event's id follows from its item's key and the number of shards, which the file holds before the first
//! event is written.
//!
//! However often an import is killed and run again, each item of the range becomes one event. An item that cannot
//! become an event is reported, and no event of its page is written, unless such items may be skipped.

#![deny(missing_docs)]

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
use lately_keys::{ShardCount, Topic};
use lately_model::Event;
use lately_model::limits::{BATCH_EVENTS, IMPORT_SECONDS};
use lately_store::{Cost, ImportError as RefusedImport, Store, TableError, TopicError, WriteError};
use lately_table::Connection;

use crate::mapping::Why;
use crate::options::Timeline;
use crate::state::{ImportRequest, State};

pub use mapping::Invalid;
pub use options::{ImportOptions, OptionsError};
pub use state::StateError;

/// The time between two lines of progress.
const PROGRESS: Duration = Duration::from_secs(5);

/// The number of events that a dry run prints.
const SHOWN: usize = 10;

/// The most write units that are written at once, unless a single event has more. A shard serves them in half a second.
const UNITS_AT_ONCE: usize = 500;

/// The most bytes that an event's item has beside its data.
const ITEM_BYTES: usize = 512;

/// Why an import ended early.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The options contradict one another.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// The import cannot start or continue.
    #[error(transparent)]
    State(#[from] StateError),
    /// The topic does not exist.
    #[error("the topic {0} does not exist: `lately topic create {0}` creates it")]
    TopicNotFound(Topic),
    /// The topic's buckets have fewer shards than the import.
    #[error("--shards is more than the topic's max_shards, which is {0}")]
    TooManyShards(ShardCount),
    /// An item cannot become an event.
    #[error("{0}\nCorrect the item and run the import again, or skip invalid items with --skip-invalid.")]
    Invalid(Box<Invalid>),
    /// The imported table could not be read.
    #[error(
        "{0}\nCheck the table's name and keys, and that these credentials may read it. Another run continues here."
    )]
    Read(#[from] ReadError),
    /// Lately's table could not be read or written.
    #[error(
        "{0}\nCheck the table's name, and that these credentials may use the table. Another run continues here."
    )]
    Table(#[from] TableError),
    /// Events that were accepted before are rejected now: the topic or the clock has changed.
    #[error("{0}")]
    Write(#[source] RefusedImport),
    /// Nothing could be printed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Imports from a table of a published design into Lately's.
///
/// # Errors
/// If the import ends early. Another run continues it.
pub async fn run(
    source: &Connection,
    target: &Store,
    options: ImportOptions,
    out: &mut (impl Write + Send),
    messages: &mut (impl Write + Send),
) -> Result<(), ImportError> {
    let mut import = Import::plan(source, target, options).await?;
    if import.options.dry_run {
        return import.show(out, messages).await;
    }
    import.state.write(&import.path)?;
    import.all(messages).await?;
    let State { events, skipped, until, .. } = &import.state;
    writeln!(out, "imported  {events}")?;
    writeln!(out, "skipped   {skipped}")?;
    writeln!(out, "up to     {until}")?;
    writeln!(messages, "{}; {}", import.read.of_read(), import.written.of_write())?;
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
            TopicError::NotFound(_) => ImportError::TopicNotFound(options.topic.clone()),
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

    /// Imports the rest, and prints the progress every few seconds.
    async fn all(&mut self, messages: &mut impl Write) -> Result<(), ImportError> {
        let clock = self.target.ambient();
        let (begun, before) = (clock.monotonic(), self.state.events);
        let mut due = begun + PROGRESS;
        while let Some(timeline) = self.timelines.get(self.state.timelines).cloned() {
            let page = self.page(&timeline).await?;
            let at = page.events.last().map(|event| event.at);
            self.write(&timeline, &page.events, messages).await?;
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
                writeln!(messages, "{events} events, {skipped} skipped, {rate} a second, at {at}")?;
            }
        }
        Ok(())
    }

    /// The next events of a timeline.
    async fn page(&mut self, timeline: &Timeline) -> Result<Page, ImportError> {
        let table = DesignTable::new(self.source.clone(), timeline.design.clone(), self.options.keys());
        let limit = u32::try_from(BATCH_EVENTS).ok().and_then(NonZeroU32::new).expect("a few hundred");
        let State { since, until, .. } = self.state;
        // A consistent read sees every write that was acknowledged a minute ago. It costs twice as much, which is
        // little compared with the writes.
        let walk = Walk::oldest_first(before(since), before(until), limit);
        let walk = Walk { position: self.state.position(), consistent: true, ..walk };
        let (page, cost) = table.read(&walk).await?;
        self.read += cost;
        Ok(page)
    }

    /// Writes the events of a page's items.
    async fn write(
        &mut self,
        timeline: &Timeline,
        items: &[designs::Event],
        messages: &mut impl Write,
    ) -> Result<(), ImportError> {
        let mut events = Vec::with_capacity(items.len());
        for item in items {
            match timeline.mapping.event(item, &timeline.design, self.state.shards) {
                Ok(event) => events.push((&item.key, event)),
                Err(invalid) => self.skip(invalid, messages)?,
            }
        }
        for part in parts(events) {
            self.write_part(part, messages).await?;
        }
        Ok(())
    }

    /// Writes events, at most at the import's rate.
    async fn write_part(
        &mut self,
        mut part: Vec<(&WriteKey, Event)>,
        messages: &mut impl Write,
    ) -> Result<(), ImportError> {
        let clock = self.target.ambient();
        let started = clock.monotonic();
        // Each round has fewer events than the one before.
        while !part.is_empty() {
            let events = part.iter().map(|(_, event)| event.clone()).collect();
            let op = self.target.op();
            match op.topic(&self.options.topic).import(self.state.shards, events).await {
                Ok(()) => {
                    let cost = op.cost();
                    self.state.events += part.len() as u64;
                    self.written += cost;
                    let micros = cost.write_units.halves * 500_000 / u64::from(self.options.rate.get());
                    let spent = clock.monotonic() - started;
                    tokio::time::sleep(Duration::from_micros(micros).saturating_sub(spent)).await;
                    return Ok(());
                }
                Err(RefusedImport::Write(WriteError::TooOld(indexes))) => {
                    for index in indexes.into_iter().rev() {
                        let (key, _) = part.remove(index);
                        self.skip(Invalid::new(key, Why::TooOld), messages)?;
                    }
                }
                Err(RefusedImport::Write(WriteError::Table(error))) => return Err(error.into()),
                Err(error) => return Err(ImportError::Write(error)),
            }
        }
        Ok(())
    }

    /// Reports an item that cannot become an event. An error, unless such items may be skipped.
    fn skip(&mut self, invalid: Invalid, messages: &mut impl Write) -> Result<(), ImportError> {
        if !self.options.skip_invalid {
            return Err(ImportError::Invalid(Box::new(invalid)));
        }
        self.state.skipped += 1;
        Ok(writeln!(messages, "skipped  {invalid}")?)
    }

    /// Prints the first events of the next page, as they would be written.
    async fn show(&mut self, out: &mut impl Write, messages: &mut impl Write) -> Result<(), ImportError> {
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
                    writeln!(messages, "invalid  {invalid}")?;
                }
            }
        }
        let State { since, until, skipped, .. } = self.state;
        let found = page.events.len();
        let more = if page.has_more { ", and there may be more items" } else { "" };
        writeln!(
            messages,
            "a page of {found} items from {since} until {until}{more}; {skipped} are invalid"
        )?;
        writeln!(messages, "nothing was written; {}", self.read.of_read())?;
        Ok(())
    }
}

/// Splits events into parts that are written at once.
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

/// The latest end of an import: every event before it is old enough for an import, and is no longer being written to
/// the imported table.
fn latest(store: &Store) -> Timestamp {
    let now = store.now().saturating_sub((IMPORT_SECONDS + 1) * 1000);
    let millis = i64::try_from(now.get()).expect("a UnixMillis lies before the year 10000");
    Timestamp::from_millisecond(millis).expect("a UnixMillis lies before the year 10000")
}

fn before(at: Timestamp) -> Timestamp {
    at.checked_sub(SignedDuration::from_nanos(1)).unwrap_or(Timestamp::MIN)
}
