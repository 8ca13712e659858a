//! `lately dlq`: lists and redrives the batches that fan-out gave up on.
//!
//! A redrive is always safe, and safe to repeat. If an event or a follow is gone by then, its record leaves nothing
//! behind, because fan-out checks both before its copies may stay. A batch that succeeds is removed.

use std::io::Write;
use std::time::Duration;

use lately_fan_out::handle;
use lately_store::NoBatch;

use crate::counted::counted;
use crate::operate::dead_letters::{DeadLetters, DeadLettersError, DeadLettersLocation};
use crate::operate::table::{TableArguments, TableTargetError};

/// The time for one batch: more than a function has.
const TIME: Duration = Duration::from_secs(120);

/// List and redrive the batches that fan-out gave up on
#[derive(Clone, Debug, clap::Args)]
pub struct DlqOptions {
    #[command(subcommand)]
    command: DlqCommand,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum DlqCommand {
    /// List the batches that fan-out gave up on, oldest first
    List {
        #[command(flatten)]
        location: DeadLettersLocation,
    },
    /// Retry batches, and remove those that succeed
    Redrive {
        #[command(flatten)]
        location: DeadLettersLocation,

        #[command(flatten)]
        table: TableArguments,

        /// Only these batches, by their names in the list
        #[arg(value_name = "NAME")]
        names: Vec<String>,
    },
}

/// Why a `dlq` command failed.
#[derive(Debug, thiserror::Error)]
pub enum DlqError {
    /// The dead letters could not be read or removed.
    #[error(transparent)]
    DeadLetters(#[from] DeadLettersError),
    /// A dead letter holds no batch.
    #[error("{name}: {source}")]
    NoBatch {
        /// The dead letter's name.
        name: String,
        /// The cause.
        source: NoBatch,
    },
    /// Some batches failed again, and were not removed.
    #[error("failed again, not removed: {}", if *.0 == 1 { "1 batch".to_owned() } else { format!("{} batches", .0) })]
    Again(usize),
    /// The table cannot be used.
    #[error(transparent)]
    Target(#[from] TableTargetError),
    /// Nothing could be printed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Runs a `dlq` command.
pub async fn run(options: DlqOptions, out: &mut impl Write, err: &mut impl Write) -> Result<(), DlqError> {
    match options.command {
        DlqCommand::List { location } => {
            let failures = DeadLetters::open(&location).await?;
            for name in failures.names().await? {
                let failure = failures.read(&name).await?;
                let records = counted(failure.records, "record");
                writeln!(out, "{name}  {records}  {}  {}", failure.condition, failure.at)?;
            }
        }
        DlqCommand::Redrive { location, table, names } => {
            let failures = DeadLetters::open(&location).await?;
            let store = table.store().await?;
            let names = if names.is_empty() { failures.names().await? } else { names };
            let mut again = 0;
            for name in names {
                let failure = failures.read(&name).await?;
                let answer = handle(&store, failure.payload.as_bytes(), TIME).await;
                let answer = answer.map_err(|source| DlqError::NoBatch { name: name.clone(), source })?;
                if answer.is_done() {
                    failures.remove(&name).await?;
                    writeln!(err, "done {name}")?;
                } else {
                    again += 1;
                    writeln!(err, "failed again {name}")?;
                }
            }
            if again > 0 {
                return Err(DlqError::Again(again));
            }
        }
    }
    Ok(())
}
