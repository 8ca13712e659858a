//! The published designs: what all of them give, where each breaks, what each costs, and what faults do to them.

mod behaviour;
mod differences;
mod faults;
mod model;
mod prices;
mod support;
