//! `lately feed verify` and `rebuild`: a user's feed is compared with the entries that it should hold, and repaired.

use std::io::Write;

use lately_keys::User;
use lately_store::{FeedFinding, FeedReport, TableError};

use crate::operate::table::{TableArguments, TableTargetError};

/// The commands that read or write a feed directly in the table.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum FeedRepairCommand {
    /// List a feed's missing entries, and its extra ones
    Verify {
        #[command(flatten)]
        table: TableArguments,

        /// The user whose feed it is
        user: User,
    },
    /// Add a feed's missing entries, and remove its extra ones
    Rebuild {
        #[command(flatten)]
        table: TableArguments,

        /// The user whose feed it is
        user: User,
    },
}

/// Why a command that verifies or rebuilds a feed failed.
#[derive(Debug, thiserror::Error)]
pub enum FeedError {
    /// The table could not be read or written.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The feed has missing or extra entries.
    #[error("{missing} missing, {extra} extra: `lately feed rebuild` repairs the feed")]
    Differs {
        /// The number of missing events and marks.
        missing: u64,
        /// The number of events and marks that do not belong to the feed.
        extra: u64,
    },
    /// The table cannot be used.
    #[error(transparent)]
    Target(#[from] TableTargetError),
    /// Nothing could be printed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Verifies or rebuilds a feed.
pub(crate) async fn run(
    command: FeedRepairCommand,
    out: &mut (dyn Write + Send),
    err: &mut (dyn Write + Send),
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
    let done = if mends { "repaired" } else { "found" };
    writeln!(err, "{entries} entries of {timelines} timelines: {missing} missing and {extra} extra {done}")?;
    writeln!(err, "{}, {}", cost.of_read(), cost.of_write())?;
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
