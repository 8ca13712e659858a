//! The table: one file per access pattern, planned purely, run against DynamoDB, merged purely.
//!
//! | for | see |
//! | --- | --- |
//! | what is shared by all operations | `store.rs`, `call.rs`, `cost.rs`, `item.rs`, `single.rs`, `batch_put.rs`, `query.rs`, `ambient.rs` |
//! | topics | `topic.rs` |
//! | which buckets hold anything | `directory.rs` |
//! | writing events | `placing.rs`, `write.rs`, `idempotency.rs`, `import.rs` |
//! | one event | `event.rs` |
//! | the latest events | `latest/` |
//! | a range of events, all of it | `range.rs` |
//! | consumers, and reports of what is new | `consumer/`, `run/` |
//! | sessions | `session.rs` |
//! | profiles and settings | `record.rs` |
//! | issues, and what becomes of older ones | `issue/` |
//! | how an item that changes is changed | `revision.rs` |
//! | all or nothing of several writes | `transaction.rs` |
//! | following | `follow/`, `source.rs` |
//! | what follows from the table's stream | `fan_out/` |
//! | entries of timelines and feeds, and marks | `entry.rs`, `pull_marker.rs` |
//! | timelines of sources, feeds | `timeline/`, `feed/`, `wait.rs`, `batch_get.rs` |
//! | tables of the designs that others have published | `published/` |
//!
//! Every operation returns what it cost, as DynamoDB reported it, and has a deadline: within it, calls that
//! fail for a while are tried again, here and nowhere else.

#![deny(missing_docs)]

mod ambient;
mod batch_get;
mod batch_put;
mod call;
mod consumer;
mod cost;
mod directory;
mod entry;
mod error;
mod event;
mod fan_out;
mod feed;
mod follow;
mod idempotency;
mod import;
mod issue;
mod item;
mod latest;
pub mod limits;
mod list;
mod placing;
pub mod published;
mod pull_marker;
mod query;
mod range;
mod record;
mod revision;
mod run;
mod session;
mod settings;
mod single;
mod source;
mod store;
mod timeline;
mod topic;
mod transaction;
mod wait;
mod write;

pub use ambient::Ambient;
pub use consumer::{ConsumerError, ConsumerNotFound};
pub use cost::{Cost, Tally, Units};
pub use error::{FindError, TableError, Unavailable};
pub use event::{DeleteEventError, EventNotFound, GetEventError, decode as decode_event};
pub use fan_out::{FanOutOutcome, NoBatch, Record};
pub use feed::{FeedFinding, FeedReport, SeeError};
pub use follow::{FollowError, Followed};
pub use idempotency::Idempotency;
pub use import::ImportError;
pub use issue::{
    ChangeIssueError, GetIssueError, IssueNotFound, IssuesError, MigrationPlan, MigrationReport,
    OpenIssueError,
};
pub use item::Corrupt;
pub use latest::LatestError;
pub use list::ListError;
pub use range::Range;
pub use record::{DocumentKey, DocumentNotFound, GetDocumentError, StoredDocument, WriteDocumentError};
pub use run::{Begun, CommittedRun, LateError, LookUp, Progress, Run, RunError};
pub use session::{SessionError, SessionList, SessionNotFound};
pub use settings::FeedSettings;
pub use store::Store;
pub use timeline::TimelineError;
pub use topic::{PutTopicError, TopicError, TopicNotFound};
pub use write::{Submission, WriteError, Written};
