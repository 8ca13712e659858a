//! The writes and reads a minute that a caller may make.

use std::fmt;

use lately_keys::QuotaKind;
use serde::{Deserialize, Serialize};

use crate::bounded::bounded;
use crate::limits::REQUESTS_PER_MINUTE;

bounded! {
    /// The number of writes or reads that a caller may make in a minute: 1 to 100,000.
    ///
    /// ```
    /// use lately_model::RequestsPerMinute;
    ///
    /// assert_eq!("600".parse::<RequestsPerMinute>()?.get(), 600);
    /// assert!("0".parse::<RequestsPerMinute>().is_err());
    /// # Ok::<(), lately_model::RequestsPerMinuteError>(())
    /// ```
    RequestsPerMinute(u32): 1..=REQUESTS_PER_MINUTE;
    /// The number of requests is too low or too high.
    RequestsPerMinuteError = "must be a whole number from {} to {}";
}

impl fmt::Display for RequestsPerMinute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

/// The limits of a caller: `{"writes_per_minute"?,"reads_per_minute"?}`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema), schema(as = flat::RateLimits))]
pub struct RateLimits {
    /// The writes a minute; without limit if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "document", schema(value_type = Option<crate::schemas::WritesPerMinute>))]
    pub writes_per_minute: Option<RequestsPerMinute>,
    /// The reads a minute; without limit if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "document", schema(value_type = Option<crate::schemas::ReadsPerMinute>))]
    pub reads_per_minute: Option<RequestsPerMinute>,
}

impl RateLimits {
    /// The limit of one kind of requests.
    pub const fn of(self, kind: QuotaKind) -> Option<RequestsPerMinute> {
        match kind {
            QuotaKind::Writes => self.writes_per_minute,
            QuotaKind::Reads => self.reads_per_minute,
            QuotaKind::Streams => None,
        }
    }
}
