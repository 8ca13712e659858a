//! The announcement of a report run: the end of the range that it is about to read.
//!
//! ```text
//! table   pk  ANNOUNCED#{topic}    sk  {consumer's name}
//! ```
//!
//! All consumers of a topic share one partition, so fan-out reads all announcements with one query per event.

use crate::key::{Key, Place, TableKey};
use crate::name::{Consumer, Topic};
use crate::text::segments;

/// The item that announces a consumer's runs.
///
/// ```
/// use lately_keys::TableKey;
/// use lately_keys::table::AnnouncementKey;
///
/// let key = AnnouncementKey { topic: "billing".parse()?, name: "nightly".parse()? }.encode();
/// assert_eq!((&*key.pk, &*key.sk), ("ANNOUNCED#billing", "nightly"));
/// # Ok::<(), lately_keys::NameError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AnnouncementKey {
    /// The topic that is read.
    pub topic: Topic,
    /// The consumer that reads it.
    pub name: Consumer,
}

impl AnnouncementKey {
    /// The partition of a topic's announcements.
    pub fn partition(topic: &Topic) -> String {
        format!("ANNOUNCED#{topic}")
    }
}

impl TableKey for AnnouncementKey {
    const PLACE: Place = Place::Table;

    fn encode(&self) -> Key {
        Key { pk: Self::partition(&self.topic), sk: self.name.to_string() }
    }

    fn decode(pk: &str, sk: &str) -> Option<Self> {
        let ["ANNOUNCED", topic] = segments(pk)? else { return None };
        Some(Self { topic: topic.parse().ok()?, name: sk.parse().ok()? })
    }
}
