//! Tests of the whole program: its routes seen from outside, the agreement of its declarations, and its process.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

// Tests begin in the order of their names. This one mostly waits, for a minute, so its name is the first.
mod actions;
mod check;
mod cli;
mod console;
mod contract;
mod document;
mod documentation;
mod drift;
mod events;
mod feeds;
mod gateway;
mod hostile;
mod live;
mod matrix;
mod methods;
mod operations;
mod operator;
mod plan;
mod program;
mod robustness;
mod support;
mod undeclared;
