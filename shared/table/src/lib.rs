//! One DynamoDB table, as the store uses it: items, expressions, reads, writes, transactions, retries and their price.
//!
//! This crate is the only one that calls the SDK's operations for Lately's own table. Callers pass plain values, and
//! the crate turns these into expression strings and attribute maps:
//!
//! ```
//! # use lately_items::{FeedEntryKey, RepositoryKey};
//! # use lately_keys::TableKey;
//! # use lately_table::{Condition, Query, Table, TableError, Update};
//! # async fn example(table: &Table, repository: &RepositoryKey) -> Result<(), TableError> {
//! let page = Query::partition("FEED#ada").up_to("fe6f5b32-2c18-8ddd-6066-0248b01118ad").limit(50);
//! let newest = table.query(&page).await?;
//! println!("{} entries", newest.items.len());
//!
//! let has_numbers = Condition::absent("last").or(Condition::below("last", 99_u64));
//! let next = Update::of(repository).add("last", 1_u64).only_if(has_numbers);
//! match table.update_and_get(&next).await? {
//!     Some(counter) => println!("{}", counter.get::<u64>("last")?),
//!     None => println!("all numbers are taken"),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! | for | see |
//! | --- | --- |
//! | conditions, updates | `expression.rs` |
//! | a table, and operations on it | `connection.rs` |
//! | one call: its retries and its price | `call.rs`, `cost.rs`, `limits.rs` |
//! | one item | `single.rs` |
//! | many items by their keys, also at one moment | `batch.rs` |
//! | queries and scans | `query.rs` |
//! | transactions | `transaction.rs` |
//! | writes under a revision | `revision.rs` |
//! | clocks and random bits | `ambient.rs`, [`clock`], [`world`] |
//!
//! Two rules must hold. [`Table`] and its [`Attempts`] bound all retries: the SDK's own retries are off, so that this crate
//! knows which attempts are ambiguous (the call failed, and DynamoDB may have applied it). And every call reports its consumed
//! capacity to the operation's [`Meter`], so that each request knows its price.

#![deny(missing_docs)]

mod ambient;
mod batch;
mod call;
pub mod clock;
mod connection;
mod cost;
mod error;
mod expression;
pub mod limits;
mod query;
mod revision;
mod single;
mod transaction;
pub mod world;

pub use ambient::{Ambient, entropy_u64, now, tick};
pub use batch::{BatchOutcome, FoundKeys, Write};
pub use call::{Attempts, Fault, Refusal, Table};
pub use connection::Connection;
pub use cost::{Cost, Meter, Tally, Units};
pub use error::TableError;
pub use expression::{Condition, Update};
pub use lately_items::{Corrupt, Item, REVISION, Value};
pub use query::{Page, Query};
pub use revision::{Guarded, Rounds, delete_revised, put_revised};
pub use transaction::{Transacted, Transaction};
