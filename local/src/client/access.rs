//! The API that a command asks: its URL, its token, and the client of both.
//!
//! The client retries what may be retried, so no request takes effect twice. If there was never a response, the retries
//! end soon: the server is then probably not running. It reaches the API on this machine, behind a gateway, or under
//! another host name.

use std::time::Duration;

use lately_client::{Lately, Options, Token};
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Client, Url};

use crate::failure::Result;

/// The attempts while a person waits: they take about a second.
pub(crate) const FEW: u32 = 4;

/// The attempts when no person waits: they take about a minute, long enough for a server to restart.
pub(crate) const MANY: u32 = 30;

/// The longest wait before the first retry.
const BACKOFF: Duration = Duration::from_millis(200);

/// The timeout for opening a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The names of this machine.
const LOOPBACK: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// The API's URL and token, and the headers of each request.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ApiAddress {
    /// The API's URL: the stack's output ApiUrl
    #[arg(long, env = "LATELY_URL", value_name = "URL", default_value = "http://127.0.0.1:3000", global = true, value_parser = parse_url)]
    pub(crate) url: Url,

    #[command(flatten)]
    pub(crate) credentials: Credentials,
}

/// The token, and the headers of each request.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Credentials {
    /// A header to send with each request, such as 'Host: api.example.org'; repeatable
    #[arg(long = "header", value_name = "NAME: VALUE", global = true, value_parser = parse_header)]
    headers: Vec<(HeaderName, HeaderValue)>,

    /// The token to send; dev is the local program's admin
    #[arg(
        long,
        env = "LATELY_TOKEN",
        value_name = "TOKEN",
        default_value = "dev",
        hide_env_values = true,
        global = true
    )]
    token: Token,
}

/// The API's URL and token, and the form of the output. A command with subcommands takes them before and after the
/// subcommand.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "The API")]
pub struct Access {
    #[command(flatten)]
    pub(crate) address: ApiAddress,

    /// Print JSON, as the API returns it
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Print each response's DynamoDB cost to standard error
    #[arg(long, global = true)]
    pub(crate) cost: bool,
}

impl ApiAddress {
    /// A client of the API, which makes at most so many attempts of a request.
    pub(crate) fn client(self, attempts: u32) -> Result<Lately> {
        // Installs the process's TLS provider, unless DynamoDB's client has installed it already.
        drop(rustls::crypto::ring::default_provider().install_default());
        let http = Client::builder().connect_timeout(CONNECT_TIMEOUT);
        // Never through a proxy: on the proxy's machine, a loopback address is another server.
        let http = if is_here(&self.url) { http.no_proxy() } else { http };
        let mut options = Options::new(self.url.as_str().trim_end_matches('/'));
        options.http = Some(http.default_headers(self.credentials.headers.into_iter().collect()).build()?);
        options.backoff = BACKOFF;
        options.token = self.credentials.token;
        (options.attempts, options.attempts_unheard) = (attempts, FEW);
        Ok(Lately::with(options))
    }
}

/// True if the URL is of this machine.
pub(crate) fn is_here(url: &Url) -> bool {
    url.host_str().is_some_and(|host| LOOPBACK.contains(&host))
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
}
