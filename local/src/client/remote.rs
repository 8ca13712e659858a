//! The API over HTTP, as the commands that use it reach it: on this machine, behind a gateway, under another name.

use std::error::Error;
use std::time::Duration;

use lately_engine::LOOPBACK;
use lately_kit::token::Token;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, RequestBuilder, StatusCode, Url};
use serde::Deserialize;

/// How long one request may take: a gateway waits for 30 seconds, and a poll has 2.5 MB to send.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The time for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Where the API is.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ApiPlace {
    /// Where the API is: the stack's output ApiUrl
    #[arg(long, env = "LATELY_URL", value_name = "URL", default_value = "http://127.0.0.1:3000")]
    url: Url,

    /// A header to send with each request, as in 'Host: api.example.org'; more than once for several
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = parse_header)]
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// The API.
#[derive(Debug)]
pub(crate) struct Remote {
    client: Client,
    base: String,
}

/// An answer, read to its end.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// A problem; of a gateway's own answer, only a message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ProblemReply {
    pub(crate) code: String,
    detail: String,
    message: String,
    request_id: Option<String>,
    pub(crate) errors: Vec<FieldFault>,
}

/// The fault of one field.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct FieldFault {
    pub(crate) path: String,
    pub(crate) message: String,
}

impl Remote {
    pub(crate) fn at(place: ApiPlace) -> reqwest::Result<Self> {
        // The one of a process, as the client of DynamoDB has it.
        drop(rustls::crypto::ring::default_provider().install_default());
        let headers = place.headers.into_iter().collect();
        let client = Client::builder().timeout(TIMEOUT).connect_timeout(CONNECT_TIMEOUT);
        // A proxy's own machine is another: asked for what listens here, it would look there.
        let is_here = place.url.host_str().is_some_and(|host| LOOPBACK.contains(&host));
        let client = if is_here { client.no_proxy() } else { client };
        let client = client.default_headers(headers).build()?;
        Ok(Self { client, base: place.url.as_str().trim_end_matches('/').to_owned() })
    }

    /// A request for a path, with the query that may follow it.
    pub(crate) fn request(&self, method: Method, target: &str, token: Option<&Token>) -> RequestBuilder {
        let request = self.client.request(method, format!("{}{target}", self.base));
        token.into_iter().fold(request, |request, token| request.bearer_auth(token.reveal()))
    }
}

impl Reply {
    pub(crate) async fn to(request: RequestBuilder) -> reqwest::Result<Self> {
        let response = request.send().await?;
        let (status, headers) = (response.status(), response.headers().clone());
        Ok(Self { status, headers, body: response.bytes().await?.into() })
    }

    /// The problem in a response that is not 2xx.
    pub(crate) fn problem(&self) -> ProblemReply {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The request's id in the logs, if the response has one.
    pub(crate) fn request_id(&self) -> Option<String> {
        let is_id = |name: &HeaderName| name.as_str().replace('-', "").ends_with("requestid");
        let header = self.headers.iter().find(|(name, _)| is_id(name));
        let header = header.and_then(|(_, id)| id.to_str().ok()).map(str::to_owned);
        header.or_else(|| self.problem().request_id)
    }
}

impl ProblemReply {
    /// Its words.
    pub(crate) fn text(&self) -> &str {
        if self.detail.is_empty() { &self.message } else { &self.detail }
    }
}

/// Why there is no answer: what lies at the bottom says it.
pub(crate) fn cause(error: &reqwest::Error) -> String {
    let mut deepest: &dyn Error = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest.to_string()
}

#[expect(clippy::unnecessary_wraps, reason = "what parses an argument may fail")]
pub(crate) fn parse_token(text: &str) -> Result<Token, std::convert::Infallible> {
    Ok(Token::of(text))
}

fn parse_header(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    let parsed = text.split_once(':').and_then(|(name, value)| {
        Some((name.trim().parse::<HeaderName>().ok()?, value.trim().parse::<HeaderValue>().ok()?))
    });
    parsed.ok_or_else(|| "must be a name, a colon and a value".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_a_name_and_a_value() {
        let (name, value) = parse_header("Host: a1b2.execute-api.localhost:4566").expect("well-formed");
        assert_eq!((name.as_str(), value.as_bytes()), ("host", &b"a1b2.execute-api.localhost:4566"[..]));
        for text in ["", "Host", ": x", "Ho st: x"] {
            assert!(parse_header(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_request_is_named_by_whoever_names_it() {
        let reply = |headers: &[(&'static str, &'static str)], body: &str| Reply {
            status: StatusCode::BAD_REQUEST,
            headers: headers
                .iter()
                .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
                .collect(),
            body: body.into(),
        };
        for header in ["apigw-requestid", "x-amzn-requestid", "lately-request-id"] {
            assert_eq!(reply(&[(header, "8f1c")], "").request_id().as_deref(), Some("8f1c"));
        }
        assert_eq!(reply(&[], r#"{"request_id":"8f1c"}"#).request_id().as_deref(), Some("8f1c"));
        assert_eq!(reply(&[("content-type", "text/html")], "<html>").request_id(), None);
    }
}
