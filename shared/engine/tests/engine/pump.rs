//! The function is invoked as Lambda would invoke it. Time is tokio's, paused, for the engine's clock too.

mod delivery;
mod failing;
mod faults;
mod model;
mod restart;
mod rig;
