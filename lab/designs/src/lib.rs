//! Five designs that others have published for "the latest first" on DynamoDB, with one reader and one writer for all.
//!
//! They are here to be understood, to be measured beside Lately's own design, and to import tables that were built with
//! them. Nothing that is deployed depends on this crate.
//!
//! - **Keys** ([`keys`], pure): each design's key types, write key, partitions, sort keys, and where the design breaks.
//! - **Design** (`design.rs`): all differences between the designs.
//! - **Walk** (`walk.rs`, pure): the partitions that a read visits, in order, and the sort keys to read in each. Newest
//!   first, a walk finds the latest events and every later page; oldest first, the events since a checkpoint. A Scan
//!   finds neither.
//! - **Stop** (`stop.rs`, pure): merges the partitions that share a time.
//! - **Read** (`read.rs`): sends the queries of a round in parallel, within the work that one read may do.
//! - **Write** (`write.rs`): writes events; an event replaces another event with the same key.
//!
//! A table may have any name, and its key attributes may have any names; its key types are the design's.
//!
//! These rules must hold. The pages of a walk contain each event once, in the order of the keys. Every query that ended
//! early is continued, or becomes the position. The cost includes the visits to empty partitions.
//!
//! ```
//! use std::num::NonZeroU32;
//!
//! use jiff::Timestamp;
//! use lately_designs::{Design, DesignTable, KeyAttributes, KeyType, Walk};
//! use lately_table::{Connection, Item};
//!
//! # async fn example(connection: Connection, entropy: u128) -> Result<(), Box<dyn std::error::Error>> {
//! // In a table of this design, the partition key and the sort key are strings.
//! let design = Design::QuarterHour;
//! assert_eq!((design.key_types().pk, design.key_types().sk), (KeyType::S, KeyType::S));
//! let keys = KeyAttributes { pk: "quarter".to_owned(), sk: "second".to_owned() };
//! let table = DesignTable::new(connection, design.clone(), keys);
//!
//! let now: Timestamp = "2016-10-23T01:44:59Z".parse()?;
//! table.write([(design.write_key(now, entropy)?, Item::new())]).await?;
//!
//! // The latest 50 events of two days, and the next page.
//! let two_days_ago = "2016-10-21T01:44:59Z".parse()?;
//! let fifty = NonZeroU32::new(50).ok_or("not none")?;
//! let walk = Walk::newest_first(two_days_ago, now, fifty);
//! let (page, cost) = table.read(&walk).await?;
//! assert!(page.events.len() <= 50 && cost.calls >= 1);
//! let (next, _) = table.read(&Walk { position: Some(page.position), ..walk }).await?;
//!
//! // An incremental report: all events since a checkpoint. The position is the next checkpoint.
//! let checkpoint = "2016-10-23T01:30:00Z".parse()?;
//! let mut since = Walk { consistent: true, ..Walk::oldest_first(checkpoint, now, fifty) };
//! loop {
//!     let (page, _) = table.read(&since).await?;
//!     since.position = Some(page.position);
//!     if !page.has_more {
//!         break;
//!     }
//! }
//! # Ok(())
//! # }
//! ```

mod design;
mod key;
pub mod keys;
mod read;
mod stop;
mod walk;
mod write;

use lately_table::Connection;

pub use design::Design;
pub use key::{Event, KeyAttributes};
pub use keys::{
    Chronological, InvertedUuid, KeyTime, KeyType, KeyTypes, KeyValue, NaturalOrder, PublishedError,
    QuarterHour, ReverseTicks, ShardedDay, ShardedDayScope, SortKeys, Token, TokenError, Window, WriteKey,
};
pub use read::{Page, ReadError};
pub use walk::{Position, Walk};

/// A timeline in a table of a published design.
#[derive(Clone, Debug)]
pub struct DesignTable {
    connection: Connection,
    design: Design,
    keys: KeyAttributes,
}

impl DesignTable {
    /// A timeline in a table that has these key attributes, of the [design's types](Design::key_types).
    pub fn new(connection: Connection, design: Design, keys: KeyAttributes) -> Self {
        Self { connection: connection.with_key_names(&keys.pk, &keys.sk), design, keys }
    }
}
