//! The published designs: their common behaviour, their weaknesses, their prices, and their behaviour under faults.

#![expect(clippy::unwrap_used, reason = "tests unwrap results that must not fail")]

mod behaviour;
mod differences;
mod faults;
mod model;
mod prices;
mod support;
