//! Sends requests: the token, retries with back-off, problems, and the price of each attempt.
//!
//! No request takes effect twice. A request is sent again only if that is safe ([`Request::is_repeatable`]), or after
//! 429, which says that nothing was done.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::Result;
use crate::cost::Cost;
use crate::operation::Operation;
use crate::options::{Call, Options, Token};
use crate::problem::Problem;
use crate::request::Request;
use crate::response::Response;

/// A `Retry-After` beyond this is returned to the caller.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(60);

const LONGEST_BACKOFF: Duration = Duration::from_secs(5);

/// The options, and the state that a client shares with the clients that `using` makes from it.
#[derive(Clone, Debug)]
pub(crate) struct Transport {
    pub(crate) options: Arc<Options>,
    http: reqwest::Client,
    pub(crate) shared: Arc<Shared>,
}

/// The price of all calls until now, and the abilities that the server is known to lack.
#[derive(Debug)]
pub(crate) struct Shared {
    cost: Mutex<Cost>,
    /// True once the server has responded.
    is_heard: AtomicBool,
    pub(crate) streams: AtomicBool,
    pub(crate) waits: AtomicBool,
}

impl Transport {
    pub(crate) fn new(options: Options) -> Self {
        let http = options.http.clone().unwrap_or_else(|| {
            // Does nothing if the process has a TLS provider already.
            drop(rustls::crypto::ring::default_provider().install_default());
            reqwest::Client::new()
        });
        let (streams, waits) = (AtomicBool::new(true), AtomicBool::new(true));
        let shared = Shared { cost: Mutex::default(), is_heard: AtomicBool::default(), streams, waits };
        Self { options: Arc::new(options), http, shared: Arc::new(shared) }
    }

    pub(crate) fn using(&self, change: impl FnOnce(&mut Options)) -> Self {
        let mut options = Options::clone(&self.options);
        change(&mut options);
        let http = options.http.clone().unwrap_or_else(|| self.http.clone());
        Self { options: Arc::new(options), http, shared: self.shared.clone() }
    }

    pub(crate) fn cost(&self) -> Cost {
        *self.shared.cost.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request, and again where that is safe. The result is the response if its status is 2xx.
    pub(crate) async fn send(&self, request: &Request) -> Result<Response> {
        let Options { attempts, attempts_unheard, .. } = *self.options;
        // At most `attempts` times.
        for attempt in 1.. {
            let answer = self.attempt(request, attempt).await.and_then(Response::success);
            let is_heard = self.shared.is_heard.load(Relaxed);
            let attempts = if is_heard { attempts } else { attempts.min(attempts_unheard) };
            let problem = match answer {
                Err(problem) if attempt < attempts && may_repeat(request, &problem) => problem,
                answer => return answer.map_err(|problem| self.of(request, problem)),
            };
            self.pause(attempt, problem.retry_after).await;
        }
        unreachable!("the last attempt returns")
    }

    /// A problem with the request that it is about.
    pub(crate) fn of(&self, request: &Request, mut problem: Box<Problem>) -> Box<Problem> {
        (problem.url, problem.target) = (self.options.url.clone(), request.target.clone());
        problem
    }

    /// The operation that a request is.
    pub(crate) fn call<T: DeserializeOwned>(&self, request: Request) -> Operation<T> {
        Operation { transport: self.clone(), request, read: |response| response.json() }
    }

    /// One attempt. The response may have any status.
    pub(crate) async fn attempt(&self, request: &Request, attempt: u32) -> Result<Response> {
        let response = self.open(request, attempt, &self.options.url).await?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = self.in_time(response.bytes()).await?.into();
        Ok(Response { status, headers, body })
    }

    /// Opens a response whose body is read by the caller.
    pub(crate) async fn open(&self, request: &Request, attempt: u32, url: &str) -> Result<reqwest::Response> {
        let Request { method, target, headers, body, fault } = request;
        if let Some(problem) = fault {
            return Err(problem.clone());
        }
        let mut sent = self.http.request(method.clone(), format!("{}{target}", url.trim_end_matches('/')));
        sent = match &self.options.token {
            Token::None => sent,
            Token::Fixed(token) => sent.bearer_auth(token),
            Token::Current(token) => sent.bearer_auth(token()),
        };
        for (name, value) in headers {
            sent = sent.header(*name, value);
        }
        if let Some(body) = body {
            sent = sent.body(body.clone());
        }
        let response = self.in_time(sent.send()).await;
        let (status, cost) = match &response {
            Ok(response) => (response.status().as_u16(), Cost::of(response.headers())),
            Err(_) => (0, Cost::default()),
        };
        self.shared.is_heard.fetch_or(status > 0, Relaxed);
        *self.shared.cost.lock().unwrap_or_else(PoisonError::into_inner) += cost;
        if let Some(on_call) = &self.options.on_call {
            on_call(&Call { method: method.as_str(), target, status, attempt, cost });
        }
        response
    }

    async fn in_time<T>(&self, asked: impl Future<Output = reqwest::Result<T>>) -> Result<T> {
        let time = self.options.timeout;
        let answer = tokio::time::timeout(time, asked).await.map_err(|_| Problem::silent(time))?;
        answer.map_err(Problem::unreachable)
    }

    /// Waits before the next attempt: as long as the server asks, or a random time whose bound doubles.
    pub(crate) async fn pause(&self, attempt: u32, retry_after: Option<Duration>) {
        let backoff = self.options.backoff;
        let doubled = backoff.saturating_mul(1_u32.checked_shl(attempt - 1).unwrap_or(u32::MAX));
        let pause = match retry_after {
            Some(asked) => asked + backoff.mul_f64(fastrand::f64()),
            None => doubled.min(LONGEST_BACKOFF).mul_f64(fastrand::f64()),
        };
        tokio::time::sleep(pause).await;
    }
}

fn may_repeat(request: &Request, problem: &Problem) -> bool {
    problem.retry_after.unwrap_or_default() <= LONGEST_RETRY_AFTER
        && (problem.status == 429 || (problem.is_temporary() && request.is_repeatable()))
}
