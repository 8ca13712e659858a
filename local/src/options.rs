//! What can be said on the command line.

use std::path::PathBuf;

use crate::token::TokenOptions;

/// Lately: newest first, on DynamoDB. Without a command it starts the whole system in this process.
#[derive(Clone, Debug, clap::Parser)]
#[command(name = "lately", version, args_conflicts_with_subcommands = true)]
pub struct Lately {
    /// What to do instead.
    #[command(subcommand)]
    pub command: Option<Command>,

    /// How to start the system.
    #[command(flatten)]
    pub options: Options,
}

/// What to do other than to start the system.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Command {
    #[expect(missing_docs, reason = "what is said here would be the help's text")]
    Token(TokenOptions),
}

/// How the system is started.
#[derive(Clone, Debug, clap::Args)]
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
