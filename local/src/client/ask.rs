//! Requests to the API, and their retries.
//!
//! No request may take effect twice. Reads, puts and deletes are idempotent, so they may be retried; a post may be
//! retried if it has an `Idempotency-Key`. Any other request is retried only after a response which says that nothing
//! was done (429). Retries end when their time is over. If there was never a response, they end after `SHORT`: the
//! server is then probably not running.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lately_kit::clock;
use lately_kit::token::Token;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Method;
use serde::Serialize;

use crate::client::failure::{Failure, Refusal};
use crate::client::remote::{ApiPlace, Remote, Reply, parse_token};

/// The first and the longest wait before a retry. The wait doubles with each retry.
const PAUSE: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(5)];

/// The time for retries while a person waits.
pub(crate) const SHORT: Duration = Duration::from_secs(2);

/// The time for retries when no person waits: long enough for a server to restart.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// The API's URL and token, and the form of the output.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "The API")]
pub(crate) struct Access {
    #[command(flatten)]
    place: ApiPlace,

    /// The token to send; dev is the local program's admin
    #[arg(long, env = "LATELY_TOKEN", value_name = "TOKEN", default_value = "dev", hide_env_values = true, value_parser = parse_token)]
    token: Token,

    /// Print JSON, as the API returns it
    #[arg(long)]
    pub(crate) json: bool,

    /// Print each response's DynamoDB cost to standard error
    #[arg(long)]
    pub(crate) cost: bool,
}

/// A client of the API with a token.
#[derive(Debug)]
pub(crate) struct Api {
    remote: Remote,
    token: Token,
    patience: Duration,
    /// True once there was a response.
    is_there: AtomicBool,
}

/// A request to the API.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    method: Method,
    target: String,
    headers: Vec<(&'static str, String)>,
    body: Option<(&'static str, Vec<u8>)>,
    /// True if a second sending changes nothing, so a retry is safe.
    repeatable: bool,
}

impl Api {
    /// A client of the API at a URL. Requests that fail temporarily are retried for as long as `patience`.
    pub(crate) fn at(place: ApiPlace, token: Token, patience: Duration) -> Result<Self, Failure> {
        Ok(Self { remote: Remote::at(place)?, token, patience, is_there: AtomicBool::new(false) })
    }

    pub(crate) fn of(access: Access, patience: Duration) -> Result<Self, Failure> {
        Self::at(access.place, access.token, patience)
    }

    /// Sends a request, with retries. The result is the response if its status is 2xx.
    pub(crate) async fn ask(&self, call: &Call) -> Result<Reply, Failure> {
        let begun = clock::monotonic_now();
        let [mut pause, longest] = PAUSE;
        loop {
            let failure = match self.ask_once(call).await {
                Err(failure) if failure.passes() && (call.repeatable || failure.did_nothing()) => failure,
                answer => return answer,
            };
            let wait = failure.retry_after().unwrap_or_default().max(pause);
            let patience = if self.is_there.load(Ordering::Relaxed) { self.patience } else { SHORT };
            if clock::monotonic_now() + wait >= begun + patience {
                return Err(failure);
            }
            tokio::time::sleep(wait).await;
            pause = (pause * 2).min(longest);
        }
    }

    async fn ask_once(&self, call: &Call) -> Result<Reply, Failure> {
        let Call { method, target, headers, body, .. } = call;
        let mut request = self.remote.request(method.clone(), target, Some(&self.token));
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        if let Some((content_type, body)) = body {
            request = request.header("content-type", *content_type).body(body.clone());
        }
        let reply =
            Reply::to(request).await.map_err(|error| Failure::unreachable(self.remote.base(), &error))?;
        self.is_there.store(true, Ordering::Relaxed);
        if reply.is_of_dynamodb() {
            return Err(Failure::DynamoDb { url: self.remote.base().to_owned() });
        }
        if reply.status.is_success() { Ok(reply) } else { Err(Refusal::of(target, &reply).into()) }
    }
}

impl Call {
    pub(crate) fn get(target: impl Into<String>) -> Self {
        Self::new(Method::GET, target)
    }

    pub(crate) fn put(target: impl Into<String>) -> Self {
        Self::new(Method::PUT, target)
    }

    pub(crate) fn delete(target: impl Into<String>) -> Self {
        Self::new(Method::DELETE, target)
    }

    pub(crate) fn post(target: impl Into<String>) -> Self {
        Self { repeatable: false, ..Self::new(Method::POST, target) }
    }

    /// A change of one revision: the request has `If-Match`.
    pub(crate) fn patch(target: impl Into<String>, revision: u64) -> Self {
        let call = Self { repeatable: false, ..Self::new(Method::PATCH, target) };
        call.header("if-match", format!("\"{revision}\""))
    }

    fn new(method: Method, target: impl Into<String>) -> Self {
        Self { method, target: target.into(), headers: Vec::new(), body: None, repeatable: true }
    }

    pub(crate) fn json(self, body: &impl Serialize) -> Self {
        let body = serde_json::to_vec(body).expect("a body is text, numbers and lists of them");
        self.body("application/json", body)
    }

    pub(crate) fn body(self, content_type: &'static str, body: Vec<u8>) -> Self {
        Self { body: Some((content_type, body)), ..self }
    }

    /// The same request with an `Idempotency-Key`: it takes effect once, however often it is sent.
    pub(crate) fn under(self, idempotency_key: impl Into<String>) -> Self {
        Self { repeatable: true, ..self }.header("idempotency-key", idempotency_key.into())
    }

    /// The same request, marked as one whose second sending fails.
    pub(crate) fn once(self) -> Self {
        Self { repeatable: false, ..self }
    }

    /// The same request, marked as safe to retry.
    pub(crate) fn repeatable(self) -> Self {
        Self { repeatable: true, ..self }
    }

    pub(crate) fn header(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }
}

/// A path with a query of those parameters that have a value.
pub(crate) fn target(path: &str, parameters: &[(&str, Option<String>)]) -> String {
    let mut target = path.to_owned();
    for (name, value) in parameters.iter().filter_map(|(name, value)| Some((name, value.as_ref()?))) {
        target.push(if target.contains('?') { '&' } else { '?' });
        target.extend([name, "="]);
        target.extend(utf8_percent_encode(value, NON_ALPHANUMERIC));
    }
    target
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_parameters_are_encoded_into_the_query() {
        let parameters = [
            ("cursor", None),
            ("from", Some("2026-11-20T00:00:00Z".to_owned())),
            ("type", Some("a&b=ü".to_owned())),
        ];
        assert_eq!(target("/x", &parameters), "/x?from=2026%2D11%2D20T00%3A00%3A00Z&type=a%26b%3D%C3%BC");
        assert_eq!(target("/x", &[]), "/x");
    }
}
