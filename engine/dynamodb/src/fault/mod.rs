//! Faults as a value: drawn from a seed, or on the very call that a test names.
//!
//! [`Faults`] is data: rules that say which calls, when, and what. A client made with them injects
//! what they decide, and nothing else; the same rules and the same calls give the same faults. A fault
//! that cannot happen to a call (an unprocessed item of a `PutItem`) never matches it.
//!
//! A test's client has its faults for good and accounts for all that befell it ([`FaultyClient`]); that of a program
//! which goes on and on is given others while it runs, and keeps the latest ([`LiveClient`]).

mod account;
mod client;
mod layer;
mod network;
mod plan;
mod refusal;
mod rules;

pub use account::Injected;
pub use client::{FaultyClient, LiveClient};
pub(crate) use layer::Layer;
pub use network::{Network, Stall};
pub use rules::{Fault, Faults, Moment, Rule, Target, Throttle, When};
