//! What can be said on the command line.

use std::path::PathBuf;

/// Lately: newest first, on DynamoDB. Starts the whole system in this process.
#[derive(Clone, Debug, clap::Parser)]
#[command(name = "lately", version)]
pub struct Options {
    /// Port of the API, on 127.0.0.1; 0 for any that is free
    #[arg(long, default_value_t = 3000, value_name = "PORT")]
    pub port: u16,

    /// Port of DynamoDB, on 127.0.0.1; 0 for any that is free
    #[arg(long, default_value_t = 8000, value_name = "PORT")]
    pub dynamodb_port: u16,

    /// Keep the table in this folder; without it, it lives as long as the process
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,

    /// Start without demo topics
    #[arg(long)]
    pub no_demo: bool,

    /// Log each request as a JSON line
    #[arg(long)]
    pub log: bool,
}
