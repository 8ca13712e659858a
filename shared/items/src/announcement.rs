//! The announcement of a report run: the end of the range that it is about to read.
//!
//! ```text
//! table   pk  ANNOUNCED#{topic}    sk  {consumer's name}
//! ```
//!
//! All consumers of a topic share one partition, so fan-out reads all announcements with one query per event.

use lately_keys::{Consumer, Topic};

use crate::key::key;

key! {
    /// The item that announces a consumer's runs.
    pub struct AnnouncementKey {
        /// The topic that is read.
        pub topic: Topic,
        /// The consumer that reads it.
        pub name: Consumer,
    }
    Table: pk "ANNOUNCED#{topic}" sk "{name}"
    fn partition(topic: &Topic)
}
