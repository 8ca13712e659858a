//! The whole system in one process: the API, DynamoDB, and what lies between them on AWS.
//!
//! The routers are those of the functions, the table is the one that `template.yaml` declares, and the client is the
//! SDK's own; only what the SDK would send over the network ends in the embedded engine. Nothing is written
//! twice for here and for AWS.

#![deny(missing_docs)]

pub mod cli;
mod command;
pub mod console;
pub mod consume;
mod demo;
pub mod dlq;
pub mod failures;
pub mod feed;
mod guard;
pub mod import;
pub mod migrate;
pub mod options;
mod remote;
pub mod report;
mod reporter;
pub mod scenario;
mod seconds;
mod serve;
mod system;
pub mod token;
pub mod tokens;
mod welcome;

pub use serve::{ServeError, run};
pub use system::{OpenError, System, TEMPLATE};
