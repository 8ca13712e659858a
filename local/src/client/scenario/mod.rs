//! `lately scenario`: uses every feature of the API once, over HTTP, and checks the responses.
//!
//! It runs unchanged against the local program, a deployment on one's own machine, and a stack. A system that passes is
//! put together correctly, from its gateway to its stream and its schedule. Names are new in each run, so a scenario
//! may run against a table in use, again and again. At its end it deletes what it created. Issues stay, because the API
//! cannot delete them.

mod call;
mod cast;
mod consumers;
mod deletion;
mod events;
mod feeds;
mod issues;
mod records;
mod refusals;
mod report;
mod script;
mod stage;

use std::io::Write;
use std::time::Duration;

use lately_keys::Topic;
use lately_kit::token::Token;

use crate::client::remote::{ApiPlace, parse_token};
use crate::client::scenario::call::ScenarioRun;
use crate::client::scenario::stage::{Stage, go_on};
use crate::seconds;

/// Test a stack through its API: use every feature once, one line per step
#[derive(Clone, Debug, clap::Args)]
pub struct ScenarioOptions {
    #[command(flatten)]
    place: ApiPlace,

    /// A token with the scope admin
    #[arg(long, env = "LATELY_TOKEN", value_name = "TOKEN", default_value = "dev", hide_env_values = true, value_parser = parse_token)]
    token: Token,

    /// A topic that is reported on a schedule: post events to it and wait until a report counts them
    #[arg(long, value_name = "TOPIC")]
    report: Option<Topic>,

    /// The longest wait for asynchronous writes and for the report, such as 90s or 3m
    #[arg(long, value_name = "TIME", default_value = "3m", value_parser = parse_patience)]
    patience: Duration,

    /// Skip a part; repeatable
    #[arg(long, value_name = "PART")]
    skip: Vec<ScenarioPart>,
}

/// A part of the scenario that the others do not need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ScenarioPart {
    /// `GET /health`, which a gateway may answer itself
    Health,
    /// The OpenAPI document
    Openapi,
    /// Events, pages, timelines of sources
    Events,
    /// Invalid requests and their errors
    Refusals,
    /// Follows and feeds, deletions and unfollows
    Feeds,
    /// Profiles and settings
    Records,
    /// Issues and their events
    Issues,
    /// Consumers
    Consumers,
    /// The deletion of the run's topic, which stays otherwise
    Deletion,
}

/// Why a scenario did not pass.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// Some steps failed; each has printed a line.
    #[error("{failed} of {steps} steps failed")]
    Failed {
        /// The number of failed steps.
        failed: usize,
        /// The number of steps that were tried.
        steps: usize,
    },
    /// The HTTP client could not be created.
    #[error(transparent)]
    Client(#[from] reqwest::Error),
    /// Nothing could be printed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

fn parse_patience(text: &str) -> Result<Duration, String> {
    let seconds = seconds::parse(text).filter(|seconds| *seconds > 0);
    let seconds = seconds.ok_or_else(|| "must be a number and s, m or h".to_owned())?;
    Ok(Duration::from_secs(seconds.into()))
}

/// Runs the scenario, and prints a line for each step.
pub async fn run(options: ScenarioOptions, out: &mut (impl Write + Send)) -> Result<(), ScenarioError> {
    let ScenarioOptions { place, token, report, patience, skip } = options;
    let world = ScenarioRun::new(place.client()?, patience);
    let mut stage = Stage::new(out);
    go_on(Box::pin(script::play(&mut stage, &world, &token, report.as_ref(), &skip)).await)?;
    go_on(script::clean_up(&mut stage, &world, &token).await)?;
    match stage {
        Stage { failed: 0, steps, .. } => Ok(stage.tell(format_args!("{steps} steps, all ok"))?),
        Stage { failed, steps, .. } => Err(ScenarioError::Failed { failed, steps }),
    }
}
