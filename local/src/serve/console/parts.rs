//! The parts of a running program that the console's handlers share.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lately_items::ConsumerKey;
use lately_pump::{Destination, PumpHandle};
use lately_store::Store;
use lately_table::Connection;

use crate::serve::console::injection::ChosenFaults;
use crate::serve::health::Health;
use crate::serve::issuer::LocalIssuer;
use crate::serve::system::System;

/// The parts of a running program.
#[derive(Debug)]
pub struct ConsoleParts {
    /// The engine, the store and the functions.
    pub system: System,
    /// The program's own issuer of JWTs.
    pub issuer: LocalIssuer,
    /// The running fan-out.
    pub pump: PumpHandle,
    /// The batches that fan-out gave up on.
    pub failures: Destination,
    /// The folder that reports go to.
    pub reports: PathBuf,
    /// The consumer that the schedule reports for, and the time between two reports, if there is a schedule.
    pub report: Option<(ConsumerKey, Duration)>,
    /// The parts that `/health` checks.
    pub health: Health,
}

/// The state that the handlers share.
#[derive(Clone, Debug)]
pub(crate) struct ConsoleState {
    pub(crate) parts: Arc<ConsoleParts>,
    pub(super) chosen_faults: Arc<Mutex<ChosenFaults>>,
    /// The table without injected faults, and a store of it.
    pub(super) table: Connection,
    pub(super) looking: Store,
}
