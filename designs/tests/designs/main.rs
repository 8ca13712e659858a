//! The published designs: their common behaviour, their weaknesses, their prices, and their behaviour under faults.

mod behaviour;
mod differences;
mod faults;
mod model;
mod prices;
mod support;
