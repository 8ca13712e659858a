//! What an operator decides about feeds.

use lately_model::RetentionDays;

use crate::limits::{AUDIENCE, FAN_OUT_LIMIT, FOLLOWERS_PER_JOB};

/// How events come into feeds. The default is what [`limits`](crate::limits) says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedSettings {
    /// A source with more followers than this is pulled.
    pub fan_out_limit: u64,
    /// How long feeds keep an entry; `None`: as long as there is its event.
    pub retention: Option<RetentionDays>,
    /// A source with more followers than this is handled by jobs.
    pub audience: u16,
    /// Followers of one page of a job.
    pub followers_per_job: u16,
}

impl Default for FeedSettings {
    fn default() -> Self {
        Self {
            fan_out_limit: FAN_OUT_LIMIT,
            retention: None,
            audience: AUDIENCE,
            followers_per_job: FOLLOWERS_PER_JOB,
        }
    }
}
