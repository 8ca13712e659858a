//! `lately migrate`: issues of an older schema, upgraded before anyone reads them.
//!
//! A read upgrades what it meets, so this is never needed for a right answer: it spares readers the writes, and puts
//! into the index of priorities what nobody has read since there is one. It looks at every item of the table, at the
//! rate that it is given, and may be stopped and run again at any time.

use std::io::Write;
use std::num::NonZeroU32;
use std::time::Duration;

use lately_kit::clock;
use lately_kit::settings::SettingsError;
use lately_store::{MigrationPlan, MigrationReport, TableError};

use crate::operate::table::TableArguments;

/// The time between two lines of progress.
const PROGRESS: Duration = Duration::from_secs(5);

/// Upgrade issues of older schemas
#[derive(Clone, Debug, clap::Args)]
pub struct MigrateOptions {
    #[command(flatten)]
    table: TableArguments,

    #[command(flatten)]
    mode: Mode,

    /// How many items a second are looked at, and at most written
    #[arg(long, value_name = "N", default_value = "100")]
    rate: NonZeroU32,
}

/// One of them is said: nothing is written by an oversight.
#[derive(Clone, Copy, Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Mode {
    /// Count what is to be upgraded, and change nothing
    #[arg(long)]
    dry_run: bool,

    /// Upgrade it
    #[arg(long)]
    run: bool,
}

/// Why a migration failed.
#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    /// The table could not be read. Issues that were upgraded before stay upgraded.
    #[error("{0}\nIs the table's name right, and may these credentials use it?")]
    Table(#[from] TableError),
    /// Some issues could not be read or written.
    #[error("{0} could not be read or upgraded")]
    Failed(u64),
    /// The environment is not what it should be.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// Nothing could be printed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Runs a migration.
///
/// # Errors
/// See [`MigrateError`].
pub async fn run(
    options: MigrateOptions,
    out: &mut (impl Write + Send),
    told: &mut (impl Write + Send),
) -> Result<(), MigrateError> {
    let MigrateOptions { table, mode: Mode { run, .. }, rate } = options;
    let store = table.store().await?;
    let mut due = clock::monotonic_now() + PROGRESS;
    let mut said = Ok(());
    let progress = |report: &MigrationReport| {
        if said.is_ok() && clock::monotonic_now() >= due {
            due = clock::monotonic_now() + PROGRESS;
            let MigrationReport { items, to_upgrade, .. } = report;
            said = writeln!(told, "{items} items looked at, {to_upgrade} issues to upgrade so far");
        }
    };
    let report =
        store.op().issues().migrate(&MigrationPlan { run, items_per_second: rate }, progress).await?;
    said?;
    print(out, &report)?;
    if report.failed > 0 { Err(MigrateError::Failed(report.failed)) } else { Ok(()) }
}

fn print(out: &mut impl Write, report: &MigrationReport) -> std::io::Result<()> {
    let MigrationReport { items, schemas, current, newer, to_upgrade, upgraded, overtaken, failed } = report;
    writeln!(out, "items looked at  {items}")?;
    for (schema, issues) in schemas {
        writeln!(out, "of schema {schema}      {issues}")?;
    }
    writeln!(out, "current          {current}")?;
    writeln!(out, "to upgrade       {to_upgrade}")?;
    writeln!(out, "upgraded         {upgraded}")?;
    writeln!(out, "overtaken        {overtaken}")?;
    writeln!(out, "newer than this  {newer}")?;
    writeln!(out, "failed           {failed}")
}
