//! The HTTP client of the commands. It reaches the API on this machine, behind a gateway, or under another host name.

use std::time::Duration;

use lately_client::{Lately, Options};
use lately_engine::LOOPBACK;
use lately_kit::token::Token;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Client, Url};

/// The longest wait before the first retry.
const BACKOFF: Duration = Duration::from_millis(200);

/// The timeout for opening a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The API's URL, and the headers of each request.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ApiAddress {
    /// The API's URL: the stack's output ApiUrl
    #[arg(long, env = "LATELY_URL", value_name = "URL", default_value = "http://127.0.0.1:3000", global = true, value_parser = parse_url)]
    pub(crate) url: Url,

    /// A header to send with each request, such as 'Host: api.example.org'; repeatable
    #[arg(long = "header", value_name = "NAME: VALUE", global = true, value_parser = parse_header)]
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
}

impl ApiAddress {
    /// The API's URL.
    pub(crate) fn base(&self) -> String {
        self.url.as_str().trim_end_matches('/').to_owned()
    }

    /// A client of the API without a token.
    pub(crate) fn client(self) -> reqwest::Result<Lately> {
        // Installs the process's TLS provider, unless DynamoDB's client has installed it already.
        drop(rustls::crypto::ring::default_provider().install_default());
        let mut options = Options::new(self.base());
        let http = Client::builder().connect_timeout(CONNECT_TIMEOUT);
        // Never through a proxy: on the proxy's machine, a loopback address is another server.
        let http = if is_here(&self.url) { http.no_proxy() } else { http };
        options.http = Some(http.default_headers(self.headers.into_iter().collect()).build()?);
        options.backoff = BACKOFF;
        Ok(Lately::with(options))
    }
}

/// True if the URL is of this machine.
pub(crate) fn is_here(url: &Url) -> bool {
    url.host_str().is_some_and(|host| LOOPBACK.contains(&host))
}

#[expect(clippy::unnecessary_wraps, reason = "clap expects a `Result` from a parser")]
pub(crate) fn parse_token(text: &str) -> Result<Token, std::convert::Infallible> {
    Ok(Token::of(text))
}

/// Parses a URL. A program on this machine may be named without a scheme, as in `localhost:3000`.
pub(crate) fn parse_url(text: &str) -> Result<Url, String> {
    let has_scheme = text.contains("://");
    let parsed: Result<Url, _> = if has_scheme { text.parse() } else { format!("http://{text}").parse() };
    match parsed {
        Ok(url) if ["http", "https"].contains(&url.scheme()) && (has_scheme || is_here(&url)) => Ok(url),
        Err(error) if has_scheme => Err(format!("must be a valid URL: {error}")),
        _ => Err("must be a URL that begins with http:// or https://".to_owned()),
    }
}

pub(crate) fn parse_header(text: &str) -> Result<(HeaderName, HeaderValue), String> {
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
}
