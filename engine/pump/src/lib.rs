//! Lambda's event-source mapping for a table's stream, inside the process.
//!
//! A [`Pump`] reads every shard of a stream and invokes a function, the [`Handler`], as its [`Mapping`] says.
//! Each shard has as many lanes as the mapping's `ParallelizationFactor`; a partition key's records are always
//! in the same lane, in order, and a lane has one invocation at work at most. Lanes and shards run side by
//! side. `batch.rs` says what follows when a batch fails, `response.rs` what counts as failing.
//!
//! What must hold:
//!
//! - **At least once.** A lane's checkpoint moves only past records that the function did, that the filter
//!   kept from it, or that were given up: those are in the [`Destination`] by then, if there is one.
//! - **In order.** No record of an item is delivered before every earlier one is settled.
//! - **From a seed.** Waiting is tokio's time, ages are the engine's, and every draw is a function of the seed:
//!   on a paused, single-threaded runtime the same seed, stream and function give the same deliveries.
//!
//! What goes wrong ([`PumpFaults`]) is set while it runs, through the [`PumpHandle`].
//!
//! # Where it differs from Lambda
//!
//! - A [`Filter`] has equality, `prefix` and `exists` only: `template.yaml` uses no more.
//! - Records are delivered as soon as they are captured; Lambda polls a shard four times a second.
//! - A function runs for as long as it likes, and is never throttled: its own timeout is its own affair.
//! - Records that retention trims before they are done are counted and told of. Not so those that expired while
//!   no process ran on the directory: nothing is left that knows of them.
//! - A batch that was too old before its first invocation is kept with a `responseContext` of null.
//!
//! ```
//! # use lately_engine::{Attribute, Engine, KeyNames, Options, StreamView, TableDefinition};
//! use std::sync::{Arc, Mutex};
//!
//! use aws_sdk_dynamodb::types::AttributeValue;
//! use lately_pump::{Handler, Mapping, Pump, PumpOptions};
//!
//! # let engine = Engine::memory(&Options::default())?;
//! # let table = TableDefinition {
//! #     attributes: vec![Attribute { name: "pk".into(), kind: "S".into() }],
//! #     key: KeyNames { partition: "pk".into(), sort: None },
//! #     indexes: Vec::new(),
//! #     ttl_attribute: None,
//! #     stream: Some(StreamView::NewImage),
//! # };
//! # engine.create_table(&table, "lately")?;
//! # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
//! let events = Arc::new(Mutex::new(Vec::new()));
//! let seen = Arc::clone(&events);
//! let handler = Handler::new(move |event| {
//!     seen.lock().expect("nobody panics").push(event);
//!     async { Ok(String::new()) }
//! });
//! let stream = engine.stream("lately").expect("the table has one");
//! let pump = Pump::new(&stream, Mapping::new("Function", "Stream"), handler, None, PumpOptions::default());
//! let handle = pump.handle();
//! let running = tokio::spawn(pump.run());
//!
//! let put = engine.client().put_item().table_name("lately");
//! put.item("pk", AttributeValue::S("a".into())).send().await?;
//! handle.settled().await;
//! assert_eq!(events.lock().expect("nobody panics").len(), 1);
//!
//! handle.stop();
//! running.await??;
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

mod backoff;
mod batch;
mod checkpoint;
mod destination;
mod failure;
mod fault;
mod filter;
mod handle;
mod handler;
mod identity;
mod lane;
pub mod limits;
mod mapping;
mod progress;
mod response;

use std::convert::Infallible;
use std::future::{Future, pending};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::lane::Lane;
use crate::progress::Progress;
use lately_engine::stream::{SequenceNumber, Stream};

pub use checkpoint::Checkpoints;
pub use destination::Destination;
pub use failure::{BatchInfo, Condition, Failure, RequestContext, ResponseContext};
pub use fault::PumpFaults;
pub use filter::{Filter, FilterError};
pub use handle::PumpHandle;
pub use handler::{Handler, HandlerError};
pub use mapping::{Mapping, StartingPosition};
pub use progress::ShardStatistics;

/// How a pump starts.
#[derive(Debug, Clone, Default)]
pub struct PumpOptions {
    /// Decides the waits' jitter and what goes wrong when.
    pub seed: u64,
    /// What goes wrong at first.
    pub faults: PumpFaults,
    /// Where it goes on from. Without, or with those of another stream, it starts where its mapping says.
    pub checkpoints: Option<Checkpoints>,
    /// The file that checkpoints are written to while it runs, and when it stops.
    pub checkpoint_file: Option<PathBuf>,
}

/// A stream mapping, ready to run.
#[derive(Debug)]
pub struct Pump(Arc<Shared>);

/// What a pump's lanes and handles share.
#[derive(Debug)]
struct Shared {
    stream: Stream,
    mapping: Mapping,
    handler: Handler,
    destination: Option<Destination>,
    seed: u64,
    checkpoint_file: Option<PathBuf>,
    progress: Progress,
    faults: Mutex<PumpFaults>,
    /// Rings when there is a record, or other faults. It wakes lanes in the order in which they wait; a watch
    /// would in any order, and the same seed would not give the same deliveries.
    bell: Notify,
    stopped: watch::Sender<bool>,
}

/// The pump was stopped: what is at hand is left as it is.
#[derive(Debug)]
struct Stopped;

impl Pump {
    /// A pump that invokes `handler` with the stream's records. What is given up goes to `destination`; without
    /// one it is dropped, and counted. Where it starts is decided here: records that are written from now on
    /// are delivered, whenever it is run.
    #[must_use]
    pub fn new(
        stream: &Stream,
        mapping: Mapping,
        handler: Handler,
        destination: Option<Destination>,
        options: PumpOptions,
    ) -> Self {
        let (shards, lanes) = (stream.shards(), mapping.lanes.max(1));
        let mapping = Mapping { lanes, batch_size: mapping.batch_size.max(1), ..mapping };
        let resumed = options.checkpoints.and_then(|c| c.resume(stream.arn(), shards, lanes));
        let positions = resumed.unwrap_or_else(|| {
            let start = |shard| match mapping.starting_position {
                // A read of no records: its next position is past what retention has dropped.
                StartingPosition::TrimHorizon => stream.read(shard, SequenceNumber::START, 0, 0).next,
                StartingPosition::Latest => stream.latest(shard),
            };
            (0..shards).map(|shard| vec![start(shard); usize::from(lanes)]).collect()
        });
        Self(Arc::new(Shared {
            stream: stream.clone(),
            mapping,
            handler,
            destination,
            seed: options.seed,
            checkpoint_file: options.checkpoint_file,
            progress: Progress::new(positions),
            faults: Mutex::new(options.faults),
            bell: Notify::new(),
            stopped: watch::Sender::new(false),
        }))
    }

    /// What the pump is watched and steered with, before it runs and while it does.
    #[must_use]
    pub fn handle(&self) -> PumpHandle {
        PumpHandle::new(Arc::clone(&self.0))
    }

    /// Runs until it is stopped. Invocations at work are then waited for. If this is dropped instead, they end
    /// where they are, and their records are delivered again by a pump that goes on from the checkpoints.
    ///
    /// # Errors
    /// If checkpoints cannot be written to their file: going on would repeat ever more after a restart.
    pub async fn run(self) -> io::Result<()> {
        let shared = self.0;
        let mut lanes = JoinSet::new();
        // From before the first read on: the lanes miss no record.
        let records = shared.stream.changes();
        for (shard, lane, position) in shared.progress.lanes() {
            lanes.spawn(Lane::new(Arc::clone(&shared), shard, lane, position).run());
        }
        tokio::select! {
            biased;
            () = ended(&mut lanes) => shared.write_checkpoints(),
            never = shared.ring(records) => match never {},
            error = shared.keep_checkpoints() => {
                shared.stopped.send_replace(true);
                ended(&mut lanes).await;
                Err(error)
            }
        }
    }
}

/// Returns once every lane has ended. One that panics takes the others with it.
async fn ended(lanes: &mut JoinSet<()>) {
    while let Some(lane) = lanes.join_next().await {
        if let Err(error) = lane
            && let Ok(panic) = error.try_into_panic()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

impl Shared {
    fn faults(&self) -> PumpFaults {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_faults(&self, faults: PumpFaults) {
        *self.faults.lock().unwrap_or_else(PoisonError::into_inner) = faults;
        self.bell.notify_waiters();
    }

    /// Rings the bell for each record.
    async fn ring(&self, mut records: watch::Receiver<SequenceNumber>) -> Infallible {
        loop {
            records.changed().await.expect("the stream, which this holds, keeps the sender");
            self.bell.notify_waiters();
        }
    }

    /// Waits for something, unless the pump is stopped first.
    async fn unless_stopped<T>(&self, work: impl Future<Output = T>) -> Result<T, Stopped> {
        let mut stopped = self.stopped.subscribe();
        tokio::select! {
            biased;
            _ = stopped.wait_for(|stopped| *stopped) => Err(Stopped),
            result = work => Ok(result),
        }
    }

    /// Waits while the pump is paused. A lane that never waits for anything else learns here that it is to stop.
    async fn until_resumed(&self) -> Result<(), Stopped> {
        loop {
            let rung = self.bell.notified();
            if *self.stopped.borrow() {
                return Err(Stopped);
            }
            if !self.faults().paused {
                return Ok(());
            }
            self.unless_stopped(rung).await?;
        }
    }

    /// Waits for as long as deliveries are held back.
    async fn hold_back(&self) -> Result<(), Stopped> {
        let delay = self.faults().delay;
        if !delay.is_zero() {
            self.unless_stopped(sleep(delay)).await?;
        }
        self.until_resumed().await
    }

    fn write_checkpoints(&self) -> io::Result<()> {
        match &self.checkpoint_file {
            Some(file) => self.progress.checkpoints(&self.stream).write(file),
            None => Ok(()),
        }
    }

    /// Writes checkpoints as they change, until that fails.
    async fn keep_checkpoints(&self) -> io::Error {
        if self.checkpoint_file.is_none() {
            return pending().await;
        }
        let mut changes = self.progress.changes();
        loop {
            changes.borrow_and_update();
            if let Err(error) = self.write_checkpoints() {
                return error;
            }
            sleep(limits::CHECKPOINT_INTERVAL).await;
            changes.changed().await.expect("the sender is part of what this borrows");
        }
    }
}
