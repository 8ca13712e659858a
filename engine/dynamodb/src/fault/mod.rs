//! Faults that are injected into a client's calls: drawn from a seed, or on the call that a test names.
//!
//! [`Faults`] is data: each rule names the calls, the occasions and the fault. A client injects only the faults that
//! its rules decide, and the same rules and the same calls give the same faults. A rule never matches a call to which
//! its fault cannot happen (an unprocessed item of a `PutItem`).
//!
//! A test's client (`Engine::client_with`) records every call and fault. A program runs for days, so its client
//! (`Engine::live_client`) records only the latest faults. The faults of both can be replaced while they run.

mod client;
mod layer;
mod network;
mod plan;
mod refusal;
mod rules;

pub use client::{FaultyClient, Injected};
pub(crate) use layer::Layer;
pub use network::{Network, Stall};
pub use rules::{Fault, Faults, Moment, Rule, Target, Throttle, When};
