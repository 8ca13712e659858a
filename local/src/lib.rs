//! The `lately` program: the whole system in one process, and the commands for a running system.
//!
//! - [`serve`]: the API, DynamoDB, the stream and the console. It uses the functions' routers, the table that
//!   `template.yaml` declares, and the SDK's own client; only the SDK's HTTP requests end in the embedded engine. So
//!   the local program and AWS run the same code.
//! - `operate`: an operator's commands. They access the table directly, with AWS credentials.
//! - [`client`]: the API's commands. They send HTTP requests with a token.
//! - [`plan`]: the bill of a workload, calculated without a network.

#![deny(missing_docs)]

pub mod client;
pub mod command_line;
mod commands;
mod completions;
mod counted;
mod failure;
mod new_token;
mod operate;
pub mod plan;
mod seconds;
pub mod serve;
mod terminal;
mod text;
mod text_table;
mod time_argument;
mod values;

pub use failure::{Failure, Result};
pub use serve::system::{System, TEMPLATE};
pub use terminal::Terminal;
