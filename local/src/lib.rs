//! The whole system in one process, and the commands for a system that runs.
//!
//! - [`serve`]: the API, DynamoDB, the stream and the console. The routers are those of the functions, the table is the one
//!   that `template.yaml` declares, and the client is the SDK's own; only the SDK's HTTP requests end in the embedded
//!   engine. Nothing is written twice for the local program and for AWS.
//! - [`operate`]: an operator's commands. They work on the table itself, with AWS credentials.
//! - [`client`]: the API's commands. They send HTTP requests with a token.

#![deny(missing_docs)]

pub mod client;
pub mod command_line;
pub mod completions;
pub mod operate;
mod seconds;
pub mod serve;

pub use serve::system::{System, TEMPLATE};
