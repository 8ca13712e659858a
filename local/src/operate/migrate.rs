//! `lately migrate`: upgrades issues of an older schema before anyone reads them.
//!
//! A read upgrades an old issue by itself, so responses are correct without this command. It saves readers the writes,
//! and adds issues that nobody has read to the index by priority. It reads every item of the table, at a given rate,
//! and may be stopped and run again at any time.

use std::num::NonZeroU32;
use std::time::Duration;

use clap::ArgGroup;
use lately_kit::clock;
use lately_store::{MigrationPlan, MigrationReport};

use crate::counted::counted;
use crate::failure::{Failure, Result};
use crate::operate::table::{READ_RATE, TableArguments};
use crate::terminal::Terminal;

/// The time between two lines of progress.
const PROGRESS: Duration = Duration::from_secs(5);

/// Items per second that are read and written.
const RUN_RATE: NonZeroU32 = NonZeroU32::new(100).expect("not zero");

/// Upgrade issues that are stored with an older schema
#[derive(Clone, Debug, clap::Args)]
// Exactly one of the two is required, so that nothing is written by mistake.
#[command(group(ArgGroup::new("mode").required(true)))]
pub struct MigrateOptions {
    #[command(flatten)]
    table: TableArguments,

    /// Count the issues to upgrade, and change nothing
    #[arg(long, group = "mode")]
    dry_run: bool,

    /// Upgrade the issues
    #[arg(long, group = "mode")]
    run: bool,

    /// The number of items to read per second; at most as many are written [default: 100; 1000 with --dry-run; 10000 in
    /// the local program's table]
    #[arg(long, value_name = "N")]
    rate: Option<NonZeroU32>,
}

/// Runs a migration.
pub(crate) async fn run(options: MigrateOptions, mut terminal: Terminal<'_>) -> Result<()> {
    let MigrateOptions { table, run, rate, .. } = options;
    let rate = table.rate(rate, if run { RUN_RATE } else { READ_RATE })?;
    let store = table.store().await?;
    let mut due = clock::monotonic_now() + PROGRESS;
    let mut said = Ok(());
    let progress = |report: &MigrationReport| {
        if said.is_ok() && clock::monotonic_now() >= due {
            due = clock::monotonic_now() + PROGRESS;
            let MigrationReport { items, to_upgrade, .. } = report;
            let (items, issues) = (counted(*items, "item"), counted(*to_upgrade, "issue"));
            said = terminal.log(format_args!("{items} read, {issues} to upgrade so far"));
        }
    };
    let report =
        store.op().issues().migrate(&MigrationPlan { run, items_per_second: rate }, progress).await?;
    said?;
    let MigrationReport { items, schemas, current, newer, to_upgrade, upgraded, overtaken, failed } = report;
    terminal.print(format_args!("items read       {items}"))?;
    for (schema, issues) in schemas {
        terminal.print(format_args!("of schema {schema}      {issues}"))?;
    }
    terminal.print(format_args!(
        "current          {current}\nto upgrade       {to_upgrade}\nupgraded         {upgraded}\n\
         overtaken        {overtaken}\nnewer than this  {newer}\nfailed           {failed}"
    ))?;
    match failed {
        0 => Ok(()),
        _ => Err(Failure::new(1, format!("{} could not be read or upgraded", counted(failed, "issue")))),
    }
}
