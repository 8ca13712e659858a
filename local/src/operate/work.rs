//! `lately work`: the steps of background work that wait in the table, and their repair.

use std::num::NonZeroU32;

use lately_keys::UnixMillis;
use lately_store::{FindError, WaitingStep};

use crate::commands::commands;
use crate::failure::{Failure, Result};
use crate::operate::table::{READ_RATE, TableArguments};
use crate::terminal::Terminal;

commands! {
    /// The commands of `lately work`.
    pub WorkCommand in terminal: &mut Terminal<'_>,

    /// List the steps of deletions, retention changes, erasures, jobs and backlogs that wait
    ///
    /// Reads every item of the table. Prints the kind and the name of the work, the number of the step, when the work
    /// began, and what the step waits for: since when for entries that fan-out must remove first, and until when the work
    /// is given up. A step whose item is corrupt is named in a line of its own, and the command fails after the others.
    List(
        table: TableArguments;
        /// The number of items to read per second [default: 1000; 10000 in the local program's table]
        #[arg(long, value_name = "N")]
        rate: Option<NonZeroU32>
    )
        async {
            let rate = table.rate(rate, READ_RATE)?;
            let op = table.store().await?.op();
            let (mut printed, mut corrupt) = (Ok(()), 0);
            let show = |step: Result<_, _>| {
                corrupt += u64::from(step.is_err());
                if printed.is_ok() {
                    printed = match step {
                        Ok(step) => print(terminal, &step),
                        Err(error) => terminal.log(error),
                    };
                }
            };
            op.steps().list(rate, show).await?;
            printed?;
            terminal.log_cost(op.cost())?;
            if corrupt > 0 {
                return Err(Failure::new(1, format!("{corrupt} of the steps cannot be read")));
            }
            Ok(())
        };

    /// Make fan-out run the waiting steps of some work
    ///
    /// A step that was run meanwhile is not run again. Example: lately work resume deletion posts
    Resume(
        table: TableArguments;
        /// The kind, as `lately work list` prints it: deletion, retention, erasure, push, backlog …
        kind: String,
        /// The name, as `lately work list` prints it: a topic, an erasure's id …
        name: String
    )
        async {
            let op = table.store().await?.op();
            let steps = op.steps().resume(&kind, &name).await.map_err(|error| match error {
                FindError::NotFound(unknown) => Failure::from(unknown),
                FindError::Table(error) => error.into(),
            })?;
            steps.iter().try_for_each(|step| print(terminal, step))?;
            terminal.log_cost(op.cost())
        };
}

fn print(terminal: &mut Terminal<'_>, step: &WaitingStep) -> Result<()> {
    let WaitingStep { number, begun, waiting_since, expires_at, .. } = step;
    let mut line = format!("{}  {}  step {number}  began {begun}", step.kind(), step.name());
    if let Some(since) = waiting_since {
        line += &format!("  waits since {since}");
    }
    if let Some(until) = expires_at.and_then(|seconds| UnixMillis::new(seconds.saturating_mul(1000)).ok()) {
        line += &format!("  until {until}");
    }
    terminal.print(line)
}
