//! An operator's settings for feeds.

use lately_model::RetentionDays;

use crate::limits::{AUDIENCE, ENTRIES_PER_QUERY, FAN_OUT_LIMIT, QUERIES_PER_STEP};

/// Followers of one page of a job: 180 KB to read, and 80 calls of 25 items each to write, which take a second.
const FOLLOWERS_PER_JOB: u16 = 2_000;

/// The settings of feeds. [`limits`](crate::limits) has the defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedSettings {
    /// A source with more followers than this is pulled.
    pub fan_out_limit: u64,
    /// Feeds keep an entry for this long; `None`: as long as its event exists.
    pub retention: Option<RetentionDays>,
    /// Jobs handle the events of a source with more followers than this.
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
