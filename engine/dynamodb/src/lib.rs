//! DynamoDB with streams, faults and seeds inside your tests, and in local runs. This crate is never part of a Lambda binary.
//!
//! Two crates build on it: `lately-pump` invokes functions with the stream's records, as Lambda does, and
//! `lately-template` reads the table that `template.yaml` declares.
//!
//! dynoxide, which implements DynamoDB's API on SQLite, stores the items. The engine replaces the SDK's HTTP
//! client, so the code under test runs unchanged, with the real `aws_sdk_dynamodb::Client` and no socket. This crate
//! adds the parts of DynamoDB that dynoxide lacks:
//!
//! - **The stream** ([`stream`]): the images of an item before and after each write, read under the lock of the write;
//!   shards, retention, sequence numbers, Lambda's event format. A write that changes nothing leaves no record.
//! - **Expiry** ([`Engine::expire`]): removes items whose TTL has passed, with the TTL service's identity.
//! - **Faults** ([`fault`]): throttling, failures, timeouts, unprocessed items, conflicts and crashes, drawn from a
//!   seed or injected into the call that a test names.
//! - **Staleness** ([`Lag`]): eventually consistent reads and indexes that lag behind the table.
//! - **Partitions** ([`PartitionLimits`]): the units that a partition, and an on-demand table with its few partitions,
//!   serve a second, and the throttling beyond them.
//! - **A port** ([`Engine::serve`]): the same engine for other clients. [`connections`] bounds what they use up.
//!
//! Time is an argument: a [`Clock`] drives expiry, retention, lag and partitions.
//!
//! ```
//! use aws_sdk_dynamodb::types::AttributeValue;
//! use lately_engine::fault::{Fault, Faults, Moment, Target};
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
//! let records = engine.stream("lately").expect("the table has a stream").all();
//! assert_eq!(records.len(), 1);
//!
//! // The first call is applied and its response is lost, so the SDK does not know its outcome.
//! let lossy = engine.client_with(Faults::seeded(7).nth(1, Target::any(), Fault::Timeout(Moment::After))).client();
//! let delete = lossy.delete_item().table_name("lately").key("pk", AttributeValue::S("a".into()));
//! assert!(delete.key("sk", AttributeValue::S("1".into())).send().await.is_err());
//! assert_eq!(engine.stream("lately").expect("the table has a stream").all().len(), 2);
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! Calls run on the caller's thread: SQLite in memory answers them in tens of microseconds. A program that keeps a
//! large stream should use mimalloc as its allocator: with glibc's, a put takes three times as long once the stream
//! holds a million records.
//!
//! # Differences from DynamoDB
//!
//! - Consumed capacity is DynamoDB's for every call that this project makes (`tests/engine/capacity.rs`).
//! - ARNs have the region `dynoxide`.
//! - PartiQL is missing: this project does not use it.
//! - A stream always has [`Options::shards`] shards, which neither split nor end.
//! - Without [`PartitionLimits`], nothing is ever throttled; scans are not limited even with them.
//! - The system's clock measures the ten minutes of a `ClientRequestToken`.

mod admission;
mod api_error;
mod call;
mod change;
mod client;
mod clock;
pub mod connections;
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
mod on_demand;
mod open_progress;
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
pub use on_demand::TableCapacity;
pub use open_progress::OpenProgress;
pub use operation::Operation;
pub use options::Options;
pub use partition::PartitionLimits;
pub use replica::Lag;
pub use serve::LOOPBACK;
pub use table::{KeyNames, StreamView};
pub use turns::give_way;
