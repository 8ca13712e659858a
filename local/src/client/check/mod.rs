//! `lately check`: tests a stack through its API, after a deployment for example.
//!
//! It runs the cases of `clients/conformance/cases/check.yaml`, which the conformance suite runs too, and makes their
//! calls with the same code (`calls.rs`). A stack that passes is put together correctly, from its gateway to its stream and
//! its schedule.

mod calls;
mod case;
mod matching;

use std::time::Duration;

use lately_client::model::{OwnSession, Scope};
use lately_client::{Lately, Problem, Request, Token};
use lately_keys::Topic;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Method, Url};

pub use self::calls::Caller;
use crate::client::access::{Api, ApiAddress, FEW, parse_header, parse_url};
use crate::client::check::case::{Case, CaseRun, Measured};
use crate::client::failure::{Failure, Refusal};
use crate::client::session::Terminal;
use crate::client::text::{plain, shortened};
use crate::client::text_table::TextTable;
use crate::seconds;

/// The cases.
const CASES: &str = include_str!("../../../../clients/conformance/cases/check.yaml");

/// The characters that a line has of a failure. It may contain a page of events.
const FAILURE_CHARACTERS: usize = 400;

/// The options of `lately check`.
#[derive(Clone, Debug, clap::Args)]
pub struct CheckOptions {
    /// The API's URL: the stack's output ApiUrl
    #[arg(env = "LATELY_URL", value_name = "URL", default_value = "http://127.0.0.1:3000", value_parser = parse_url)]
    url: Url,

    /// The URL of the live streams, if it is another one: the stack's output LiveUrl
    #[arg(long, value_name = "URL", value_parser = parse_url)]
    live_url: Option<Url>,

    /// A header to send with each request, such as 'Host: api.example.org'; repeatable
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = parse_header)]
    headers: Vec<(HeaderName, HeaderValue)>,

    /// A token with the scope admin
    #[arg(long, env = "LATELY_TOKEN", value_name = "TOKEN", default_value = "dev", hide_env_values = true)]
    token: Token,

    /// A topic that is reported on a schedule: post an event to it and wait until a report counts the event
    #[arg(long, value_name = "TOPIC")]
    report: Option<Topic>,

    /// The longest wait of a step, such as 90s or 3m
    #[arg(long, value_name = "TIME", default_value = "3m", value_parser = parse_patience)]
    patience: Duration,
}

fn parse_patience(text: &str) -> Result<Duration, String> {
    let seconds = seconds::parse(text).filter(|seconds| *seconds > 0);
    let seconds = seconds.ok_or_else(|| "must be a number and s, m or h".to_owned())?;
    Ok(Duration::from_secs(seconds.into()))
}

/// Runs all cases and prints a line for each, and a table at the end.
pub(crate) async fn run(options: CheckOptions, terminal: Terminal<'_>) -> Result<(), Failure> {
    let CheckOptions { url, live_url, headers, token, report, patience } = options;
    let api = Api::at(ApiAddress { url: url.clone(), headers }, &token, FEW)?;
    is_admitted(&api.lately, &url, "the check").await?;
    let lately = api.lately.using(|options| options.live_url = live_url.clone().map(String::from));
    let run = format!("check-{:08x}", fastrand::u32(..));
    let has_live = has_live(&lately, live_url.as_ref(), &run).await?;
    let report = report.map(|topic| topic.to_string());
    let (mut rows, mut failed) = (Vec::new(), 0);
    for (case, number) in cases().iter().zip(1..) {
        let mut case_run = CaseRun::new(&lately, patience, &format!("{run}-{number}"), report.as_deref());
        let (result, text) = match case.needs.as_deref() {
            Some("live") if !has_live => {
                ("skip", format!("{url} has no live routes; --live-url names others"))
            }
            Some("report") if report.is_none() => ("skip", "--report names a topic with reports".to_owned()),
            _ => match case_run.run(case).await {
                Ok(()) => ("ok", case_run.measured.as_ref().map(Measured::to_string).unwrap_or_default()),
                Err(why) => ("FAIL", shortened(&plain(&why), FAILURE_CHARACTERS).into_owned()),
            },
        };
        writeln!(terminal.stdout, "{result:<4} {}: {text}", case.name)?;
        terminal.stdout.flush()?;
        failed += usize::from(result == "FAIL");
        let measured =
            case_run.measured.map(|it| [format!("{} ms", it.time.as_millis()), it.price, it.bound]);
        let cells = [result.to_owned(), case.name.clone()].into_iter().chain(measured.unwrap_or_default());
        rows.push(cells.collect());
    }
    writeln!(terminal.stdout)?;
    TextTable::new(&["", "CASE", "TIME", "PRICE", "BOUND"], terminal.columns)
        .print(terminal.stdout, &rows)?;
    match failed {
        0 => Ok(()),
        _ => Err(Failure::Incomplete { text: format!("{failed} of {} cases failed", rows.len()), code: 1 }),
    }
}

fn cases() -> Vec<Case> {
    let cases = lately_template::yaml::parse(CASES).expect("the file is YAML");
    serde_json::from_value(cases).expect("the file has cases: a test runs all of them")
}

/// Checks that the URL is an API's and the token an admin's: otherwise every call of `work` would fail.
pub(super) async fn is_admitted(lately: &Lately, url: &Url, work: &str) -> Result<(), Failure> {
    let sentence = match lately.sessions().own().await {
        Ok(OwnSession { scopes, .. }) if !scopes.allow(Scope::Admin) => {
            format!("the token has the scopes {scopes}; {work} needs the scope admin")
        }
        Ok(OwnSession { topics: Some(_), .. }) => {
            format!("the token is limited to topics; {work} creates topics of its own")
        }
        Ok(_) => return Ok(()),
        Err(problem) if is_of_server(&problem) => {
            return Err(Refusal { creation: None, problem }.into());
        }
        Err(problem) => match problem.status {
            0 => format!("no response from {url} ({})", plain(&problem.detail)),
            401 | 403 => {
                format!("{url} rejects the request; check the token ({})", plain(&problem.to_string()))
            }
            _ => format!("{url} is not Lately's API ({})", plain(&problem.to_string())),
        },
    };
    Err(Failure::Usage(sentence))
}

/// Checks whether there are live routes. If the command line names their URL, there must be.
async fn has_live(lately: &Lately, live_url: Option<&Url>, run: &str) -> Result<bool, Failure> {
    let lately = lately.using(|options| options.url = live_url.map_or(options.url.clone(), Url::to_string));
    // No topic has this name, so no stream begins.
    let response = lately.send_once(&Request::to(Method::GET, ["topics", run, "live"])).await;
    let problem = response.map_or_else(|problem| problem, |response| Box::new(response.problem()));
    match live_url {
        Some(url) if problem.code != "topic-not-found" && !is_of_server(&problem) => Err(Failure::Usage(
            format!("{url} does not serve Lately's live streams ({})", plain(&problem.to_string())),
        )),
        _ => Ok(problem.code != "route-not-found"),
    }
}

/// True if the API exists, and cannot answer now.
fn is_of_server(problem: &Problem) -> bool {
    problem.status == 429 || problem.status >= 500
}
