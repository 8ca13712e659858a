//! `lately check`: tests a stack through its API, after a deployment for example.
//!
//! It runs the cases of `clients/conformance/cases/check.yaml`, which the conformance suite runs too, and makes their
//! calls with the same code (`lately-adapter`). A stack that passes is put together correctly, from its gateway to its stream and
//! its schedule.

mod case;
mod matching;

use std::time::Duration;

use lately_client::{Lately, Request};
use lately_keys::Topic;
use reqwest::{Method, Url};

use crate::client::check::case::{Case, CaseRun};
use crate::client::stack::{StackArguments, is_of_server};
use crate::failure::{Failure, Result};
use crate::seconds;
use crate::terminal::Terminal;
use crate::text::{plain, shortened};

/// The cases.
const CASES: &str = include_str!("../../../../clients/conformance/cases/check.yaml");

/// The characters that a line has of a failure. It may contain a page of events.
const FAILURE_CHARACTERS: usize = 400;

/// The options of `lately check`.
#[derive(Clone, Debug, clap::Args)]
pub struct CheckOptions {
    #[command(flatten)]
    stack: StackArguments,

    /// A topic that is reported on a schedule: post an event to it and wait until a report counts the event
    #[arg(long, value_name = "TOPIC")]
    report: Option<Topic>,

    /// The longest wait of a step, such as 90s or 3m
    #[arg(long, value_name = "TIME", default_value = "3m", value_parser = seconds::within(1.., "must be a number and s, m or h"))]
    patience: u32,
}

/// Runs all cases and prints a line for each, and a table at the end.
pub(crate) async fn run(options: CheckOptions, mut terminal: Terminal<'_>) -> Result<()> {
    let CheckOptions { stack, report, patience } = options;
    let patience = Duration::from_secs(patience.into());
    let api = stack.open("the check").await?;
    let run = format!("check-{:08x}", fastrand::u32(..));
    let has_live = has_live(&api, stack.live_url.as_ref(), &run).await?;
    let report = report.map(|topic| topic.to_string());
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (case, number) in cases().iter().zip(1..) {
        let mut case_run = CaseRun::new(&api, patience, &format!("{run}-{number}"), report.as_deref());
        let (result, text) = match case.needs.as_deref() {
            Some("live") if !has_live => {
                ("skip", format!("{} has no live routes; --live-url names others", stack.url))
            }
            Some("report") if report.is_none() => ("skip", "--report names a topic with reports".to_owned()),
            _ => match case_run.run(case).await {
                Ok(()) => ("ok", case_run.measured.as_ref().map(measurement).unwrap_or_default()),
                Err(why) => ("FAIL", shortened(&plain(&why), FAILURE_CHARACTERS).into_owned()),
            },
        };
        terminal.print(format_args!("{result:<4} {}: {text}", case.name))?;
        terminal.stdout.flush()?;
        let cells = [result.to_owned(), case.name.clone()];
        rows.push(cells.into_iter().chain(case_run.measured.unwrap_or_default()).collect());
    }
    terminal.print("")?;
    let mut table = terminal.table(&["", "CASE", "TIME", "PRICE", "BOUND"]);
    terminal.rows(&mut table, &rows)?;
    let failed: Vec<_> = rows.iter().filter(|row| row[0] == "FAIL").map(|row| row[1].as_str()).collect();
    if failed.is_empty() {
        return Ok(());
    }
    let names = failed.join("; ");
    Err(Failure::new(1, format!("{} of {} cases failed: {names}", failed.len(), rows.len())))
}

fn measurement([time, price, bound]: &[String; 3]) -> String {
    let separator = if price.is_empty() { "" } else { ", " };
    format!("{time}{separator}{price}; bound: {bound}")
}

fn cases() -> Vec<Case> {
    let cases = lately_template::yaml::parse(CASES).expect("the file is YAML");
    serde_json::from_value(cases).expect("the file has cases: a test runs all of them")
}

/// Checks whether there are live routes. If the command line names their URL, there must be.
async fn has_live(lately: &Lately, live_url: Option<&Url>, run: &str) -> Result<bool> {
    let lately = lately.using(|options| options.url = live_url.map_or(options.url.clone(), Url::to_string));
    // No topic has this name, so no stream begins.
    let response = lately.send_once(&Request::to(Method::GET, ["topics", run, "live"])).await;
    let problem = response.map_or_else(|problem| problem, |response| Box::new(response.problem()));
    match live_url {
        Some(url) if problem.code != "topic-not-found" && !is_of_server(&problem) => Err(Failure::usage(
            format!("{url} does not serve Lately's live streams ({})", plain(&problem.to_string())),
        )),
        _ => Ok(problem.code != "route-not-found"),
    }
}
