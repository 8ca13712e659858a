//! Consumers: named readers of a topic, each with a checkpoint, and how nothing that lands late is lost to them.
//!
//! A consumer reads oldest first up to a watermark, some seconds behind now. Ids are given before events land, clocks
//! differ, writes stall, imports go into the past: so an event can land behind what was read already. This is how it is
//! found:
//!
//! - **Announcement** (`announcement.rs`): whoever is about to read up to `to` says so first, durably. Then the directory
//!   and the shards are read consistently.
//! - **Ledger** (`ledger.rs`): fan-out sees every event after it landed, and reads the announcements after that. An event
//!   at or before `to` is a *candidate*: it may have landed after it was read past. If it was not there when the
//!   announcement was made, then this is seen here, for what fan-out reads is later than what has landed. A candidate is
//!   noted in the ledger, and then its partition is counted.
//! - **Counters** (`counters.rs`): a reader looks only at partitions that were counted since it last settled all of them.
//!
//! What a candidate turns out to be, its reader decides: a report looks it up in the files of the run that covers it
//! (`run/late.rs`), which is exact; a poll gives it again, as late.
//!
//! | for | see |
//! | --- | --- |
//! | a consumer's state, and how it changes | `checkpoint.rs` |
//! | making one, and what is told of it | `status.rs` |
//! | the next batch, and its end | `poll.rs`, `commit.rs` |
//! | going elsewhere, and going away | `seek.rs`, `remove.rs` |
//!
//! What must hold, whoever sleeps for how long and wherever a process dies: a consumer that was deleted and made again is
//! another (its *incarnation* is told by the time of its creation), and nothing that was begun for the first reaches the
//! second. An announcement is there as long as its consumer is; all that refers to an incarnation is written under it.

pub(crate) mod announcement;
pub(crate) mod checkpoint;
mod commit;
pub(crate) mod counters;
pub(crate) mod ledger;
mod poll;
mod remove;
mod seek;
mod status;

use lately_keys::CursorError;
use lately_keys::table::ConsumerKey;

use crate::consumer::checkpoint::Checkpoint;
use crate::error::TableError;
use crate::limits::CONSUMERS;
use crate::op::Op;
use crate::topic::TopicError;

/// The topic has no such consumer, or the consumer is being deleted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the topic {} has no consumer {}", consumer.topic, consumer.name)]
pub struct ConsumerNotFound {
    /// The consumer that was asked for.
    pub consumer: ConsumerKey,
}

/// Why a consumer could not be read or changed, or its runs could not be listed.
#[derive(Debug, thiserror::Error)]
pub enum ConsumerError {
    /// The topic could not be read, or does not exist.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// The consumer does not exist.
    #[error(transparent)]
    NotFound(#[from] ConsumerNotFound),
    /// The batch is not the outstanding one.
    #[error("the batch is not the outstanding one")]
    StaleBatch,
    /// The topic has the highest permitted number of consumers.
    #[error("the topic already has {CONSUMERS} consumers")]
    TooManyConsumers,
    /// The consumer produces reports, so only runs move its position.
    #[error("the consumer produces reports and cannot be polled")]
    HasRuns,
    /// The cursor does not belong to this list.
    #[error(transparent)]
    Cursor(#[from] CursorError),
    /// The table could not be read or written.
    #[error(transparent)]
    Table(#[from] TableError),
}

/// A consumer that exists and is not being deleted.
pub(crate) fn existing(
    found: Option<Checkpoint>,
    consumer: &ConsumerKey,
) -> Result<Checkpoint, ConsumerNotFound> {
    let found = found.filter(|found| !found.deleting);
    found.ok_or_else(|| ConsumerNotFound { consumer: consumer.clone() })
}
/// One consumer, in one request.
#[derive(Clone, Copy, Debug)]
pub struct ConsumerHandle<'a> {
    pub(crate) op: &'a Op,
    pub(crate) consumer: &'a ConsumerKey,
}
