//! The writes and reads a minute of a caller: taken before the handler runs, and told in headers.
//!
//! The route's price in the table of routes (`access.rs`) says whether a request is a write or a read. A caller without
//! a limit makes no call and gets no headers. The headers have the form of the IETF's draft
//! `draft-ietf-httpapi-ratelimit-headers`:
//!
//! ```text
//! RateLimit-Policy: "writes";q=600;w=60     600 writes in 60 seconds
//! RateLimit: "writes";r=40                  40 of them are left, as far as this process knows
//! RateLimit: "writes";r=0;t=7               none is left, and there will be some in 7 seconds
//! ```

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use lately_keys::table::{QuotaKey, QuotaKind};
use lately_model::RequestsPerMinute;
use lately_store::OverQuota;

use crate::caller::Caller;
use crate::code::Code;
use crate::op::{Op, Price};
use crate::problem::Problem;

/// The header with the limit.
pub const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// The header with the rest.
pub const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");

/// The quota that a request counts for.
#[derive(Clone, Debug)]
pub(crate) struct Quota {
    key: QuotaKey,
    limit: RequestsPerMinute,
}

impl Price {
    /// The kind of requests with this price.
    const fn quota_kind(self) -> Option<QuotaKind> {
        match self {
            Self::Free => None,
            Self::Read | Self::ReadShared => Some(QuotaKind::Reads),
            Self::Write => Some(QuotaKind::Writes),
        }
    }
}

impl Quota {
    /// The quota of a caller for a route of this price; none if the caller has no such limit.
    pub(crate) fn of(caller: &Caller, price: Price) -> Option<Self> {
        let kind = price.quota_kind()?;
        let limit = caller.limits.of(kind)?;
        Some(Self { key: QuotaKey { holder: caller.quota_holder(), kind }, limit })
    }

    /// Takes permission for so many requests.
    pub(crate) async fn take(&self, op: &Op, count: u32) -> Result<(), Problem> {
        let taken = op.quota(&self.key, self.limit).take(count).await;
        taken.map_err(|over| self.refused(over))
    }

    fn refused(&self, OverQuota { retry_after_seconds: seconds }: OverQuota) -> Problem {
        let Self { key: QuotaKey { kind, .. }, limit } = self;
        let kind = kind.as_str();
        let detail = format!("The token may make {limit} {kind} a minute. Try again in {seconds} s.");
        let rest = format!("\"{kind}\";r=0;t={seconds}");
        let problem = Problem::new(Code::RateLimited, detail).retry_after(seconds);
        problem.header(POLICY, self.policy()).header(RATE_LIMIT, text(rest))
    }

    fn policy(&self) -> HeaderValue {
        text(format!("\"{}\";q={};w=60", self.key.kind.as_str(), self.limit))
    }

    /// Adds the headers to a response that does not have them.
    pub(crate) async fn told(&self, mut response: Response, op: &Op) -> Response {
        let headers = response.headers_mut();
        if !headers.contains_key(POLICY) {
            let left = op.quota(&self.key, self.limit).remaining().await;
            headers.insert(POLICY, self.policy());
            headers.insert(RATE_LIMIT, text(format!("\"{}\";r={left}", self.key.kind.as_str())));
        }
        response
    }
}

fn text(value: String) -> HeaderValue {
    HeaderValue::try_from(value).expect("digits and names of kinds are visible ASCII")
}

/// The permission of a request. A request that is more than one write, such as a batch, takes the rest itself, once it
/// knows their number.
#[derive(Clone, Debug)]
pub struct Permission(Option<(Quota, Op)>);

impl Permission {
    /// Takes permission for all events of a batch, in place of the one that the request took.
    ///
    /// # Errors
    /// 429 `rate-limited`: then the batch counts as one request at most. 422 `too-many-events`, if the batch has more events than
    /// the caller may write in a minute: such a batch can never be written.
    pub async fn take_all(&self, events: usize) -> Result<(), Problem> {
        let Some((quota, op)) = &self.0 else { return Ok(()) };
        let limit = quota.limit;
        let events = u32::try_from(events).unwrap_or(u32::MAX);
        if events > limit.get() {
            let detail = format!(
                "The batch has {events} events, and the token may make {limit} writes a minute. Send smaller batches."
            );
            return Err(Problem::new(Code::TooManyEvents, detail));
        }
        let rest = events.saturating_sub(1);
        if rest == 0 {
            return Ok(());
        }
        let taken = quota.take(op, rest).await;
        if taken.is_err() {
            op.quota(&quota.key, limit).give_back(1).await;
        }
        taken
    }
}

impl<S: Sync> FromRequestParts<S> for Permission {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let op = || parts.extensions.get::<Op>().expect("a quota is taken from the request's handle").clone();
        Ok(Self(parts.extensions.get::<Quota>().map(|quota| (quota.clone(), op()))))
    }
}
