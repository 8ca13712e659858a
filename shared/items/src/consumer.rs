//! A consumer's checkpoint: the position up to which it has read.
//!
//! ```text
//! table   pk  CONSUMER#{topic}#{name}    sk  CHECKPOINT
//! ```
//!
//! It shares a partition with the consumer's report runs ([`RunKey`](crate::RunKey)).

use lately_keys::{Consumer, Topic};

use crate::key::key;

key! {
    /// The item of a consumer. Its text is the partition of the consumer and its runs.
    pub struct ConsumerKey {
        /// The topic that it reads.
        pub topic: Topic,
        /// Its name.
        pub name: Consumer,
    }
    text "CONSUMER#{topic}#{name}"
    Table: pk text sk "CHECKPOINT"
}
