//! `lately feed verify` and `rebuild`: a user's feed is compared with the entries that it should hold, and repaired.

use std::io::Write;

use lately_keys::User;
use lately_kit::settings::SettingsError;
use lately_store::{FeedFinding, FeedReport, TableError};

use crate::operate::table::TableArguments;

/// What is done to a feed at the table itself.
#[derive(Clone, Debug, clap::Subcommand)]
pub(crate) enum FeedRepairCommand {
    /// Say what is missing of a feed, and what does not belong to it
    Verify {
        #[command(flatten)]
        table: TableArguments,

        /// Whose feed it is
        user: User,
    },
    /// Put what is missing, and remove what does not belong
    Rebuild {
        #[command(flatten)]
        table: TableArguments,

        /// Whose feed it is
        user: User,
    },
}

/// Why a command about a feed failed.
#[derive(Debug, thiserror::Error)]
pub enum FeedError {
    /// The table could not be read or written.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The feed is not what it should be.
    #[error("{missing} missing, {extra} extra: `lately feed rebuild` mends it")]
    Differs {
        /// Events and marks that it lacks.
        missing: u64,
        /// Those that it should not hold.
        extra: u64,
    },
    /// The environment is not what it should be.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// Nothing could be printed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Runs a command about a feed.
pub(crate) async fn run(
    command: FeedRepairCommand,
    out: &mut (dyn Write + Send),
    told: &mut (dyn Write + Send),
) -> Result<(), FeedError> {
    let (table, user, mends) = match command {
        FeedRepairCommand::Verify { table, user } => (table, user, false),
        FeedRepairCommand::Rebuild { table, user } => (table, user, true),
    };
    let store = table.store().await?;
    let mut printed = Ok(());
    let progress = |_: &FeedReport, findings: &[FeedFinding]| {
        if printed.is_ok() {
            printed = findings.iter().try_for_each(|finding| print(out, finding));
        }
    };
    let op = store.op();
    let report = match mends {
        false => op.feed(&user).verify(progress).await?,
        true => op.feed(&user).rebuild(progress).await?,
    };
    let cost = op.cost();
    printed?;
    let FeedReport { timelines, entries, missing, extra } = report;
    let done = if mends { "mended" } else { "found" };
    writeln!(told, "{entries} entries of {timelines} timelines: {missing} missing and {extra} extra {done}")?;
    writeln!(told, "{}, {}", cost.of_read(), cost.of_write())?;
    if mends || missing + extra == 0 { Ok(()) } else { Err(FeedError::Differs { missing, extra }) }
}

fn print(out: &mut dyn Write, finding: &FeedFinding) -> std::io::Result<()> {
    match finding {
        FeedFinding::Missing(id) => writeln!(out, "missing  event {id}"),
        FeedFinding::MissingPull(source) => writeln!(out, "missing  mark to pull {source}"),
        FeedFinding::Extra(id) => writeln!(out, "extra    event {id}"),
        FeedFinding::ExtraPull(source) => writeln!(out, "extra    mark to pull {source}"),
    }
}
