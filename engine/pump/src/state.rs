//! The state that a pump, its lanes and its handles share, and the waits that a stop ends.

use std::convert::Infallible;
use std::future::{Future, pending};
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lately_engine::stream::{SequenceNumber, Stream};
use tokio::sync::{Notify, watch};
use tokio::time::sleep;

use crate::backoff;
use crate::destination::Destination;
use crate::fault::PumpFaults;
use crate::handler::Handler;
use crate::limits;
use crate::mapping::Mapping;
use crate::progress::Progress;
use crate::troubles::Troubles;

/// The state of a pump.
#[derive(Debug)]
pub(crate) struct PumpState {
    pub(crate) stream: Stream,
    pub(crate) mapping: Mapping,
    pub(crate) handler: Handler,
    pub(crate) destination: Option<Destination>,
    pub(crate) seed: u64,
    pub(crate) checkpoint_file: Option<PathBuf>,
    pub(crate) progress: Progress,
    pub(crate) faults: Mutex<PumpFaults>,
    /// Rings for each record and for changed faults. It wakes lanes in the order in which they wait. A watch would wake
    /// them in any order, and the same seed would not give the same deliveries.
    pub(crate) bell: Notify,
    pub(crate) stopped: watch::Sender<bool>,
    pub(crate) troubles: watch::Sender<Troubles>,
}

/// The pump was stopped. The lane leaves its batch unsettled.
#[derive(Debug)]
pub(crate) struct Stopped;

impl PumpState {
    pub(crate) fn faults(&self) -> MutexGuard<'_, PumpFaults> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Rings the bell for each record.
    pub(crate) async fn ring(&self, mut records: watch::Receiver<SequenceNumber>) -> Infallible {
        loop {
            records.changed().await.expect("the stream held by this state owns the sender");
            self.bell.notify_waiters();
        }
    }

    /// Waits for `work`, unless the pump is stopped first.
    pub(crate) async fn unless_stopped<T>(&self, work: impl Future<Output = T>) -> Result<T, Stopped> {
        let mut stopped = self.stopped.subscribe();
        tokio::select! {
            biased;
            _ = stopped.wait_for(|stopped| *stopped) => Err(Stopped),
            result = work => Ok(result),
        }
    }

    /// Waits while the pump is paused. A lane that never waits for anything else finds out here that the pump is
    /// stopped.
    pub(crate) async fn until_resumed(&self) -> Result<(), Stopped> {
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
    pub(crate) async fn hold_back(&self) -> Result<(), Stopped> {
        let delay = self.faults().delay;
        if !delay.is_zero() {
            self.unless_stopped(sleep(delay)).await?;
        }
        self.until_resumed().await
    }

    /// Notes a trouble, or its end. Readers of the troubles are woken only by a change.
    pub(crate) fn note(&self, change: impl FnOnce(&mut Troubles)) {
        self.troubles.send_if_modified(|troubles| {
            let before = troubles.clone();
            change(troubles);
            *troubles != before
        });
    }

    pub(crate) fn write_checkpoints(&self) -> io::Result<()> {
        match &self.checkpoint_file {
            Some(file) => self.progress.checkpoints(&self.stream).write(file),
            None => Ok(()),
        }
    }

    /// Writes checkpoints when they change. A write that fails is retried until it succeeds, ever more rarely: meanwhile
    /// the lanes go on, and a restart would repeat their work.
    pub(crate) async fn write_changed_checkpoints(&self) -> Infallible {
        if self.checkpoint_file.is_none() {
            return pending().await;
        }
        let mut changes = self.progress.changes();
        let mut failures = 0u32;
        loop {
            changes.borrow_and_update();
            if let Err(error) = self.write_checkpoints() {
                failures = failures.saturating_add(1);
                tracing::warn!(%error, failures, "the checkpoints cannot be written");
                self.note(|troubles| troubles.checkpoints = Some(error.to_string()));
                sleep(backoff::wait(failures, 1.0)).await;
                continue;
            }
            failures = 0;
            self.note(|troubles| troubles.checkpoints = None);
            sleep(limits::CHECKPOINT_INTERVAL).await;
            changes.changed().await.expect("the borrowed state holds the sender");
        }
    }
}
