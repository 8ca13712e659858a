//! `lately scenario`: one of everything that the API does, over HTTP, against whatever serves it.
//!
//! The same for the local program, a deployment on one's own machine, and a stack: a system that passes is put together
//! right, from its gateway to its stream and its schedule. Names are fresh each time, so it may be run against a table in
//! use, again and again; at the end it deletes what it made. Topics and issues stay, which nobody can delete.

mod call;
mod cast;
mod consumers;
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

use crate::client::remote::{ApiPlace, Remote, parse_token};
use crate::client::scenario::call::ScenarioRun;
use crate::client::scenario::stage::{Stage, go_on};
use crate::seconds;

/// Check a stack from outside: one of everything, each step a line
#[derive(Clone, Debug, clap::Args)]
pub struct ScenarioOptions {
    #[command(flatten)]
    place: ApiPlace,

    /// A token with the scope admin
    #[arg(long, env = "LATELY_TOKEN", value_name = "TOKEN", default_value = "dev", hide_env_values = true, value_parser = parse_token)]
    token: Token,

    /// A topic that is reported on a schedule: wait until a report has what is posted to it now
    #[arg(long, value_name = "TOPIC")]
    report: Option<Topic>,

    /// How long what is written behind may take to show, a report too: 90s or 3m
    #[arg(long, value_name = "TIME", default_value = "3m", value_parser = parse_patience)]
    patience: Duration,

    /// Leave out a part; more than once for several
    #[arg(long, value_name = "PART")]
    skip: Vec<ScenarioPart>,
}

/// A part of the scenario that the others do not need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ScenarioPart {
    /// `GET /health`, which a gateway may answer itself
    Health,
    /// The document of the routes
    Openapi,
    /// Events, pages, timelines of sources
    Events,
    /// What is answered to what is wrong
    Refusals,
    /// Follows and feeds, and what leaves them
    Feeds,
    /// Profiles and settings
    Records,
    /// Issues, and the events that tell of them
    Issues,
    /// A consumer
    Consumers,
}

/// Why a scenario did not pass.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// Some steps failed; each is told of in its line.
    #[error("{failed} of {steps} steps failed")]
    Failed {
        /// How many.
        failed: usize,
        /// Of how many that were tried.
        steps: usize,
    },
    /// No client could be made.
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

/// Plays it, a line for each step.
///
/// # Errors
/// See [`ScenarioError`].
pub async fn run(options: ScenarioOptions, out: &mut (impl Write + Send)) -> Result<(), ScenarioError> {
    let ScenarioOptions { place, token, report, patience, skip } = options;
    let world = ScenarioRun::new(Remote::at(place)?, patience);
    let mut stage = Stage::new(out);
    go_on(Box::pin(script::play(&mut stage, &world, &token, report.as_ref(), &skip)).await)?;
    go_on(script::clean_up(&mut stage, &world, &token).await)?;
    match stage {
        Stage { failed: 0, steps, .. } => Ok(stage.tell(format_args!("{steps} steps, all ok"))?),
        Stage { failed, steps, .. } => Err(ScenarioError::Failed { failed, steps }),
    }
}
