//! A source's timeline, and the item that says how feeds read the source.
//!
//! ```text
//! table   pk  SOURCE#{source}             sk  {inverted id}    an entry of its timeline
//!                                         sk  #SOURCE          its spreads, its mode and its follower shards
//!         pk  SOURCE#{source}#SHARD{n}    sk  {inverted id}    an entry of a busy time, n from 1
//! ```
//!
//! `#` sorts before every digit, so the item comes before the entries of the first shard. One query reads both.

use std::fmt;

use lately_keys::{EventId, Key, Place, Shard, Source, TableKey};

use crate::form::{Form, NewestFirst};
use crate::key::{exact, key};

/// One partition of a source's timeline.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourcePartition {
    /// The source.
    pub source: Source,
    /// The shard. The first shard's partition also holds the source's item.
    pub shard: Shard,
}

impl SourcePartition {
    fn parse(pk: &str) -> Option<Self> {
        let text = pk.strip_prefix("SOURCE#")?;
        let (source, shard) = match text.split_once("#SHARD") {
            None => (text, 0.into()),
            Some((source, shard)) => (source, shard.parse().ok()?),
        };
        Some(Self { source: source.parse().ok()?, shard })
    }
}

impl fmt::Display for SourcePartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, shard } = self;
        match shard.get() {
            0 => write!(f, "SOURCE#{source}"),
            shard => write!(f, "SOURCE#{source}#SHARD{shard}"),
        }
    }
}

/// An event in the timeline of one of its sources.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceEntryKey {
    /// The source.
    pub source: Source,
    /// The shard of the timeline.
    pub shard: Shard,
    /// The event.
    pub id: EventId,
}

impl TableKey for SourceEntryKey {
    const PLACE: Place = Place::Table;

    fn encode(&self) -> Key {
        let partition = SourcePartition { source: self.source.clone(), shard: self.shard };
        Key { pk: partition.to_string(), sk: self.id.sort_key().to_string() }
    }

    fn decode(pk: &str, sk: &str) -> Option<Self> {
        let SourcePartition { source, shard } = SourcePartition::parse(pk)?;
        exact(Self { source, shard, id: NewestFirst::read(sk)? }, pk, sk)
    }
}

key! {
    /// The item of a source: the spreads of its timeline, its mode (push or pull) and the number of shards of its
    /// followers.
    pub struct SourceItemKey {
        /// The source.
        pub source: Source,
    }
    Table: pk "SOURCE#{source}" sk "#SOURCE"
}

impl SourceItemKey {
    /// The item's sort key, which comes before those of all entries.
    pub const SORT_KEY: &str = "#SOURCE";
}
