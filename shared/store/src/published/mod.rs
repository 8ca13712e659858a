//! Tables of the designs that others have published: one writer and one reader for all of them.
//!
//! What a design is, and where it breaks, stands in [`lately_keys::published`]. Here each can be used as it was meant, on a
//! table of its own that has the design's key types, whatever the table and its key attributes are called: to measure
//! it, and to read a table that was built with it.
//!
//! - **Design** (`design.rs`): all that differs.
//! - **Walk** (`walk.rs`, pure): from what is asked for, which partitions are visited, in order, and which sort keys are
//!   wanted of them. Newest first it is the latest and every page behind it; oldest first it is what came since a
//!   checkpoint. Scan would give neither.
//! - **Stop** (`stop.rs`, pure): the partitions that share a time, merged.
//! - **Read** (`read.rs`): the queries of a round at once, within the work that one read may do.
//! - **Write** (`write.rs`): what has the key of another replaces it.
//!
//! What must hold: pages that are read one behind the other hold each event of the walk once, in the order of its keys;
//! every query's end is followed or becomes the position; the cost counts the partitions that held nothing.
//!
//! ```
//! use std::num::NonZeroU32;
//!
//! use jiff::Timestamp;
//! use lately_keys::published::KeyType;
//! use lately_store::published::{Attributes, Design, KeyAttributes, Table, Walk};
//! # use lately_store::Store;
//!
//! # async fn example(store: Store, entropy: u128) -> Result<(), Box<dyn std::error::Error>> {
//! // A store of a table that was created with a string and a string as its key.
//! let design = Design::QuarterHour;
//! assert_eq!((design.key_types().pk, design.key_types().sk), (KeyType::S, KeyType::S));
//! let keys = KeyAttributes { pk: "quarter".to_owned(), sk: "second".to_owned() };
//! let table = Table::new(store, design.clone(), keys);
//!
//! let now: Timestamp = "2016-10-23T01:44:59Z".parse()?;
//! table.write([(design.write_key(now, entropy)?, Attributes::new())]).await?;
//!
//! // The latest 50 of two days, and the page behind them.
//! let two_days_ago = "2016-10-21T01:44:59Z".parse()?;
//! let fifty = NonZeroU32::new(50).ok_or("not none")?;
//! let walk = Walk::newest_first(two_days_ago, now, fifty);
//! let (page, cost) = table.read(&walk).await?;
//! assert!(page.events.len() <= 50 && cost.calls >= 1);
//! let (next, _) = table.read(&Walk { position: Some(page.position), ..walk }).await?;
//!
//! // The incremental report: all since a checkpoint, which moves on.
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
mod read;
mod stop;
mod walk;
mod write;

pub use design::Design;
pub use key::{Attributes, Event, KeyAttributes};
pub use read::{Page, ReadError};
pub use walk::{Position, Walk};

use crate::store::Store;

/// A timeline in a table of a published design.
#[derive(Clone, Debug)]
pub struct DesignTable {
    store: Store,
    design: Design,
    keys: KeyAttributes,
}

impl DesignTable {
    /// A timeline of a store's table, which has these key attributes, of the [design's types](Design::key_types).
    #[must_use]
    pub const fn new(store: Store, design: Design, keys: KeyAttributes) -> Self {
        Self { store, design, keys }
    }
}
