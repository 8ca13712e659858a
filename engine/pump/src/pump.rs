//! The pump: a stream mapping that runs.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use lately_engine::stream::{SequenceNumber, Stream};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use crate::checkpoint::Checkpoints;
use crate::destination::Destination;
use crate::fault::PumpFaults;
use crate::handle::PumpHandle;
use crate::handler::Handler;
use crate::lane::Lane;
use crate::mapping::{Mapping, StartingPosition};
use crate::progress::Progress;
use crate::state::PumpState;

/// The options of a pump.
#[derive(Debug, Clone, Default)]
pub struct PumpOptions {
    /// The seed of the waits' jitter and of the faults.
    pub seed: u64,
    /// The faults at first.
    pub faults: PumpFaults,
    /// The positions to continue from. Without them, or with another stream's, the pump starts where its mapping says.
    pub checkpoints: Option<Checkpoints>,
    /// The file that checkpoints are written to while it runs, and when it stops.
    pub checkpoint_file: Option<PathBuf>,
}

/// A stream mapping, ready to run.
#[derive(Debug)]
pub struct Pump(Arc<PumpState>);

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
        Self(Arc::new(PumpState {
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

    /// A handle to watch and steer the pump, before it runs and while it does.
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
