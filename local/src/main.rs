//! The binary `lately`: parses the command line and runs one command, or the whole system.

use std::io::Write;
use std::process::ExitCode;

use clap::CommandFactory;
use lately::client::{self, Failure};
use lately::command_line::{Command, Lately};
use lately::operate::token::TokenError;
use lately::{completions, operate, plan, serve};

/// The engine is faster with mimalloc: `lab/bench/benches/engine.rs` says why.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> ExitCode {
    let (Lately { command, options }, name) = Lately::of_process();
    let (mut stdout, mut stderr) = (std::io::stdout(), std::io::stderr());
    let done = match command {
        None => serve::run(options, &mut stdout, &mut stderr).await.map_err(|error| error.to_string()),
        Some(Command::Token(options)) => {
            match Box::pin(operate::token::run(options, &mut stdout, &mut stderr)).await {
                Err(TokenError::Api(failure)) => return client::ended(Err(failure), &name, &mut stderr),
                done => done.map_err(|error| error.to_string()),
            }
        }
        Some(Command::Api(command)) => {
            return client::ended(client::run(command, &mut stdout, &mut stderr).await, &name, &mut stderr);
        }
        Some(Command::Completions(options)) => {
            let printed = completions::run(options, Lately::command(), &mut stdout).map_err(Failure::from);
            return client::ended(printed, &name, &mut stderr);
        }
        Some(Command::Plan(options)) => {
            return client::ended(plan::run(options, &mut stdout), &name, &mut stderr);
        }
        Some(Command::Consume(options)) => {
            let done = client::consume::run(options, &mut stdout, &mut stderr).await;
            return client::ended(done, &name, &mut stderr);
        }
        Some(Command::Report(options)) => {
            match operate::report::run(options, &mut stdout, &mut stderr).await {
                Err(operate::report::ReportError::Io(error)) => {
                    return client::ended(Err(error.into()), &name, &mut stderr);
                }
                done => done.map_err(|error| error.to_string()),
            }
        }
        Some(Command::Dlq(options)) => match operate::dlq::run(options, &mut stdout, &mut stderr).await {
            Err(operate::dlq::DlqError::Io(error)) => {
                return client::ended(Err(error.into()), &name, &mut stderr);
            }
            done => done.map_err(|error| error.to_string()),
        },
        Some(Command::Work(options)) => match operate::work::run(options, &mut stdout, &mut stderr).await {
            Err(operate::work::WorkError::Io(error)) => {
                return client::ended(Err(error.into()), &name, &mut stderr);
            }
            done => done.map_err(|error| error.to_string()),
        },
        Some(Command::Migrate(options)) => {
            match operate::migrate::run(options, &mut stdout, &mut stderr).await {
                Err(operate::migrate::MigrateError::Io(error)) => {
                    return client::ended(Err(error.into()), &name, &mut stderr);
                }
                done => done.map_err(|error| error.to_string()),
            }
        }
    };
    ended(done, &name, &mut stderr)
}

/// The exit code of a command, after its error was printed.
fn ended(done: Result<(), String>, name: &str, stderr: &mut impl Write) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If standard error is closed, nobody reads the message.
            drop(writeln!(stderr, "{name}: {error}"));
            ExitCode::FAILURE
        }
    }
}
