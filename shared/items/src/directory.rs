//! A topic's directory: one entry for each bucket that contains events.
//!
//! ```text
//! table   pk  TOPIC#{topic}    sk  BUCKET#{label}
//! ```
//!
//! Labels of one topic have one width, so a partition's entries sort as their time does.

use lately_keys::{Bucket, Topic};

use crate::key::key;

key! {
    /// The item that describes a bucket.
    pub struct DirectoryKey {
        /// The topic.
        pub topic: Topic,
        /// The bucket.
        pub bucket: Bucket,
    }
    Table: pk "TOPIC#{topic}" sk "BUCKET#{bucket}"
    const PREFIX
    fn sort_key(bucket: Bucket)
}
