//! A walk through one user's entries, in steps: a cleanup walks through the feed, a backfill through the source's
//! timeline.
//!
//! A feed can hold millions of entries. One delivery must neither hold its lane of the stream for as long as the walk
//! takes, nor begin again at the top after a failure. So a delivery takes one step of a bounded number of queries. If
//! entries remain, the step puts a page of a job, and the stream record of that page takes the next step.
//!
//! These rules must hold:
//! - A step ends only after its writes are durable, and the page that it puts begins at the step's end. So a step that
//!   is delivered again repeats at most itself.

use lately_items::{FeedWalk, FollowerKey, JobKind, JobStep};
use lately_keys::{EventId, UnixMillis};
use lately_table::TableError;

use crate::work::Next;

/// The first step of a walk that a change of a follower begins.
pub(super) fn first(key: &FollowerKey, walk: FeedWalk, id: EventId, at: UnixMillis) -> JobStep {
    JobStep::first(JobKind::Walk(walk), id, key.source.clone(), at).in_shard(key.shard)
}

/// The step that continues with the rest of a walk.
pub(super) fn next(step: &JobStep, rest: FeedWalk) -> Result<Next<JobStep>, TableError> {
    let next = step.next().ok_or_else(|| TableError::unavailable("a job has too many pages"))?;
    Ok(Next::Again(JobStep { task: JobKind::Walk(rest), ..next }))
}
