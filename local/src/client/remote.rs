//! The HTTP client of the commands. It reaches the API on this machine, behind a gateway, or under another host name.

use std::error::Error;
use std::time::Duration;

use lately_engine::LOOPBACK;
use lately_kit::token::Token;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, RequestBuilder, StatusCode, Url};
use serde::Deserialize;

/// The timeout of a request. A gateway waits for 30 seconds, and a poll's response has up to 2.5 MB.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The timeout for opening a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The API's URL, and the headers of each request.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ApiPlace {
    /// The API's URL: the stack's output ApiUrl
    #[arg(long, env = "LATELY_URL", value_name = "URL", default_value = "http://127.0.0.1:3000", value_parser = parse_url)]
    url: Url,

    /// A header to send with each request, such as 'Host: api.example.org'; repeatable
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = parse_header)]
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// An HTTP client for the API's URL.
#[derive(Debug)]
pub(crate) struct Remote {
    client: Client,
    base: String,
}

/// A response with its whole body.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// The body of an error response. A gateway's own error has only a message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ProblemReply {
    pub(crate) code: String,
    detail: String,
    message: String,
    request_id: Option<String>,
    pub(crate) errors: Vec<FieldFault>,
}

/// A fault in one field of a request.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct FieldFault {
    pub(crate) path: String,
    pub(crate) message: String,
}

impl Remote {
    pub(crate) fn at(place: ApiPlace) -> reqwest::Result<Self> {
        // Installs the process's TLS provider, unless DynamoDB's client has installed it already.
        drop(rustls::crypto::ring::default_provider().install_default());
        let headers = place.headers.into_iter().collect();
        let client = Client::builder().timeout(TIMEOUT).connect_timeout(CONNECT_TIMEOUT);
        // Never through a proxy: on the proxy's machine, a loopback address is another server.
        let is_here = place.url.host_str().is_some_and(|host| LOOPBACK.contains(&host));
        let client = if is_here { client.no_proxy() } else { client };
        let client = client.default_headers(headers).build()?;
        Ok(Self { client, base: place.url.as_str().trim_end_matches('/').to_owned() })
    }

    /// The API's URL.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// A request for a path, with its query if it has one.
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

    /// True if DynamoDB sent the response: its JSON has a type of its own.
    pub(crate) fn is_of_dynamodb(&self) -> bool {
        let content_type = self.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        content_type.is_some_and(|content_type| content_type.starts_with("application/x-amz-json"))
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
    /// The text for people.
    pub(crate) fn text(&self) -> &str {
        if self.detail.is_empty() { &self.message } else { &self.detail }
    }
}

/// The reason why there is no response: the innermost error names it.
pub(crate) fn cause(error: &reqwest::Error) -> String {
    let mut deepest: &dyn Error = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest.to_string()
}

#[expect(clippy::unnecessary_wraps, reason = "clap expects a `Result` from a parser")]
pub(crate) fn parse_token(text: &str) -> Result<Token, std::convert::Infallible> {
    Ok(Token::of(text))
}

/// Parses a URL. A program on this machine may be named without a scheme, as in `localhost:3000`.
pub(crate) fn parse_url(text: &str) -> Result<Url, String> {
    let parsed = if text.contains("://") { text.parse() } else { format!("http://{text}").parse() };
    let is_here = |url: &Url| url.host_str().is_some_and(|host| LOOPBACK.contains(&host));
    match parsed {
        Ok::<Url, _>(url)
            if ["http", "https"].contains(&url.scheme()) && (text.contains("://") || is_here(&url)) =>
        {
            Ok(url)
        }
        _ => Err("must be a URL that begins with http:// or https://".to_owned()),
    }
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
    fn a_program_on_this_machine_is_named_without_a_scheme() {
        for (text, url) in [
            ("localhost:3210", "http://localhost:3210/"),
            ("127.0.0.1", "http://127.0.0.1/"),
            ("http://127.0.0.1:3000", "http://127.0.0.1:3000/"),
            ("https://api.example.org/x", "https://api.example.org/x"),
        ] {
            assert_eq!(parse_url(text).map(String::from), Ok(url.to_owned()));
        }
        for text in ["", "api.example.org", "ftp://127.0.0.1", "3000", "http://"] {
            assert!(parse_url(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_header_is_a_name_and_a_value() {
        let (name, value) = parse_header("Host: a1b2.execute-api.localhost:4566").expect("well-formed");
        assert_eq!((name.as_str(), value.as_bytes()), ("host", &b"a1b2.execute-api.localhost:4566"[..]));
        for text in ["", "Host", ": x", "Ho st: x"] {
            assert!(parse_header(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_request_id_is_found_in_headers_or_body() {
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
