//! The stack that `lately check` and `lately load` test: they need an admin's token, because they create topics.

use lately_client::model::{OwnSession, Scope};
use lately_client::{Lately, Problem};
use reqwest::Url;

use crate::client::access::{ApiAddress, Credentials, FEW, parse_url};
use crate::failure::{Failure, Result};
use crate::text::plain;

/// The stack to test.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct StackArguments {
    /// The API's URL: the stack's output ApiUrl
    #[arg(env = "LATELY_URL", value_name = "URL", default_value = "http://127.0.0.1:3000", value_parser = parse_url)]
    pub(super) url: Url,

    /// The URL of the live streams, if it is another one: the stack's output LiveUrl
    #[arg(long, env = "LATELY_LIVE_URL", value_name = "URL", value_parser = parse_url)]
    pub(super) live_url: Option<Url>,

    #[command(flatten)]
    credentials: Credentials,
}

impl StackArguments {
    /// A client of the stack, if its URL is an API's and its token an admin's: otherwise every call of `work` would fail.
    pub(super) async fn open(&self, work: &str) -> Result<Lately> {
        let Self { url, live_url, credentials } = self.clone();
        let api = ApiAddress { url, credentials }.client(FEW)?;
        let api = api.using(|options| options.live_url = live_url.map(String::from));
        let url = &self.url;
        let sentence = match api.sessions().own().await {
            Ok(OwnSession { scopes, .. }) if !scopes.allow(Scope::Admin) => {
                format!("the token has the scopes {scopes}; {work} needs the scope admin")
            }
            Ok(OwnSession { topics: Some(_), .. }) => {
                format!("the token is limited to topics; {work} creates topics of its own")
            }
            Ok(_) => return Ok(api),
            Err(problem) if is_of_server(&problem) => return Err(problem.into()),
            Err(problem) => match problem.status {
                0 => format!("no response from {url} ({})", plain(&problem.detail)),
                401 | 403 => {
                    format!("{url} rejects the request; check the token ({})", plain(&problem.to_string()))
                }
                _ => format!("{url} is not Lately's API ({})", plain(&problem.to_string())),
            },
        };
        Err(Failure::usage(sentence))
    }
}

/// True if the API exists, and cannot answer now.
pub(super) fn is_of_server(problem: &Problem) -> bool {
    problem.status == 429 || problem.status >= 500
}
