//! `lately migrate`: upgrades issues of an older schema before anyone reads them.
//!
//! A read upgrades an old issue by itself, so responses are correct without this command. It saves readers the writes,
//! and adds issues that nobody has read to the index by priority. It reads every item of the table, at a given rate,
//! and may be stopped and run again at any time.

use std::io::Write;
use std::num::NonZeroU32;
use std::time::Duration;

use lately_kit::clock;
use lately_store::{MigrationPlan, MigrationReport, TableError};

use crate::counted::counted;
use crate::operate::table::{TableArguments, TableTarget, TableTargetError};

/// The time between two lines of progress.
const PROGRESS: Duration = Duration::from_secs(5);

/// Items per second in the local program's table, which no other machine uses.
const LOCAL_RATE: NonZeroU32 = NonZeroU32::new(10_000).expect("not zero");

/// Items per second that are only read: some 130 read units, so a table on demand stays far from its limits.
const DRY_RUN_RATE: NonZeroU32 = NonZeroU32::new(1_000).expect("not zero");

/// Items per second that are read and written.
const RUN_RATE: NonZeroU32 = NonZeroU32::new(100).expect("not zero");

/// Upgrade issues that are stored with an older schema
#[derive(Clone, Debug, clap::Args)]
pub struct MigrateOptions {
    #[command(flatten)]
    table: TableArguments,

    #[command(flatten)]
    mode: Mode,

    /// The number of items to read per second; at most as many are written [default: 100; 1000 with --dry-run; 10000 in
    /// the local program's table]
    #[arg(long, value_name = "N")]
    rate: Option<NonZeroU32>,
}

/// Exactly one of the two is required, so that nothing is written by mistake.
#[derive(Clone, Copy, Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Mode {
    /// Count the issues to upgrade, and change nothing
    #[arg(long)]
    dry_run: bool,

    /// Upgrade the issues
    #[arg(long)]
    run: bool,
}

/// Why a migration failed.
#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    /// The table could not be read. Issues that were upgraded before stay upgraded.
    #[error("{0}\nCheck the table's name, and that these credentials may use the table.")]
    Table(#[from] TableError),
    /// Some issues could not be read or written.
    #[error("{} could not be read or upgraded", counted(*.0, "issue"))]
    Failed(u64),
    /// The table cannot be used.
    #[error(transparent)]
    Target(#[from] TableTargetError),
    /// Nothing could be printed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Runs a migration.
pub async fn run(
    options: MigrateOptions,
    out: &mut (impl Write + Send),
    err: &mut (impl Write + Send),
) -> Result<(), MigrateError> {
    let MigrateOptions { table, mode: Mode { run, .. }, rate } = options;
    let rate = match (rate, table.target()?, run) {
        (Some(rate), ..) => rate,
        (None, TableTarget::Local(_), _) => LOCAL_RATE,
        (None, TableTarget::Stack(_), true) => RUN_RATE,
        (None, TableTarget::Stack(_), false) => DRY_RUN_RATE,
    };
    let store = table.store().await?;
    let mut due = clock::monotonic_now() + PROGRESS;
    let mut said = Ok(());
    let progress = |report: &MigrationReport| {
        if said.is_ok() && clock::monotonic_now() >= due {
            due = clock::monotonic_now() + PROGRESS;
            let MigrationReport { items, to_upgrade, .. } = report;
            let (items, issues) = (counted(*items, "item"), counted(*to_upgrade, "issue"));
            said = writeln!(err, "{items} read, {issues} to upgrade so far");
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
    writeln!(out, "items read       {items}")?;
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
