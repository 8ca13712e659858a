//! A source's timeline, and the item that says how feeds read the source.
//!
//! ```text
//! table   pk  SOURCE#{source}    sk  {inverted id}    an entry of its timeline
//!                                sk  #SOURCE          its mode and follower shards
//! ```
//!
//! `#` sorts before every digit, so the item comes before the entries.

use crate::id::EventId;
use crate::key::{Key, Place, TableKey};
use crate::sort_key::SortKey;
use crate::source::Source;
use crate::text::segments;

fn parse_partition(pk: &str) -> Option<Source> {
    let ["SOURCE", source] = segments(pk)? else { return None };
    source.parse().ok()
}

/// An event in the timeline of one of its sources.
///
/// ```
/// use lately_keys::TableKey;
/// use lately_keys::table::SourceEntryKey;
///
/// let id = "0190a4cd-d3e7-7222-9f99-fdb74feee752".parse()?;
/// let key = SourceEntryKey { source: "actor:ada".parse()?, id }.encode();
/// assert_eq!((&*key.pk, &*key.sk), ("SOURCE#actor:ada", "fe6f5b32-2c18-8ddd-6066-0248b01118ad"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceEntryKey {
    /// The source.
    pub source: Source,
    /// The event.
    pub id: EventId,
}

impl SourceEntryKey {
    /// The partition of a source's timeline and item.
    #[must_use]
    pub fn partition(source: &Source) -> String {
        format!("SOURCE#{source}")
    }
}

impl TableKey for SourceEntryKey {
    const PLACE: Place = Place::Table;

    fn encode(&self) -> Key {
        Key { pk: Self::partition(&self.source), sk: self.id.sort_key().to_string() }
    }

    fn decode(pk: &str, sk: &str) -> Option<Self> {
        Some(Self { source: parse_partition(pk)?, id: sk.parse::<SortKey>().ok()?.id() })
    }
}

/// The item of a source: its mode (push or pull) and the number of shards of its followers.
///
/// ```
/// use lately_keys::TableKey;
/// use lately_keys::table::SourceItemKey;
///
/// let key = SourceItemKey { source: "actor:ada".parse()? }.encode();
/// assert_eq!((&*key.pk, &*key.sk), ("SOURCE#actor:ada", "#SOURCE"));
/// # Ok::<(), lately_keys::SourceError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceItemKey {
    /// The source.
    pub source: Source,
}

impl TableKey for SourceItemKey {
    const PLACE: Place = Place::Table;

    fn encode(&self) -> Key {
        Key { pk: SourceEntryKey::partition(&self.source), sk: "#SOURCE".to_owned() }
    }

    fn decode(pk: &str, sk: &str) -> Option<Self> {
        (sk == "#SOURCE").then_some(Self { source: parse_partition(pk)? })
    }
}
