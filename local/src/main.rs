//! `lately`: the whole system in one process, and its command line.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use lately::cli;
use lately::options::{Command, Lately};

/// For the engine's sake: see the opening of `bench/benches/engine.rs`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> ExitCode {
    let Lately { command, options } = Lately::parse();
    let (mut out, mut told) = (std::io::stdout(), std::io::stderr());
    let done = match command {
        None => lately::run(options, &mut out).await.map_err(|error| error.to_string()),
        Some(Command::Token(options)) => {
            lately::token::run(options, &mut out, &mut told).await.map_err(|error| error.to_string())
        }
        Some(Command::Api(command)) => {
            return cli::ended(cli::run(command, &mut out, &mut told).await, &mut told);
        }
        Some(Command::Consume(options)) => {
            return cli::ended(lately::consume::run(options, &mut out, &mut told).await, &mut told);
        }
        Some(Command::Scenario(options)) => {
            lately::scenario::run(options, &mut out).await.map_err(|error| error.to_string())
        }
        Some(Command::Report(options)) => {
            lately::report::run(options, &mut out, &mut told).await.map_err(|error| error.to_string())
        }
        Some(Command::Dlq(options)) => {
            lately::dlq::run(options, &mut out, &mut told).await.map_err(|error| error.to_string())
        }
        Some(Command::Migrate(options)) => {
            lately::migrate::run(options, &mut out, &mut told).await.map_err(|error| error.to_string())
        }
        Some(Command::Import(options)) => {
            lately::import::run(options, &mut out, &mut told).await.map_err(|error| error.to_string())
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Where nothing can be written any more, there is nobody to tell.
            drop(writeln!(told, "lately: {error}"));
            ExitCode::FAILURE
        }
    }
}
