//! DynamoDB inside the process, for local runs and tests. Never part of a Lambda binary.
//!
//! Two crates stand on this one: `lately-pump` invokes functions with the stream's records, as Lambda does, and
//! `lately-template` reads the table that `template.yaml` declares.
//!
//! dynoxide (DynamoDB's API on SQLite) stands behind the SDK's own HTTP client, so the code under test
//! runs unchanged, with the real `aws_sdk_dynamodb::Client` and no socket. Around dynoxide this crate
//! puts what a single-process database lacks:
//!
//! - **The stream** ([`stream`]): both images of every write, read under the lock the write ran under;
//!   shards, retention, sequence numbers, Lambda's event format. A write that changes nothing leaves
//!   no record.
//! - **Expiry** ([`Engine::expire`]): items go when their TTL has passed, with the TTL service's identity.
//! - **Faults** ([`fault`]): throttling, failures, timeouts, unprocessed items, conflicts and crashes, from
//!   a seed or on the very call a test names.
//! - **Staleness** ([`Lag`]): eventually consistent reads and indexes that are behind.
//! - **Partitions** ([`PartitionLimits`]): what one partition takes a second, and how it refuses more.
//! - **A port** ([`Engine::serve`]): the same engine for other clients.
//!
//! Time is an argument: a [`Clock`] drives expiry, retention, lag and partitions.
//!
//! ```
//! use aws_sdk_dynamodb::types::AttributeValue;
//! use lately_engine::{Attribute, Engine, KeyNames, Options, StreamView, TableDefinition};
//!
//! let attribute = |name: &str| Attribute { name: name.into(), kind: "S".into() };
//! let table = TableDefinition {
//!     attributes: vec![attribute("pk"), attribute("sk")],
//!     key: KeyNames { partition: "pk".into(), sort: Some("sk".into()) },
//!     indexes: Vec::new(),
//!     ttl_attribute: None,
//!     stream: Some(StreamView::NewAndOldImages),
//! };
//! let engine = Engine::memory(&Options::default())?;
//! engine.create_table(&table, "lately")?;
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let put = engine.client().put_item().table_name("lately");
//! let put = put.item("pk", AttributeValue::S("a".into()));
//! put.item("sk", AttributeValue::S("1".into())).send().await?;
//!
//! let records = engine.stream("lately").expect("the table has one").all();
//! assert_eq!(records.len(), 1);
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! Calls run in place, on the caller's thread: they are SQLite in memory and take tens of microseconds.
//! A program that keeps a large stream should use an allocator that copes with it (mimalloc): glibc's
//! makes a put three times slower once a million records are held.
//!
//! # Where it differs from DynamoDB
//!
//! - Consumed capacity is DynamoDB's for everything the project does (`tests/engine/capacity.rs`).
//! - ARNs have the region `dynoxide`.
//! - There is no PartiQL: nothing here uses it.
//! - Shards of a stream neither split nor end, and stay as many as [`Options::shards`].
//! - Without [`PartitionLimits`], nothing is ever throttled; scans are not limited even with them.
//! - The ten minutes of a `ClientRequestToken` are measured by the system's clock.

mod admission;
mod api_error;
mod attribute;
mod call;
mod capture;
mod change;
mod client;
mod clock;
mod control;
mod core;
mod definition;
mod directory_lock;
mod dispatch;
mod engine;
mod error;
mod expiry;
pub mod fault;
mod held_back;
mod image;
mod item_id;
mod journal;
mod key;
mod ledger;
pub mod limits;
mod operation;
mod options;
mod partition;
mod replica;
pub mod seed;
mod serve;
pub mod stream;
mod table;
mod turns;

pub use clock::Clock;
pub use definition::{Attribute, IndexDefinition, Projection, TableDefinition};
pub use directory_lock::Holder;
pub use engine::Engine;
pub use error::EngineError;
pub use operation::Operation;
pub use options::Options;
pub use partition::PartitionLimits;
pub use replica::Lag;
pub use serve::LOOPBACK;
pub use table::{KeyNames, StreamView};
pub use turns::give_way;
