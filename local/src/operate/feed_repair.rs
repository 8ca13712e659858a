//! `lately feed verify` and `rebuild`: a user's feed is compared with the entries that it should hold, and repaired.

use lately_keys::User;
use lately_store::{FeedFinding, FeedReport};

use crate::commands::commands;
use crate::failure::{Failure, Result};
use crate::operate::table::TableArguments;
use crate::terminal::Terminal;

commands! {
    /// The commands that read or write a feed directly in the table.
    pub FeedRepairCommand in terminal: Terminal<'_>,

    /// List a feed's missing entries, and its extra ones
    Verify(
        table: TableArguments;
        /// The user whose feed it is
        user: User
    )
        compare(table, user, false, terminal);

    /// Add a feed's missing entries, and remove its extra ones
    Rebuild(
        table: TableArguments;
        /// The user whose feed it is
        user: User
    )
        compare(table, user, true, terminal);
}

async fn compare(table: TableArguments, user: User, mends: bool, mut terminal: Terminal<'_>) -> Result<()> {
    let store = table.store().await?;
    let mut printed = Ok(());
    let progress = |_: &FeedReport, findings: &[FeedFinding]| {
        if printed.is_ok() {
            printed = findings.iter().try_for_each(|finding| print(&mut terminal, finding));
        }
    };
    let op = store.op();
    let report = op.feed(&user).compare(mends, progress).await?;
    printed?;
    let FeedReport { timelines, entries, missing, extra } = report;
    let done = if mends { "repaired" } else { "found" };
    terminal.log(format_args!(
        "{entries} entries of {timelines} timelines: {missing} missing and {extra} extra {done}"
    ))?;
    terminal.log_cost(op.cost())?;
    if mends || missing + extra == 0 {
        return Ok(());
    }
    let differs = format!("{missing} missing, {extra} extra: `lately feed rebuild` repairs the feed");
    Err(Failure::new(1, differs))
}

fn print(terminal: &mut Terminal<'_>, finding: &FeedFinding) -> Result<()> {
    match finding {
        FeedFinding::Missing(id) => terminal.print(format_args!("missing  event {id}")),
        FeedFinding::MissingPull(source) => terminal.print(format_args!("missing  mark to pull {source}")),
        FeedFinding::Extra(id) => terminal.print(format_args!("extra    event {id}")),
        FeedFinding::ExtraPull(source) => terminal.print(format_args!("extra    mark to pull {source}")),
    }
}
