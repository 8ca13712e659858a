//! `lately report`: makes a report by hand, and lists and shows reports, with access to the table.
//!
//! A report is a run of its consumer, whether the schedule or an operator starts it, and each event is in one run of a
//! consumer only. So all runs of a consumer go to one output, and a run by hand has its position between the scheduled
//! runs.

use std::time::Duration;

use lately_items::ConsumerKey;
use lately_keys::{Consumer, EventId, Topic};
use lately_model::{GroupBy, ListQuery, RunFiles, RunSpec, RunView, SumField};
use lately_report::{Counted, Group, Outcome, Output, OutputUrl, Report, Summary, SummaryHead};

use crate::commands::commands;
use crate::counted::counted;
use crate::failure::{Failure, Result};
use crate::operate::table::{TableArguments, environment};
use crate::terminal::Terminal;
use crate::values::one_of;

/// The time for one attempt of a run, enough for tens of millions of events. The stack's function continues an
/// unfinished run.
const TIME: Duration = Duration::from_secs(60 * 60);

commands! {
    /// The commands of `lately report`.
    pub ReportCommand in terminal: &mut Terminal<'_>,

    /// Report the events since the last report, now
    Run(
        table: TableArguments, reports: Reports, files: ReportFiles;
        /// Group the summary by this field
        #[arg(long, value_name = "FIELD", default_value_t, value_parser = one_of(&GroupBy::ALL, GroupBy::as_str))]
        group_by: GroupBy,
        /// Add up this field of the events' data in the summary
        #[arg(long, value_name = "FIELD")]
        sum: Option<SumField>
    )
        make(table, files.output, Report { consumer: reports.key(), spec: RunSpec { group_by, sum } }, terminal);

    /// List the runs, newest first
    List(table: TableArguments, reports: Reports)
        async {
            let (store, consumer) = (table.store().await?, reports.key());
            let mut query = ListQuery::default();
            loop {
                let list = store.op().runs(&consumer).list(&query).await?;
                list.runs.iter().try_for_each(|run| print_run(terminal, run))?;
                query.cursor = list.next;
                if query.cursor.is_none() {
                    return Ok(());
                }
            }
        };

    /// Show the summary of a run
    Show(
        table: TableArguments, reports: Reports, files: ReportFiles;
        /// The run's id, as `lately report list` prints it
        #[arg(value_name = "RUN")]
        run: EventId
    )
        show(table, reports.key(), files.output, run, terminal);
}

/// The consumer of the reports.
#[derive(Clone, Debug, clap::Args)]
pub struct Reports {
    /// The reported topic
    #[arg(long, value_name = "TOPIC")]
    topic: Topic,

    /// The consumer of the reports
    #[arg(long, value_name = "NAME", default_value = "report")]
    consumer: Consumer,
}

/// The files of the reports.
#[derive(Clone, Debug, clap::Args)]
pub struct ReportFiles {
    /// The location of the reports: s3://bucket/prefix, or a folder
    #[arg(long, env = "LATELY_REPORTS", value_name = "PLACE")]
    output: OutputUrl,
}

impl Reports {
    fn key(self) -> ConsumerKey {
        ConsumerKey { topic: self.topic, name: self.consumer }
    }
}

async fn make(
    table: TableArguments,
    output: OutputUrl,
    report: Report,
    terminal: &mut Terminal<'_>,
) -> Result<()> {
    let store = table.store().await?;
    let output = Output::open(&output, environment()).await?;
    loop {
        match lately_report::run(&store, &output, &report, TIME).await? {
            Outcome::Unfinished { to } => terminal.log(format_args!("{to}: continuing"))?,
            Outcome::Finished { to, events, late, files } => {
                let events = counted(events, "event");
                terminal.log(format_args!("{to}: {events}, {late} of them late"))?;
                return files.iter().try_for_each(|file| terminal.print(file));
            }
            Outcome::Nothing => return terminal.log("nothing to report yet"),
            Outcome::Busy { until } => {
                return terminal.log(format_args!("a run is under way, until {until}"));
            }
        }
    }
}

async fn show(
    table: TableArguments,
    consumer: ConsumerKey,
    output: OutputUrl,
    to: EventId,
    terminal: &mut Terminal<'_>,
) -> Result<()> {
    let store = table.store().await?;
    let output = Output::open(&output, environment()).await?;
    let run = store.op().runs(&consumer).find(to).await?.ok_or_else(|| {
        Failure::new(1, format!("there is no run {to}: `lately report list` lists the runs"))
    })?;
    if run.committed.is_none() {
        return Err(Failure::new(1, format!("the run {to} is not finished; try again later")));
    }
    let names = RunFiles::new(&consumer.topic, &consumer.name, run.incarnation, run.from, run.to);
    let summary = output.summary(&names.summary()).await.map_err(|error| {
        let check = "Check that --output is the location that this run was written to.";
        Failure::new(1, format!("{error}\n{check}"))
    })?;
    print_summary(terminal, &summary)
}

fn print_run(terminal: &mut Terminal<'_>, run: &RunView) -> Result<()> {
    let (id, from, to) = (run.to, run.from.at(), run.to.at());
    match (run.events, run.late, run.files.first()) {
        (Some(events), Some(late), Some(file)) => {
            let events = counted(events, "event");
            terminal.print(format_args!("{id}  {from} to {to}  {events}  {late} late  {file}"))
        }
        _ => terminal.print(format_args!("{id}  {from} to {to}  under way since {}", run.announced_at)),
    }
}

/// The value as text; an empty text for `None`.
fn text(value: Option<&impl ToString>) -> String {
    value.map(ToString::to_string).unwrap_or_default()
}

/// Prints a summary: its groups as a table of key, number of events and sum.
fn print_summary(terminal: &mut Terminal<'_>, summary: &Summary) -> Result<()> {
    let SummaryHead { topic, consumer, from, to, events, late, group_by, sum, not_summed } = &summary.head;
    let events = counted(*events, "event");
    terminal.print(format_args!("{topic} by {consumer}, {from} to {to}: {events}, {late} of them late\n"))?;
    let title = [group_by.to_string(), "events".to_owned(), text(sum.as_ref())];
    let row = |key: &str, Counted { count, sum, .. }: &Counted| {
        [key.to_owned(), count.to_string(), text(sum.as_ref())]
    };
    let groups =
        summary.groups.iter().map(|Group { key, counted }| row(key.as_deref().unwrap_or("-"), counted));
    let others = summary.others.iter().map(|counted| row("(others)", counted));
    let rows: Vec<_> = std::iter::once(title).chain(groups).chain(others).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let [keys, counts, sums] = [0, 1, 2].map(width);
    for [key, count, sum] in &rows {
        let line = format!("{key:<keys$}  {count:>counts$}  {sum:>sums$}");
        terminal.print(line.trim_end())?;
    }
    match not_summed {
        Some(count @ 1..) => {
            let numbers = counted(*count, "number");
            terminal.print(format_args!("\nnot added up, because of too many digits: {numbers}"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_printed_as_a_table() {
        let summary = r#"{"topic":"billing","consumer":"report","from":"2026-11-21T03:00:00.000Z",
            "to":"2026-11-21T03:15:00.000Z","events":7,"late":1,"group_by":"subject","sum":"amount","not_summed":1,
            "groups":[{"key":null,"count":2,"sum":"0","numbers":0},{"key":"invoice:7","count":3,"sum":"1.50","numbers":3}],
            "others":{"count":2,"sum":"1000.00","numbers":1}}"#;
        let summary: Summary = serde_json::from_str(summary).expect("a summary as it is written");
        let mut shown = Vec::new();
        print_summary(&mut Terminal::new(&mut shown, &mut Vec::new()), &summary).expect("memory takes it");
        let expected = [
            "billing by report, 2026-11-21T03:00:00.000Z to 2026-11-21T03:15:00.000Z: 7 events, 1 of them late",
            "",
            "subject    events   amount",
            "-               2        0",
            "invoice:7       3     1.50",
            "(others)        2  1000.00",
            "",
            "not added up, because of too many digits: 1 number",
            "",
        ];
        assert_eq!(String::from_utf8(shown).expect("text"), expected.join("\n"));
    }
}
