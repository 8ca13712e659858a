//! The requests of a scenario: a caller sends a request and checks the response, once or until it is as expected.

use std::cell::RefCell;
use std::fmt::Display;
use std::time::Duration;

use lately_client::{Lately, Request, Response};
use lately_kit::clock;
use lately_kit::token::Token;
use reqwest::Method;
use serde_json::Value;

/// The first and the longest wait before a request is sent again. The wait doubles each time.
const PAUSE: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(2)];

/// The characters of a response that a failure's message contains.
const TOLD_CHARACTERS: usize = 400;

/// Why a step failed, as text for people.
#[derive(Debug, thiserror::Error)]
#[error("{told}")]
pub(super) struct StepFailure {
    told: String,
    /// True if a later attempt may succeed.
    passes: bool,
}

/// The API, the longest wait for an asynchronous write, and the paths to delete at the end.
#[derive(Debug)]
pub(super) struct ScenarioRun {
    lately: Lately,
    pub(super) patience: Duration,
    left: RefCell<Vec<String>>,
}

/// A caller, with a token or without.
#[derive(Debug)]
pub(super) struct ScenarioCaller<'a> {
    pub(super) name: String,
    world: &'a ScenarioRun,
    pub(super) lately: Lately,
}

/// A request that is not sent yet.
#[derive(Debug)]
pub(super) struct ScenarioCall<'a> {
    world: &'a ScenarioRun,
    lately: Lately,
    line: String,
    request: Request,
}

/// A response, with the request that it answers.
#[derive(Debug)]
pub(super) struct ScenarioAnswer {
    line: String,
    reply: Response,
    json: Value,
}

impl StepFailure {
    /// A failure that a later attempt cannot fix.
    pub(super) fn new(told: impl Display) -> Self {
        Self { told: told.to_string(), passes: false }
    }
}

impl ScenarioRun {
    pub(super) fn new(lately: Lately, patience: Duration) -> Self {
        Self { lately, patience, left: RefCell::default() }
    }

    /// Repeats an attempt until it succeeds or the time is over. A failure that waiting cannot fix ends it at once.
    pub(super) async fn wait<T>(
        &self,
        mut attempt: impl AsyncFnMut() -> Result<T, StepFailure>,
    ) -> Result<T, StepFailure> {
        let deadline = clock::monotonic_now() + self.patience;
        let [mut pause, longest] = PAUSE;
        loop {
            let failure = match attempt().await {
                Err(failure) if failure.passes => failure,
                found => return found,
            };
            let left = deadline.saturating_duration_since(clock::monotonic_now());
            if left.is_zero() {
                return Err(StepFailure::new(format_args!("after {} s: {failure}", self.patience.as_secs())));
            }
            tokio::time::sleep(pause.min(left)).await;
            pause = (pause * 2).min(longest);
        }
    }

    pub(super) fn caller(&self, name: impl Into<String>, token: Option<&Token>) -> ScenarioCaller<'_> {
        let token = token.map(|token| token.reveal().into()).unwrap_or_default();
        let lately = self.lately.using(|options| options.token = token);
        ScenarioCaller { name: name.into(), world: self, lately }
    }

    /// Notes a path to delete at the end.
    pub(super) fn leaves(&self, path: impl Into<String>) {
        self.left.borrow_mut().push(path.into());
    }

    /// The paths to delete, the last one first.
    pub(super) fn left(&self) -> Vec<String> {
        self.left.take().into_iter().rev().collect()
    }
}

impl<'a> ScenarioCaller<'a> {
    pub(super) fn get(&self, target: impl Display) -> ScenarioCall<'a> {
        self.call(Method::GET, target)
    }

    pub(super) fn put(&self, target: impl Display) -> ScenarioCall<'a> {
        self.call(Method::PUT, target)
    }

    pub(super) fn post(&self, target: impl Display) -> ScenarioCall<'a> {
        self.call(Method::POST, target)
    }

    pub(super) fn patch(&self, target: impl Display) -> ScenarioCall<'a> {
        self.call(Method::PATCH, target)
    }

    pub(super) fn delete(&self, target: impl Display) -> ScenarioCall<'a> {
        self.call(Method::DELETE, target)
    }

    fn call(&self, method: Method, target: impl Display) -> ScenarioCall<'a> {
        let target = target.to_string();
        let line = format!("{method} {target}");
        let (world, lately) = (self.world, self.lately.clone());
        ScenarioCall { world, lately, line, request: Request::new(method, target) }
    }
}

impl ScenarioCall<'_> {
    pub(super) fn json(self, body: &Value) -> Self {
        self.text("application/json", body.to_string())
    }

    pub(super) fn text(self, content_type: &str, body: impl Into<String>) -> Self {
        Self { request: self.request.body(content_type, body.into()), ..self }
    }

    pub(super) fn header(self, name: &'static str, value: &str) -> Self {
        Self { request: self.request.header(name, value), ..self }
    }

    /// Sends the request. The response must have this status.
    pub(super) async fn gives(self, status: u16) -> Result<ScenarioAnswer, StepFailure> {
        let answer = self.ask().await?;
        let is_so = answer.status() == status;
        answer.holds(is_so, status)
    }

    /// Sends the request. The response must be this problem.
    pub(super) async fn refused(self, status: u16, code: &str) -> Result<ScenarioAnswer, StepFailure> {
        let answer = self.ask().await?;
        let is_so = answer.is(status, code);
        answer.holds(is_so, format_args!("{status} {code}"))
    }

    /// Sends the request until a response satisfies `is_so`. A failure's message says that `what` was expected.
    pub(super) async fn until(
        self,
        what: &str,
        is_so: impl Fn(&ScenarioAnswer) -> bool,
    ) -> Result<ScenarioAnswer, StepFailure> {
        let attempt = async || {
            let answer = self.ask().await?;
            let is_so = is_so(&answer);
            answer.holds(is_so, what)
        };
        self.world.wait(attempt).await
    }

    async fn ask(&self) -> Result<ScenarioAnswer, StepFailure> {
        let line = self.line.clone();
        match self.lately.send_once(&self.request).await {
            // A body that is not JSON counts as null.
            Ok(reply) => Ok(ScenarioAnswer {
                json: serde_json::from_slice(&reply.body).unwrap_or_default(),
                line,
                reply,
            }),
            Err(problem) => Err(StepFailure::new(format_args!("{line} got no response: {}", problem.detail))),
        }
    }
}

impl ScenarioAnswer {
    pub(super) fn status(&self) -> u16 {
        self.reply.status.as_u16()
    }

    /// True if the response is this problem.
    pub(super) fn is(&self, status: u16, code: &str) -> bool {
        self.status() == status && self.json["code"] == code
    }

    /// The value at a JSON pointer; null if there is none.
    pub(super) fn at(&self, pointer: &str) -> &Value {
        self.json.pointer(pointer).unwrap_or(&Value::Null)
    }

    /// The string at a JSON pointer.
    pub(super) fn text(&self, pointer: &str) -> Result<String, StepFailure> {
        let text = self.at(pointer).as_str().map(str::to_owned);
        text.ok_or_else(|| self.is_not(format_args!("a string at {pointer}")))
    }

    /// A header's value.
    pub(super) fn header(&self, name: &str) -> Result<String, StepFailure> {
        let value = self.reply.header(name).map(str::to_owned);
        value.ok_or_else(|| self.is_not(format_args!("the header {name}")))
    }

    /// The field `name` of each member of the list at a JSON pointer.
    pub(super) fn list(&self, pointer: &str, name: &str) -> Vec<String> {
        let members = self.at(pointer).as_array().into_iter().flatten();
        members
            .map(|member| member[name].as_str().map_or_else(|| member[name].to_string(), str::to_owned))
            .collect()
    }

    /// The ids of the response's events.
    pub(super) fn ids(&self) -> Vec<String> {
        self.list("/events", "id")
    }

    /// Checks that the value at a JSON pointer is this one.
    pub(super) fn shows(self, pointer: &str, value: impl Into<Value>) -> Result<Self, StepFailure> {
        let value = value.into();
        let is_so = *self.at(pointer) == value;
        self.holds(is_so, format_args!("{value} at {pointer}"))
    }

    /// Checks that the events are these, in this order.
    pub(super) fn lists(self, ids: &[String]) -> Result<Self, StepFailure> {
        let is_so = self.ids() == ids;
        self.holds(is_so, format_args!("the events {ids:?}"))
    }

    /// The response if `is_so`; else a failure whose message says that `what` was expected.
    pub(super) fn holds(self, is_so: bool, what: impl Display) -> Result<Self, StepFailure> {
        if is_so { Ok(self) } else { Err(self.is_not(what)) }
    }

    /// A failure that a later attempt cannot fix.
    pub(super) fn never(&self, what: impl Display) -> StepFailure {
        StepFailure { passes: false, ..self.is_not(what) }
    }

    fn is_not(&self, what: impl Display) -> StepFailure {
        let Response { status, body, .. } = &self.reply;
        let problem = self.reply.problem();
        let told = if problem.is_lately() {
            format!("{}: {}", problem.code, problem.detail)
        } else {
            String::from_utf8_lossy(body).chars().take(TOLD_CHARACTERS).collect()
        };
        let id = problem.request_id.map(|id| format!(" (request {id})")).unwrap_or_default();
        let told = format!("{} returned {} {told}{id}, expected {what}", self.line, status.as_u16());
        let passes = match status.as_u16() {
            404 | 429 => true,
            status => !(400..500).contains(&status),
        };
        StepFailure { told, passes }
    }
}
