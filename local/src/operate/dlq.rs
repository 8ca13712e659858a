//! `lately dlq`: what fan-out gave up on, listed and tried again.
//!
//! A record that is tried again long after its event or its follow is gone leaves nothing behind: fan-out looks before
//! its copies may stay. So to redrive is always safe, and safe to repeat; what succeeds is removed.

use std::io::Write;
use std::time::Duration;

use lately_fan_out::handle;
use lately_kit::settings::SettingsError;
use lately_store::NoBatch;

use crate::operate::dead_letters::{DeadLetters, DeadLettersError, DeadLettersPlace};
use crate::operate::table::TableArguments;

/// The time for one batch: longer than a function has.
const TIME: Duration = Duration::from_secs(120);

/// List and redrive what fan-out gave up on
#[derive(Clone, Debug, clap::Args)]
pub struct DlqOptions {
    #[command(subcommand)]
    command: DlqCommand,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum DlqCommand {
    /// List the batches that were given up, oldest first
    List {
        #[command(flatten)]
        place: DeadLettersPlace,
    },
    /// Try them again, and remove what succeeds
    Redrive {
        #[command(flatten)]
        place: DeadLettersPlace,

        #[command(flatten)]
        table: TableArguments,

        /// Only these, by their names in the list
        #[arg(value_name = "NAME")]
        names: Vec<String>,
    },
}

/// Why a command about failures failed.
#[derive(Debug, thiserror::Error)]
pub enum DlqError {
    /// The failures could not be read or removed.
    #[error(transparent)]
    DeadLetters(#[from] DeadLettersError),
    /// One of them holds no batch.
    #[error("{name}: {source}")]
    NoBatch {
        /// The failure's name.
        name: String,
        /// Why.
        source: NoBatch,
    },
    /// Some failed again, and are kept.
    #[error("{0} failed again and are kept")]
    Again(usize),
    /// The environment is not what it should be.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// Nothing could be printed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Runs a command about failures.
///
/// # Errors
/// See [`DlqError`].
pub async fn run(options: DlqOptions, out: &mut impl Write, told: &mut impl Write) -> Result<(), DlqError> {
    match options.command {
        DlqCommand::List { place } => {
            let failures = DeadLetters::open(&place).await?;
            for name in failures.names().await? {
                let failure = failures.read(&name).await?;
                writeln!(out, "{name}  {} records  {}  {}", failure.records, failure.condition, failure.at)?;
            }
        }
        DlqCommand::Redrive { place, table, names } => {
            let failures = DeadLetters::open(&place).await?;
            let store = table.store().await?;
            let names = if names.is_empty() { failures.names().await? } else { names };
            let mut again = 0;
            for name in names {
                let failure = failures.read(&name).await?;
                let answer = handle(&store, failure.payload.as_bytes(), TIME).await;
                let answer = answer.map_err(|source| DlqError::NoBatch { name: name.clone(), source })?;
                if answer.is_done() {
                    failures.remove(&name).await?;
                    writeln!(told, "done {name}")?;
                } else {
                    again += 1;
                    writeln!(told, "failed again {name}")?;
                }
            }
            if again > 0 {
                return Err(DlqError::Again(again));
            }
        }
    }
    Ok(())
}
