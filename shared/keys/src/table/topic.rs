//! A topic's settings, and the list of all topics.
//!
//! ```text
//! table   pk  TOPIC#{topic}    sk  CONFIG
//! gsi1    pk  TOPICS           sk  {topic}
//! ```
//!
//! The settings share a partition with the topic's directory ([`DirectoryKey`](super::DirectoryKey)).

use crate::key::{Key, Place, TableKey};
use crate::name::Topic;
use crate::text::segments;

/// The item that holds a topic's settings.
///
/// ```
/// use lately_keys::TableKey;
/// use lately_keys::table::TopicKey;
///
/// let key = TopicKey { topic: "posts".parse()? }.encode();
/// assert_eq!((&*key.pk, &*key.sk), ("TOPIC#posts", "CONFIG"));
/// # Ok::<(), lately_keys::NameError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TopicKey {
    /// The topic.
    pub topic: Topic,
}

impl TopicKey {
    /// The partition of a topic's settings and directory.
    pub fn partition(topic: &Topic) -> String {
        format!("TOPIC#{topic}")
    }
}

impl TableKey for TopicKey {
    const PLACE: Place = Place::Table;

    fn encode(&self) -> Key {
        Key { pk: Self::partition(&self.topic), sk: "CONFIG".to_owned() }
    }

    fn decode(pk: &str, sk: &str) -> Option<Self> {
        let ["TOPIC", topic] = segments(pk)? else { return None };
        (sk == "CONFIG").then_some(Self { topic: topic.parse().ok()? })
    }
}

/// A topic's entry in the list of all topics, by name.
///
/// ```
/// use lately_keys::TableKey;
/// use lately_keys::table::TopicListKey;
///
/// let key = TopicListKey { topic: "posts".parse()? }.encode();
/// assert_eq!((&*key.pk, &*key.sk), ("TOPICS", "posts"));
/// # Ok::<(), lately_keys::NameError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TopicListKey {
    /// The topic.
    pub topic: Topic,
}

impl TopicListKey {
    /// The index partition that lists all topics.
    pub const PARTITION: &str = "TOPICS";
}

impl TableKey for TopicListKey {
    const PLACE: Place = Place::Gsi1;

    fn encode(&self) -> Key {
        Key { pk: Self::PARTITION.to_owned(), sk: self.topic.to_string() }
    }

    fn decode(pk: &str, sk: &str) -> Option<Self> {
        (pk == Self::PARTITION).then_some(Self { topic: sk.parse().ok()? })
    }
}
