//! The pump: runs a stream mapping.

use std::any::Any;
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
    /// The faults until [`PumpHandle::set_faults`] replaces them.
    pub faults: PumpFaults,
    /// The positions to continue from. Without them, or with those of another stream, the pump starts at the mapping's
    /// starting position.
    pub checkpoints: Option<Checkpoints>,
    /// The file to which the pump writes its checkpoints while it runs, and when it stops.
    pub checkpoint_file: Option<PathBuf>,
}

/// A stream mapping, ready to run.
#[derive(Debug)]
pub struct Pump(Arc<PumpState>);

impl Pump {
    /// A pump that invokes `handler` with the stream's records. Records that are given up go to `destination`. Without
    /// one they are dropped and counted. This call decides the starting position, so records that are written after it
    /// are delivered even if the pump runs later.
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
                // A read of no records returns the position after the records that retention has dropped.
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
            troubles: watch::Sender::default(),
        }))
    }

    /// A handle to watch and control the pump, before it runs and while it runs.
    pub fn handle(&self) -> PumpHandle {
        PumpHandle(Arc::clone(&self.0))
    }

    /// Runs until the pump is stopped, then waits for the invocations under way. If the returned future is dropped
    /// instead, these invocations end at once, and a pump that continues from the checkpoints delivers their records
    /// again.
    ///
    /// # Errors
    /// If the checkpoints cannot be written to their file after the last delivery. While the pump runs, a write that
    /// fails is retried, and [`PumpHandle::troubles`] reports it.
    ///
    /// # Panics
    /// If a lane panics: a bug.
    pub async fn run(self) -> io::Result<()> {
        let shared = self.0;
        let mut lanes = JoinSet::new();
        // The receiver exists before the first read, so the lanes miss no record.
        let records = shared.stream.changes();
        for (shard, lane, position) in shared.progress.lanes() {
            lanes.spawn(Lane::new(Arc::clone(&shared), shard, lane, position).run());
        }
        tokio::select! {
            biased;
            panic = ended(&mut lanes) => match panic {
                None => shared.write_checkpoints(),
                Some(panic) => {
                    shared.note(|troubles| troubles.ended = Some(message(&*panic)));
                    std::panic::resume_unwind(panic)
                }
            },
            never = shared.ring(records) => match never {},
            never = shared.write_changed_checkpoints() => match never {},
        }
    }
}

/// Returns when every lane has ended, or with the panic of a lane.
async fn ended(lanes: &mut JoinSet<()>) -> Option<Box<dyn Any + Send>> {
    while let Some(lane) = lanes.join_next().await {
        if let Err(error) = lane
            && let Ok(panic) = error.try_into_panic()
        {
            return Some(panic);
        }
    }
    None
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message").to_owned()
}
