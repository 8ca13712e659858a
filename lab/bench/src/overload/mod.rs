//! Measures the effect of one caller, source or record on all others. It must not slow them down.
//!
//! The runs are in simulated time, on the embedded engine with its partitions' limits. Fan-out is invoked through the
//! stream mapping that `template.yaml` declares, with its lanes, batches, retries and failure destination
//! (`functions.rs`). Quiet sources write one event a second each (`writers.rs`), and the lag is the time until such an
//! event is in the feed of the source's follower (`lags.rs`).
//!
//! - `rush.rs`: one busy source gets three times the writes that a partition serves a second.
//! - `neighbour/`: hostile neighbours, one file for each.

mod functions;
mod lags;
pub mod neighbour;
mod rush;
mod writers;

pub use rush::{Overload, OverloadScale, TableKind, report, run};
