//! The table: one file per access pattern, planned purely, run against DynamoDB, merged purely.
//!
//! | for | see |
//! | --- | --- |
//! | what is shared by all operations | `store.rs`, `call.rs`, `cost.rs`, `item.rs`, `ambient.rs` |
//! | topics | `topic.rs` |
//! | which buckets hold anything | `directory.rs` |
//! | writing events | `write.rs`, `idempotency.rs` |
//! | one event | `event.rs` |
//! | the latest events | `latest/` |
//! | sessions | `session.rs` |
//!
//! Every operation returns what it cost, as DynamoDB reported it, and has a deadline: within it, calls that
//! fail for a while are tried again, here and nowhere else.

#![deny(missing_docs)]

mod ambient;
mod call;
mod cost;
mod directory;
mod event;
mod idempotency;
mod item;
mod latest;
pub mod limits;
mod session;
mod store;
mod topic;
mod write;

pub use ambient::Ambient;
pub use call::{TableError, Unavailable};
pub use cost::{Cost, Units};
pub use event::{DeleteError, GetError};
pub use idempotency::Idempotency;
pub use item::Corrupt;
pub use latest::LatestError;
pub use session::{SessionError, SessionList};
pub use store::Store;
pub use topic::{ListTopicsError, PutTopicError, TopicError};
pub use write::{Submission, WriteError, Written};
