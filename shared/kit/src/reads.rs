//! The parts of a request that a handler reads, and the refusal of all others.
//!
//! A parameter, a body or a header that nothing reads would be ignored: a misspelt `dry_run` would delete. So a route
//! refuses them before its handler runs. The types of a handler's arguments say what it reads ([`Reads`]), so no route
//! has a list of its own.

use axum::body::Body as RequestBody;
use axum::extract::{Path, Request, State};
use axum::handler::Handler;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_ENCODING;
use axum::http::request::Parts;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter, on};
use lately_model::{Faults, NoQuery, QueryString};

use crate::body::{self, Body, Whole};
use crate::caller::Caller;
use crate::code::Code;
use crate::handler::{Answering, AnyHandler};
use crate::idempotency::{Idempotency, KEY};
use crate::op::Op;
use crate::path::Part;
use crate::precondition::Under;
use crate::problem::Problem;
use crate::query::Query;
use crate::quota::Permission;

/// The check of a query string.
type QueryCheck = fn(&str) -> Result<(), Faults>;

/// The optional parts of a request that a handler reads.
#[derive(Clone, Copy, Debug)]
pub struct PartsRead {
    /// The check of the query string; none if the handler reads no query.
    query: Option<QueryCheck>,
    body: bool,
    idempotency_key: bool,
}

impl PartsRead {
    const NONE: Self = Self { query: None, body: false, idempotency_key: false };

    const fn and(self, other: Self) -> Self {
        Self {
            query: if self.query.is_some() { self.query } else { other.query },
            body: self.body || other.body,
            idempotency_key: self.idempotency_key || other.idempotency_key,
        }
    }

    /// Refuses a request that has a part which the handler does not read, or a query that is not valid. Returns the body.
    pub(crate) async fn check(self, parts: &Parts, body: RequestBody) -> Result<RequestBody, Problem> {
        if !is_identity(&parts.headers) {
            let detail = "The body must not be encoded. Send it without the header Content-Encoding.";
            return Err(Problem::new(Code::UnsupportedEncoding, detail));
        }
        if !self.idempotency_key && parts.headers.contains_key(KEY) {
            let detail =
                "Only POST /topics/{topic}/events takes an Idempotency-Key. Send this request without one.";
            return Err(Problem::new(Code::InvalidIdempotencyKey, detail));
        }
        let query = parts.uri.query().unwrap_or_default();
        let checked = self.query.map_or_else(|| NoQuery::parse(query).map(drop), |parse| parse(query));
        checked.map_err(|faults| Problem::of_faults(Code::InvalidQuery, faults))?;
        if self.body {
            return Ok(body);
        }
        body::require_none(&parts.headers, body).await?;
        Ok(RequestBody::empty())
    }
}

/// True if no content coding is applied to the body.
fn is_identity(headers: &HeaderMap) -> bool {
    let is_identity = |coding: &str| coding.is_empty() || coding.eq_ignore_ascii_case("identity");
    let mut values = headers.get_all(CONTENT_ENCODING).iter();
    values.all(|value| value.to_str().is_ok_and(|codings| codings.split(',').map(str::trim).all(is_identity)))
}

/// The arguments of a handler, or one of them.
pub trait Reads {
    /// The parts of the request that become the arguments.
    const PARTS: PartsRead = PartsRead::NONE;
}

impl<T: QueryString> Reads for Query<T> {
    const PARTS: PartsRead = PartsRead { query: Some(|query| T::parse(query).map(drop)), ..PartsRead::NONE };
}

impl<T> Reads for Body<T> {
    const PARTS: PartsRead = Whole::PARTS;
}

impl Reads for Whole {
    const PARTS: PartsRead = PartsRead { body: true, ..PartsRead::NONE };
}

impl Reads for Idempotency {
    const PARTS: PartsRead = PartsRead { idempotency_key: true, ..PartsRead::NONE };
}

impl Reads for Op {}
impl Reads for Caller {}
impl Reads for Permission {}
impl Reads for Under {}
impl Reads for HeaderMap {}
/// For its parts: its body and its query are not read.
impl Reads for Request {}
impl<T> Reads for Part<T> {}
impl<T> Reads for Path<T> {}
impl<T> Reads for State<T> {}

/// A handler of a route that is not in the table of routes, behind the same check.
pub fn checked<H, T, S>(method: MethodFilter, handler: H) -> MethodRouter<S>
where
    H: Handler<T, S, Future = Answering>,
    T: Reads + 'static,
    S: Clone + Send + Sync + 'static,
{
    on(method, AnyHandler::new(handler)).layer(from_fn_with_state(T::PARTS, check))
}

async fn check(State(read): State<PartsRead>, request: Request, next: Next) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let body = read.check(&parts, body).await?;
    Ok(next.run(Request::from_parts(parts, body)).await)
}

/// Implements a trait for handlers with up to seven arguments.
macro_rules! each_arity {
    ($implement:ident) => {
        $implement!();
        $implement!(A);
        $implement!(A B);
        $implement!(A B C);
        $implement!(A B C D);
        $implement!(A B C D E);
        $implement!(A B C D E F);
        $implement!(A B C D E F G);
    };
}
pub(crate) use each_arity;

/// axum describes a handler's arguments by a tuple that begins with a marker.
macro_rules! arguments {
    ($($argument:ident)*) => {
        impl<Marker, $($argument: Reads),*> Reads for (Marker, $($argument,)*) {
            const PARTS: PartsRead = PartsRead::NONE$(.and($argument::PARTS))*;
        }
    };
}

each_arity!(arguments);
