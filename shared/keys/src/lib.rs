//! Newest first on DynamoDB, as pure functions: ids, buckets, shards, keys and cursors.
//!
//! This crate is the whole key scheme of Lately. It knows no AWS, no clock and no random source: time and entropy are
//! arguments, so tests can reach everything in it.
//!
//! # The scheme in one example
//!
//! DynamoDB sorts only within a partition, and a partition serves a limited load. So an event's id carries its time
//! and its shard. The id alone gives the partition (a *bucket* of time and a *shard* of the bucket) and the position in
//! it, newest first:
//!
//! ```
//! use lately_keys::table::EventKey;
//! use lately_keys::{BucketWidth, Generator, Shard, TableKey, Tick};
//! use std::time::Duration;
//!
//! // The caller reads the clock and the random source.
//! let clock = Tick::from_unix(Duration::from_millis(1_720_244_197_351))?;
//! let entropy = 0x0dd0_11ec_70b5_u64;
//!
//! let id = Generator::new().next(clock, Shard::from(3), entropy)?;
//! assert_eq!(id.to_string(), "0190868b-57e7-7000-80c0-0dd011ec70b5");
//!
//! let key = EventKey::new("posts".parse()?, BucketWidth::Day, id).encode();
//! assert_eq!(key.pk, "EVENTS#posts#2024-07-06#SHARD3");
//! assert_eq!(key.sk, "fe6f7974-a818-8fff-7f3f-f22fee138f4a");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where to look
//!
//! | for | see |
//! | --- | --- |
//! | names a client may use | [`Topic`], [`Actor`], [`Subject`], …, [`Source`] |
//! | ids and their parts | [`EventId`], [`Tick`], [`Generator`] |
//! | sort keys, newest first | [`SortKey`] |
//! | windows of time | [`Bucket`], [`BucketWidth`] |
//! | splitting a hot partition | [`Shard`], [`ShardCount`] |
//! | the shards of a time | [`Coverage`], [`Spread`] |
//! | every key of the table | [`table`] |
//! | paging | [`Cursor`], [`Fingerprint`] |

#![deny(missing_docs)]

mod bucket;
mod caller;
mod coverage;
mod cursor;
mod fingerprint;
mod generator;
mod id;
mod key;
pub mod limits;
mod name;
mod shard;
mod sort_key;
mod source;
pub mod table;
mod text;
mod time;

#[cfg(test)]
mod arbitrary;

pub use bucket::{Bucket, BucketError, BucketWidth, BucketWidthError, Buckets};
pub use caller::{Caller, CallerError};
pub use coverage::{Coverage, Spread, SpreadsError, Stretch};
pub use cursor::{Cursor, CursorError, Malformed, Position};
pub use fingerprint::{Fingerprint, FingerprintBuilder};
pub use generator::{Exhausted, Generator};
pub use id::{EventId, IdError, Tick};
pub use key::{Key, Place, TableKey};
pub use name::{Actor, App, Consumer, EventType, NameError, NameRule, Owner, Repo, Subject, Topic, User};
pub use shard::{Shard, ShardCount, ShardCountError};
pub use sort_key::{SortKey, SortKeyError};
pub use source::{Source, SourceError};
pub use time::{Order, TimeError, UnixMillis};

/// The README's example, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
