//! The writes and reads a minute of a caller: counted for each request, and returned in headers.
//!
//! The price in the route's line says whether a request is a write or a read. A request takes one before its handler
//! runs. A read then counts once for each started [`READ_UNITS`] that it used. That is known only when the response is
//! made, so the rest is a debt of the caller: the response is sent, and the next request is refused. A caller without
//! a limit makes no call and gets no headers. The headers have the form of the IETF's draft
//! `draft-ietf-httpapi-ratelimit-headers`:
//!
//! ```text
//! RateLimit-Policy: "writes";q=600;w=60     600 writes in 60 seconds
//! RateLimit: "writes";r=40                  40 of them remain in this minute, as far as this process knows
//! RateLimit: "writes";r=0;t=7               none remains until the next minute, in 7 seconds
//! ```

use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use lately_items::QuotaHolder;
use lately_keys::QuotaKind;
use lately_model::RequestsPerMinute;
use lately_store::{Op, QuotaError, QuotaHandle, Units};

use crate::caller::Caller;
use crate::code::Code;
use crate::limits::READ_UNITS;
use crate::op::Price;
use crate::problem::Problem;

/// The header with the limit.
pub const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// The header with the rest.
pub const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");

/// The quota that a request counts for, and the request's handle, which counts it.
#[derive(Clone, Debug)]
pub(crate) struct Quota {
    op: Op,
    holder: QuotaHolder,
    kind: QuotaKind,
    limit: RequestsPerMinute,
}

impl Quota {
    /// The quota of a caller for a route of this price; none if the caller has no such limit.
    pub(crate) fn of(caller: &Caller, price: Price, op: &Op) -> Option<Self> {
        let kind = match price {
            Price::Free => return None,
            Price::Read | Price::ReadShared | Price::Stream => QuotaKind::Reads,
            Price::Write => QuotaKind::Writes,
        };
        let limit = caller.limits.of(kind)?;
        Some(Self { op: op.clone(), holder: caller.quota_holder(), kind, limit })
    }

    const fn handle(&self) -> QuotaHandle<'_> {
        self.op.quota(&self.holder, self.kind, self.limit)
    }

    /// Takes permission for so many requests.
    pub(crate) async fn acquire(&self, count: u32) -> Result<(), Problem> {
        let (kind, limit) = (self.kind.as_str(), self.limit);
        self.handle().take(count).await.map_err(|error| match error {
            QuotaError::Table(error) => error.into(),
            QuotaError::Over(seconds) => {
                let detail = format!("The token may make {limit} {kind} a minute. Try again in {seconds} s.");
                let problem = Problem::new(Code::RateLimited, detail).retry_after(seconds);
                let [policy, rest] = self.headers(&format!("0;t={seconds}"));
                problem.header(POLICY, policy).header(RATE_LIMIT, rest)
            }
        })
    }

    /// Counts the units that the request has used, if it is a read.
    pub(crate) async fn count_request(&self) {
        self.count(self.op.cost().read_units).await;
    }

    /// Counts the units of a read, whose first read is counted already. A failure is no failure of the response, which
    /// is made.
    async fn count(&self, units: Units) {
        let rest = reads_of(units).saturating_sub(1);
        if self.kind != QuotaKind::Reads || rest == 0 {
            return;
        }
        // The request may have used up its own time.
        let op = self.op.step();
        if let Err(error) = op.quota(&self.holder, self.kind, self.limit).owe(rest).await {
            tracing::warn!(%error, rest, "the reads of a request could not be counted");
        }
    }

    /// The values of both headers.
    fn headers(&self, rest: &str) -> [HeaderValue; 2] {
        let kind = self.kind.as_str();
        [format!("\"{kind}\";q={};w=60", self.limit), format!("\"{kind}\";r={rest}")]
            .map(|text| HeaderValue::try_from(text).expect("digits and names of kinds are visible ASCII"))
    }

    /// Adds the headers to a response that does not have them.
    pub(crate) async fn add_headers(&self, response: &mut Response) {
        if !response.headers().contains_key(POLICY) {
            let [policy, rest] = self.headers(&self.handle().remaining().await.to_string());
            response.headers_mut().extend([(POLICY, policy), (RATE_LIMIT, rest)]);
        }
    }
}

/// The number of reads that these units count as.
fn reads_of(units: Units) -> u32 {
    u32::try_from(units.halves.div_ceil(2 * READ_UNITS)).unwrap_or(u32::MAX)
}

/// The permission of a request. A request that is more than one write, such as a batch, acquires the rest once it
/// knows their number.
#[derive(Clone, Debug)]
pub struct Permission(Option<Quota>);

impl Permission {
    /// Waits until the caller may make one more request, for a response that takes long.
    ///
    /// # Errors
    /// If the table cannot be used.
    pub async fn wait(&self) -> Result<(), Problem> {
        let Some(quota) = &self.0 else { return Ok(()) };
        loop {
            let op = quota.op.step();
            match op.quota(&quota.holder, quota.kind, quota.limit).take(1).await {
                Ok(()) => return Ok(()),
                Err(QuotaError::Over(seconds)) => {
                    tokio::time::sleep(Duration::from_secs(seconds.into())).await
                }
                Err(QuotaError::Table(error)) => return Err(error.into()),
            }
        }
    }

    /// Counts the units of a page of a response that takes long, once the page is read. See [`Permission::wait`].
    pub async fn count(&self, units: Units) {
        if let Some(quota) = &self.0 {
            quota.count(units).await;
        }
    }

    /// Acquires permission for all events of a batch, instead of the one that the request acquired.
    ///
    /// # Errors
    /// 429 `rate-limited`: then the batch counts as one request. 422 `too-many-events`, if the batch has more events than
    /// the caller may write in a minute: such a batch can never be written.
    pub async fn acquire_all(&self, events: usize) -> Result<(), Problem> {
        let Some(quota) = &self.0 else { return Ok(()) };
        let limit = quota.limit;
        match u32::try_from(events).unwrap_or(u32::MAX) {
            0 | 1 => Ok(()),
            events if events <= limit.get() => quota.acquire(events - 1).await,
            events => {
                let detail = format!(
                    "The batch has {events} events, and the token may make {limit} writes a minute. Send smaller batches."
                );
                Err(Problem::new(Code::TooManyEvents, detail))
            }
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Permission {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Ok(Self(parts.extensions.get().cloned()))
    }
}
