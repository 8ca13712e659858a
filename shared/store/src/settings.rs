//! What an operator decides about feeds.

use lately_model::RetentionDays;

use crate::limits::{AUDIENCE, ENTRIES_PER_QUERY, FAN_OUT_LIMIT, FOLLOWERS_PER_JOB, QUERIES_PER_STEP};

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
    /// Entries that one query of a backfill or a cleanup reads.
    pub entries_per_query: u32,
    /// Queries of one step of a backfill or a cleanup.
    pub queries_per_step: u32,
}

impl Default for FeedSettings {
    fn default() -> Self {
        Self {
            fan_out_limit: FAN_OUT_LIMIT,
            retention: None,
            audience: AUDIENCE,
            followers_per_job: FOLLOWERS_PER_JOB,
            entries_per_query: ENTRIES_PER_QUERY,
            queries_per_step: QUERIES_PER_STEP,
        }
    }
}
