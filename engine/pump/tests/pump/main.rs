//! Tests that the pump invokes a function as Lambda would. Most tests pause tokio's time, which the engine's clock
//! follows.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod delivery;
mod failing;
mod faults;
mod model;
mod restart;
mod rig;
mod support;
