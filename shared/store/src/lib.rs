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
mod op;
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
pub use consumer::{ConsumerError, ConsumerHandle, ConsumerNotFound};
pub use cost::{Cost, Tally, Units};
pub use error::{FindError, TableError, Unavailable};
pub use event::{DeleteEventError, EventNotFound, GetEventError, decode as decode_event};
pub use fan_out::{FanOutOutcome, NoBatch, Record};
pub use feed::{FeedFinding, FeedHandle, FeedReport, SeeError};
pub use follow::{FollowError, Followed, UserHandle};
pub use idempotency::Idempotency;
pub use import::ImportError;
pub use issue::{
    ChangeIssueError, GetIssueError, IssueHandle, IssueNotFound, IssuesError, IssuesHandle, MigrationPlan,
    MigrationReport, OpenIssueError, RepositoryHandle,
};
pub use item::Corrupt;
pub use latest::LatestError;
pub use list::ListError;
pub use op::Op;
pub use range::Range;
pub use record::{
    DocumentKey, DocumentNotFound, GetDocumentError, RecordHandle, StoredDocument, WriteDocumentError,
};
pub use run::{Begun, CommittedRun, LateError, LookUp, Progress, Run, RunError, RunHandle, RunsHandle};
pub use session::{SessionError, SessionList, SessionNotFound, SessionsHandle};
pub use settings::FeedSettings;
pub use source::SourceHandle;
pub use store::Store;
pub use timeline::{TimelineError, TimelineHandle};
pub use topic::{PutTopicError, TopicError, TopicHandle, TopicNotFound, TopicsHandle};
pub use write::{Submission, WriteError, Written};
