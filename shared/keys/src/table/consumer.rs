//! A consumer's checkpoint: the position up to which it has read.
//!
//! ```text
//! table   pk  CONSUMER#{topic}#{name}    sk  CHECKPOINT
//! ```
//!
//! It shares a partition with the consumer's report runs ([`RunKey`](super::RunKey)).

use std::fmt;

use crate::key::{Key, Place, TableKey};
use crate::name::{Consumer, Topic};
use crate::text::segments;

/// The item of a consumer. Its text is the partition of the consumer and its runs.
///
/// ```
/// use lately_keys::TableKey;
/// use lately_keys::table::ConsumerKey;
///
/// let key = ConsumerKey { topic: "billing".parse()?, name: "nightly".parse()? }.encode();
/// assert_eq!((&*key.pk, &*key.sk), ("CONSUMER#billing#nightly", "CHECKPOINT"));
/// # Ok::<(), lately_keys::NameError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ConsumerKey {
    /// The topic that it reads.
    pub topic: Topic,
    /// Its name.
    pub name: Consumer,
}

impl ConsumerKey {
    pub(super) fn parse(pk: &str) -> Option<Self> {
        let ["CONSUMER", topic, name] = segments(pk)? else { return None };
        Some(Self { topic: topic.parse().ok()?, name: name.parse().ok()? })
    }
}

impl fmt::Display for ConsumerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CONSUMER#{}#{}", self.topic, self.name)
    }
}

impl TableKey for ConsumerKey {
    const PLACE: Place = Place::Table;

    fn encode(&self) -> Key {
        Key { pk: self.to_string(), sk: "CHECKPOINT".to_owned() }
    }

    fn decode(pk: &str, sk: &str) -> Option<Self> {
        (sk == "CHECKPOINT").then(|| Self::parse(pk)).flatten()
    }
}
