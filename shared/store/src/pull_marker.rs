//! The mark in a feed that a source's timeline is merged into it when it is read.
//!
//! ```text
//! FEED#{user} / #PULL#{source}
//!   since S (the first id that is pulled: what is older, the feed holds itself)
//! ```

use lately_keys::table::PullMarkerKey;
use lately_keys::{EventId, Place, Source, TableKey, User};

use crate::item::{Corrupt, Fields, Item, keyed, text};

/// A source that a feed pulls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PullMarker {
    pub(crate) source: Source,
    /// Its entries with this id and those after it are pulled.
    pub(crate) since: EventId,
}

impl PullMarker {
    pub(crate) fn encode(&self, user: &User) -> Item {
        let mut item = Self::key(user, &self.source);
        item.insert("since".to_owned(), text(self.since.to_string()));
        item
    }

    pub(crate) fn key(user: &User, source: &Source) -> Item {
        keyed(Place::Table, PullMarkerKey { user: user.clone(), source: source.clone() }.encode())
    }

    pub(crate) fn decode(item: &Item) -> Result<Self, Corrupt> {
        let fields = Fields(item);
        let key = PullMarkerKey::decode(fields.text("pk")?, fields.text("sk")?);
        let PullMarkerKey { source, .. } = key.ok_or_else(|| fields.corrupt("sk"))?;
        Ok(Self { source, since: fields.parsed("since")? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_bytes() {
        let since = "0190a4cd-d3e7-7222-9f99-fdb74feee752";
        let marker = PullMarker { source: "actor:ada".parse().unwrap(), since: since.parse().unwrap() };
        let stored = [("pk", "FEED#bob"), ("sk", "#PULL#actor:ada"), ("since", since)];
        let stored: Item = stored.into_iter().map(|(name, value)| (name.to_owned(), text(value))).collect();
        assert_eq!(marker.encode(&"bob".parse().unwrap()), stored);
        assert_eq!(PullMarker::decode(&stored), Ok(marker));
    }
}
