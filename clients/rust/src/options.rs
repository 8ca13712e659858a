//! The options of a client.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::cost::Cost;

/// A token.
#[derive(Clone, Default)]
pub enum Token {
    /// Requests have no token.
    #[default]
    None,
    /// Always the same token.
    Fixed(Arc<str>),
    /// The current token, which is asked for before each attempt.
    Current(Arc<dyn Fn() -> String + Send + Sync>),
}

impl From<&str> for Token {
    fn from(token: &str) -> Self {
        Self::Fixed(token.into())
    }
}

impl fmt::Debug for Token {
    /// Without the token: it is secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Sees each attempt of a call.
pub type OnCall = Arc<dyn Fn(&Call<'_>) + Send + Sync>;

/// One attempt of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call<'a> {
    /// The method.
    pub method: &'a str,
    /// The path, with its query.
    pub target: &'a str,
    /// The status of the response; 0 if none came.
    pub status: u16,
    /// The attempt, counted from 1.
    pub attempt: u32,
    /// Its price.
    pub cost: Cost,
}

/// The options of a client. [`Options::new`] has the defaults.
#[derive(Clone)]
#[non_exhaustive]
pub struct Options {
    /// The API's address. A base path is preserved.
    pub url: String,
    /// The token.
    pub token: Token,
    /// The address of the live routes, if it is another one (the stack's output `LiveUrl`).
    pub live_url: Option<String>,
    /// The most attempts of one call: 5.
    pub attempts: u32,
    /// The most attempts as long as the server has never responded, if they are fewer: a server that never responded is
    /// probably not running.
    pub attempts_unheard: u32,
    /// The time until an attempt without a response has failed, and until a silent stream is opened again: 30 s.
    pub timeout: Duration,
    /// The longest first pause: 100 ms. The pauses double up to 5 s.
    pub backoff: Duration,
    /// The time between two polls of a follow, if the server can neither stream nor wait: 1 s.
    pub poll_every: Duration,
    /// Sees each attempt and its price.
    pub on_call: Option<OnCall>,
    /// The HTTP client, for proxies, certificates and further headers. It must not end requests after a time of its
    /// own, because streams stay open.
    pub http: Option<reqwest::Client>,
}

impl Options {
    /// The defaults, for the API at an address.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            token: Token::None,
            live_url: None,
            attempts: 5,
            attempts_unheard: u32::MAX,
            timeout: Duration::from_secs(30),
            backoff: Duration::from_millis(100),
            poll_every: Duration::from_secs(1),
            on_call: None,
            http: None,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("url", &self.url).finish_non_exhaustive()
    }
}
