//! The handle of a pump: it reads the pump's progress, sets its faults, and stops it.

use std::sync::Arc;

use lately_engine::stream::SequenceNumber;
use tokio::sync::watch;

use crate::checkpoint::Checkpoints;
use crate::fault::PumpFaults;
use crate::progress::ShardStatistics;
use crate::state::PumpState;
use crate::troubles::Troubles;

/// Watches and controls a pump. Clones belong to the same pump.
#[derive(Debug, Clone)]
pub struct PumpHandle(pub(crate) Arc<PumpState>);

impl PumpHandle {
    /// The counts so far, by shard.
    pub fn statistics(&self) -> Vec<ShardStatistics> {
        self.0.progress.statistics(&self.0.stream)
    }

    /// True if every record in the stream is settled: done, filtered or given up.
    pub fn idle(&self) -> bool {
        self.0.progress.is_idle(&self.0.stream)
    }

    /// Returns when every record in the stream is settled. Never returns if there are unsettled records and the pump
    /// does not run.
    pub async fn settled(&self) {
        let mut changes = self.0.progress.changes();
        while !self.idle() {
            changes.changed().await.expect("the borrowed state holds the sender");
        }
    }

    /// The position of each shard up to which all of its records are settled.
    pub fn settled_shards(&self) -> Vec<SequenceNumber> {
        let Checkpoints { lanes, .. } = self.checkpoints();
        lanes.iter().map(|lanes| lanes.iter().min().copied().unwrap_or_default()).collect()
    }

    /// The positions up to which the lanes are settled.
    pub fn checkpoints(&self) -> Checkpoints {
        self.0.progress.checkpoints(&self.0.stream)
    }

    /// The reasons why the pump does not do all of its work now. The receiver is woken when they change.
    pub fn troubles(&self) -> watch::Receiver<Troubles> {
        self.0.troubles.subscribe()
    }

    /// The current faults.
    pub fn faults(&self) -> PumpFaults {
        self.0.faults().clone()
    }

    /// Replaces the faults from now on.
    pub fn set_faults(&self, faults: PumpFaults) {
        *self.0.faults() = faults;
        self.0.bell.notify_waiters();
    }

    /// Stops the pump for good. [`Pump::run`](crate::Pump::run) returns when the invocations under way have ended.
    pub fn stop(&self) {
        self.0.stopped.send_replace(true);
    }
}
