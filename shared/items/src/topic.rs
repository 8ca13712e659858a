//! A topic's settings, and the list of all topics.
//!
//! ```text
//! table   pk  TOPIC#{topic}    sk  CONFIG
//! gsi1    pk  TOPICS           sk  {topic}
//! ```
//!
//! The settings share a partition with the topic's directory ([`DirectoryKey`](crate::DirectoryKey)).

use lately_keys::Topic;

use crate::key::key;

key! {
    /// The item that holds a topic's settings.
    pub struct TopicKey {
        /// The topic.
        pub topic: Topic,
    }
    Table: pk "TOPIC#{topic}" sk "CONFIG"
    fn partition(topic: &Topic)
}

key! {
    /// A topic's entry in the list of all topics, by name.
    pub struct TopicListKey {
        /// The topic.
        pub topic: Topic,
    }
    Gsi1: pk "TOPICS" sk "{topic}"
}

impl TopicListKey {
    /// The index partition that lists all topics.
    pub const PARTITION: &str = "TOPICS";
}
