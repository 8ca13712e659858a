//! Requests to the API.
//!
//! The client retries what may be retried, so no request takes effect twice. If there was never a response, the retries
//! end soon: the server is then probably not running.

use lately_client::{Lately, Problem, Request, Response, Token as ApiToken};
use lately_kit::token::Token;
use reqwest::header::{CONTENT_TYPE, HeaderMap};

use crate::client::failure::{Failure, Refusal};
use crate::client::remote::{ApiAddress, parse_token};

/// The attempts while a person waits: they take about a second.
pub(crate) const FEW: u32 = 4;

/// The attempts when no person waits: they take about a minute, long enough for a server to restart.
pub(crate) const MANY: u32 = 30;

/// The API's URL and token, and the form of the output. A command with subcommands takes them before and after the
/// subcommand.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "The API")]
pub(crate) struct Access {
    #[command(flatten)]
    address: ApiAddress,

    /// The token to send; dev is the local program's admin
    #[arg(long, env = "LATELY_TOKEN", value_name = "TOKEN", default_value = "dev", hide_env_values = true, global = true, value_parser = parse_token)]
    token: Token,

    /// Print JSON, as the API returns it
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Print each response's DynamoDB cost to standard error
    #[arg(long, global = true)]
    pub(crate) cost: bool,
}

/// A client of the API with a token.
#[derive(Clone, Debug)]
pub(crate) struct Api {
    pub(crate) lately: Lately,
    url: String,
}

impl Api {
    /// A client of the API at a URL, which makes at most so many attempts of a request.
    pub(crate) fn at(address: ApiAddress, token: &Token, attempts: u32) -> Result<Self, Failure> {
        let url = address.base();
        let lately = address.client()?.using(|options| {
            options.token = ApiToken::from(token.reveal());
            options.attempts = attempts;
            options.attempts_unheard = FEW;
        });
        Ok(Self { lately, url })
    }

    pub(crate) fn of(access: Access, attempts: u32) -> Result<Self, Failure> {
        Self::at(access.address, &access.token, attempts)
    }

    /// Sends a request, with retries. The result is the response if its status is 2xx.
    pub(crate) async fn ask(&self, request: &Request) -> Result<Response, Failure> {
        match self.lately.send(request).await {
            Ok(response) if is_of_dynamodb(&response.headers) => Err(self.dynamodb()),
            Ok(response) => Ok(response),
            Err(problem) => Err(self.failure(request.target(), problem)),
        }
    }

    /// The failure of a request for a target.
    pub(crate) fn failure(&self, target: &str, problem: Box<Problem>) -> Failure {
        match problem.status {
            0 => Failure::Unreachable { url: self.url.clone(), cause: problem.detail },
            _ if is_of_dynamodb(&problem.headers) => self.dynamodb(),
            200..300 => Failure::Foreign(problem.detail),
            _ => Refusal::of(target, problem).into(),
        }
    }

    fn dynamodb(&self) -> Failure {
        Failure::DynamoDb { url: self.url.clone() }
    }
}

/// True if DynamoDB sent the response: its JSON has a type of its own.
fn is_of_dynamodb(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    content_type.is_some_and(|content_type| content_type.starts_with("application/x-amz-json"))
}
