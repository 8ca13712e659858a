//! `lately dlq`: lists and redrives the batches that fan-out gave up on.
//!
//! A redrive is always safe, and safe to repeat. If an event or a follow is gone by then, its record leaves nothing
//! behind, because fan-out checks both before its copies may stay. A batch that succeeds is removed. A batch with a page
//! of a job that has expired is kept, because the page's work remains undone.

use std::time::Duration;

use lately_fan_out::handle;

use crate::commands::commands;
use crate::counted::counted;
use crate::failure::{Failure, Result};
use crate::operate::dead_letters::{DeadLetters, DeadLettersLocation};
use crate::operate::table::TableArguments;
use crate::terminal::Terminal;

/// The time for one batch: more than a function has.
const TIME: Duration = Duration::from_secs(120);

commands! {
    /// The commands of `lately dlq`.
    pub DlqCommand in terminal: &mut Terminal<'_>,

    /// List the batches that fan-out gave up on, oldest first
    List(location: DeadLettersLocation)
        async {
            let failures = DeadLetters::open(&location).await?;
            for name in failures.names().await? {
                let failure = failures.read(&name).await?;
                let records = counted(failure.records, "record");
                terminal.print(format_args!("{name}  {records}  {}  {}", failure.condition, failure.at))?;
            }
            Ok(())
        };

    /// Retry batches, and remove those that succeed
    Redrive(
        location: DeadLettersLocation, table: TableArguments;
        /// Only these batches, by their names in the list
        #[arg(value_name = "NAME")]
        names: Vec<String>
    )
        redrive(location, table, names, terminal);
}

async fn redrive(
    location: DeadLettersLocation,
    table: TableArguments,
    names: Vec<String>,
    terminal: &mut Terminal<'_>,
) -> Result<()> {
    let failures = DeadLetters::open(&location).await?;
    let store = table.store().await?;
    let names = if names.is_empty() { failures.names().await? } else { names };
    let mut kept = 0;
    for name in names {
        let failure = failures.read(&name).await?;
        let answer = handle(&store, failure.payload.as_bytes(), TIME).await.map_err(Failure::of(&name))?;
        if answer.handled().is_complete() {
            failures.remove(&name).await?;
            terminal.log(format_args!("done {name}"))?;
        } else {
            kept += 1;
            let outcome = if answer.is_done() { "expired" } else { "failed again" };
            terminal.log(format_args!("{outcome} {name}"))?;
        }
    }
    let batches = match kept {
        0 => return Ok(()),
        1 => "1 batch".to_owned(),
        kept => format!("{kept} batches"),
    };
    Err(Failure::new(1, format!("failed again or expired, not removed: {batches}")))
}
