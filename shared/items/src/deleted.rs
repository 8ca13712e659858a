//! The note that an event was deleted which came with an `Idempotency-Key`.
//!
//! ```text
//! table   pk  DELETED#{topic}#{id}    sk  the same
//!   expires_at N
//! ```
//!
//! A client may repeat its request for a day, and a repetition finishes unfinished writes. An absent event was either
//! never written or deleted since; only this note distinguishes the two.

use lately_keys::{EventId, Topic};

use crate::item::Item;
use crate::key::key;

key! {
    /// The item that notes an event's deletion.
    pub struct DeletedEventKey {
        /// The event's topic.
        pub topic: Topic,
        /// The event's id.
        pub id: EventId,
    }
    Table: pk "DELETED#{topic}#{id}" sk "DELETED#{topic}#{id}"
}

impl DeletedEventKey {
    /// The note's item. It expires at this time, in unix seconds.
    pub fn item(&self, expires_at: u64) -> Item {
        Item::at(self).with("expires_at", expires_at)
    }
}
