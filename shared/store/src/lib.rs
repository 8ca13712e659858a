//! Lately's operations on its table (`lately-table`), one file or folder per subject. An operation plans without I/O,
//! runs its calls against DynamoDB, and merges the answers without I/O.
//!
//! A request works with one [`Op`], which [`Store::op`] makes. The operations are methods of their subject:
//! `op.topic(&topic).latest(&query)`, `op.feed(&user).page(&query)`, `op.issue(&key).change(…)`. The `Op` meters the
//! cost of the request, and has a deadline. This crate and `lately-table` retry failed calls within the deadline, and
//! no code above them retries a call.
//!
//! | for | see |
//! | --- | --- |
//! | the store, one request, and its subjects | `op/`, `handle.rs` |
//! | the caches of a process | `op/memory.rs`, `moments.rs` |
//! | errors that subjects share | `error.rs`, `list.rs` |
//! | calls at the same time | `at_once.rs` |
//! | topics | `topic.rs` |
//! | the buckets that hold events | `directory/` |
//! | more shards for a busy bucket or source | `coverage.rs` |
//! | writing events | `write/`, `idempotency.rs` |
//! | one event | `event.rs` |
//! | a range of ids, and the direction of a walk | `span.rs` |
//! | reading one sorted partition | `lane.rs` |
//! | the buckets of a topic, one after another | `scan.rs` |
//! | the latest events | `latest/` |
//! | all events of a range | `range.rs` |
//! | consumers, and reports of what is new | `consumer/`, `run/` |
//! | sessions | `session.rs` |
//! | the writes and reads a minute of a caller, and its open streams | `quota/` |
//! | profiles and settings | `record.rs` |
//! | issues, and the upgrade of older ones | `issue/` |
//! | following | `follow/`, `source/` |
//! | erasing an actor or a user | `erasure/` |
//! | the work that follows from the table's stream | `fan_out/` |
//! | background work: its queue, and an operator's view | `work/` |
//! | timelines of sources, feeds | `timeline/`, `feed/`, `wait.rs` |
//! | following a timeline live | `live/` |
//! | the deletion of a topic, and another retention | `ending/` |

#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod at_once;
mod consumer;
mod coverage;
mod directory;
mod ending;
mod erasure;
mod error;
mod event;
mod fan_out;
mod feed;
mod follow;
mod handle;
mod idempotency;
mod issue;
mod issuer_keys;
mod lane;
mod late_log;
mod latest;
pub mod limits;
mod list;
mod live;
mod moments;
mod op;
mod paced_scan;
mod quota;
mod range;
mod record;
mod run;
mod scan;
mod session;
mod settings;
mod source;
mod span;
mod timeline;
mod topic;
mod wait;
mod work;
mod write;

pub use consumer::{ConsumerError, ConsumerNotFound};
pub use ending::{DeletionError, DeletionNotFound};
pub use erasure::{
    ActorIsBeingErased, ErasureCheck, ErasureError, ErasureFinding, ErasureNotFound, ErasureTrace,
};
pub use error::{FindError, TimelineError, TopicError, TopicNotFound};
pub use event::{DeleteEventError, EventNotFound, GetEventError};
pub use fan_out::{FanOutOutcome, NoBatch, Record};
pub use feed::{FeedFinding, FeedReport, SeeError};
pub use follow::{FollowError, Followed};
pub use handle::*;
pub use issue::{
    ChangeIssueError, GetIssueError, IssueNotFound, IssuesError, MigrationPlan, MigrationReport,
    OpenIssueError,
};
pub use lately_items::{CommittedRun, Idempotency, Progress, Run, StoredDocument, StoredKeys, WaitingStep};
pub use lately_table::{Ambient, Corrupt, Cost, Item, TableError, Tally, Units};
pub use list::ListError;
pub use live::{LiveFollower, LiveMessage};
pub use op::store::Store;
pub use op::{Op, Waiter};
pub use quota::QuotaError;
pub use quota::streams::OpenStream;
pub use range::Range;
pub use record::{DocumentKey, DocumentNotFound, GetDocumentError, RecordHandle, WriteDocumentError};
pub use run::{Begun, LookUp, RunError};
pub use session::{SessionError, SessionNotFound};
pub use settings::FeedSettings;
pub use topic::PutTopicError;
pub use work::UnknownWork;
pub use write::error::{ImportError, WriteError};
pub use write::{Submission, Written};
