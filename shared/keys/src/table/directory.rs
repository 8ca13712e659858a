//! A topic's directory: one entry for each bucket that contains events.
//!
//! ```text
//! table   pk  TOPIC#{topic}    sk  BUCKET#{label}
//! ```
//!
//! Labels of one topic have one width, so a partition's entries sort as their time does.

use super::TopicKey;
use crate::bucket::Bucket;
use crate::key::{Key, Place, TableKey};
use crate::name::Topic;
use crate::text::segments;

/// The item that describes a bucket.
///
/// ```
/// use lately_keys::TableKey;
/// use lately_keys::table::DirectoryKey;
///
/// let key = DirectoryKey { topic: "posts".parse()?, bucket: "2026-11-20".parse()? }.encode();
/// assert_eq!((&*key.pk, &*key.sk), ("TOPIC#posts", "BUCKET#2026-11-20"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DirectoryKey {
    /// The topic.
    pub topic: Topic,
    /// The bucket.
    pub bucket: Bucket,
}

impl DirectoryKey {
    /// The prefix of all entries' sort keys. The partition is [`TopicKey::partition`].
    pub const PREFIX: &str = "BUCKET#";

    /// The sort key of a bucket's entry, for a range of them.
    pub fn sort_key(bucket: Bucket) -> String {
        format!("{}{bucket}", Self::PREFIX)
    }
}

impl TableKey for DirectoryKey {
    const PLACE: Place = Place::Table;

    fn encode(&self) -> Key {
        Key { pk: TopicKey::partition(&self.topic), sk: Self::sort_key(self.bucket) }
    }

    fn decode(pk: &str, sk: &str) -> Option<Self> {
        let ["TOPIC", topic] = segments(pk)? else { return None };
        let bucket = sk.strip_prefix(Self::PREFIX)?;
        Some(Self { topic: topic.parse().ok()?, bucket: bucket.parse().ok()? })
    }
}
