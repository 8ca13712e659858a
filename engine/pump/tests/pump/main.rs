//! The function is invoked as Lambda would invoke it. Time is tokio's, paused, for the engine's clock too.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod delivery;
mod failing;
mod faults;
mod model;
mod restart;
mod rig;
mod support;
