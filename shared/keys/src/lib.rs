//! Newest first on DynamoDB, as pure functions: ids, buckets, shards, keys and cursors.
//!
//! These are the values that keys are made of. The keys themselves are in `lately-items`, beside what is stored under
//! them. This crate knows no AWS, no clock and no random source: time and entropy are arguments, so tests can reach
//! everything in it.
//!
//! # The scheme in one example
//!
//! DynamoDB sorts only within a partition, and a partition serves a limited load. So an event's id carries its time
//! and its shard. The id alone gives the partition (a *bucket* of time and a *shard* of the bucket) and the position in
//! it, newest first:
//!
//! ```
//! use lately_keys::{Bucket, BucketWidth, Generator, Shard, Tick};
//! use std::time::Duration;
//!
//! // The caller reads the clock and the random source.
//! let clock = Tick::from_unix(Duration::from_millis(1_720_244_197_351))?;
//! let entropy = 0x0dd0_11ec_70b5_u64;
//!
//! let id = Generator::new().next(clock, Shard::from(3), entropy)?;
//! assert_eq!(id.to_string(), "0190868b-57e7-7000-80c0-0dd011ec70b5");
//!
//! assert_eq!(Bucket::containing(BucketWidth::Day, id.at()).to_string(), "2024-07-06");
//! assert_eq!(id.shard(), Shard::from(3));
//! assert_eq!(id.sort_key().to_string(), "fe6f7974-a818-8fff-7f3f-f22fee138f4a");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where to look
//!
//! | for | see |
//! | --- | --- |
//! | names a client may use | [`Topic`], [`Actor`], [`Subject`], …, [`Source`] |
//! | ids and their parts | [`EventId`], [`Tick`], [`Generator`] |
//! | sort keys, newest first | [`EventId::sort_key`] |
//! | windows of time | [`Bucket`], [`BucketWidth`] |
//! | splitting a hot partition | [`Shard`], [`ShardCount`] |
//! | the shards of a time | [`Coverage`], [`Spread`] |
//! | public ids of sessions and erasures | [`SessionId`], [`ErasureId`] |
//! | an issue's number, status and priority | [`IssueNumber`], [`IssueStatus`], [`IssuePriority`] |
//! | a key as two texts | [`Key`], [`TableKey`], [`Place`] |
//! | paging | [`Cursor`], [`Fingerprint`] |

#![deny(missing_docs)]

mod bucket;
mod caller;
mod coverage;
mod cursor;
mod fingerprint;
mod generator;
mod id;
mod issue;
mod key;
pub mod limits;
mod name;
mod public_id;
mod quota;
pub mod schema;
mod shard;
mod sort_key;
mod source;
mod text;
mod time;
mod word;

#[cfg(test)]
#[path = "tests/arbitrary.rs"]
mod arbitrary;

pub use bucket::{Bucket, BucketError, BucketWidth, BucketWidthError};
pub use caller::Caller;
pub use coverage::{Coverage, Spread, Stretch};
pub use cursor::{Cursor, CursorError, Malformed, Position};
pub use fingerprint::{Fingerprint, FingerprintBuilder};
pub use generator::{Exhausted, Generator};
pub use id::{EventId, IdError, Tick};
pub use issue::{IssueNumber, IssueNumberError, IssuePriority, IssueStatus, UnknownPriority, UnknownStatus};
pub use key::{Key, Place, TableKey};
pub use name::{Actor, App, Consumer, EventType, NameError, NameRule, Owner, Repo, Subject, Topic, User};
pub use public_id::{ErasureId, ErasureIdError, SessionId, SessionIdError};
pub use quota::QuotaKind;
pub use shard::{Shard, ShardCount, ShardCountError};
pub use source::{Source, SourceError};
pub use time::{Order, OrderError, TimeError, UnixMillis};
pub use word::UnknownWord;

/// The README's example, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
