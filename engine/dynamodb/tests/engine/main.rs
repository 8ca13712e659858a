//! Tests of the engine through the SDK's client, the way the rest of the project uses it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod capacity;
mod capture;
mod expiry;
mod faults;
mod lag;
mod model;
mod on_demand;
mod partitions;
mod persistence;
mod serve;
mod support;
