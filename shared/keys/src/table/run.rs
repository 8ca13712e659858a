//! A report run: a range of a topic that was reported or is being reported.
//!
//! ```text
//! table   pk  CONSUMER#{topic}#{name}    sk  RUN#{id of the range's end}
//! ```
//!
//! The id is not inverted, so runs sort by their ends, oldest first. The run that covers an id is the first run at or
//! after the id.

use super::ConsumerKey;
use crate::id::EventId;
use crate::key::{Key, Place, TableKey};
use crate::text::canonical;

/// The item of a report run.
///
/// ```
/// use lately_keys::TableKey;
/// use lately_keys::table::{ConsumerKey, RunKey};
///
/// let consumer = ConsumerKey { topic: "billing".parse()?, name: "nightly".parse()? };
/// let key = RunKey { consumer, to: "0190a4cd-d3e7-7222-9f99-fdb74feee752".parse()? }.encode();
/// assert_eq!((&*key.pk, &*key.sk), ("CONSUMER#billing#nightly", "RUN#0190a4cd-d3e7-7222-9f99-fdb74feee752"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RunKey {
    /// The run's consumer.
    pub consumer: ConsumerKey,
    /// The last id that it covers.
    pub to: EventId,
}

impl RunKey {
    /// The prefix of all runs' sort keys. The partition is the consumer's text.
    pub const PREFIX: &str = "RUN#";

    /// The sort key of a run, for a range of them.
    pub fn sort_key(to: EventId) -> String {
        format!("{}{to}", Self::PREFIX)
    }
}

impl TableKey for RunKey {
    const PLACE: Place = Place::Table;

    fn encode(&self) -> Key {
        Key { pk: self.consumer.to_string(), sk: Self::sort_key(self.to) }
    }

    fn decode(pk: &str, sk: &str) -> Option<Self> {
        let to = sk.strip_prefix(Self::PREFIX)?;
        Some(Self { consumer: ConsumerKey::parse(pk)?, to: canonical(to)? })
    }
}
