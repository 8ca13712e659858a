//! The marker in a feed that says: merge this source's timeline into the feed when the feed is read.
//!
//! ```text
//! FEED#{user} / #PULL#{source}
//!   since S (the first id that is pulled; the feed itself holds the older entries)
//! ```

use lately_items::PullMarkerKey;
use lately_keys::{EventId, Key, Source, TableKey, User};
use lately_table::{Corrupt, Item};

/// A source that a feed pulls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PullMarker {
    pub(crate) source: Source,
    /// The feed pulls the source's entries with this id and all later ones.
    pub(crate) since: EventId,
}

impl PullMarker {
    pub(crate) fn encode(&self, user: &User) -> Item {
        Item::under(Self::key(user, &self.source)).with("since", self.since.to_string())
    }

    pub(crate) fn key(user: &User, source: &Source) -> Key {
        PullMarkerKey { user: user.clone(), source: source.clone() }.encode()
    }

    pub(crate) fn decode(item: &Item) -> Result<Self, Corrupt> {
        let PullMarkerKey { source, .. } = item.key_as()?;
        Ok(Self { source, since: item.parsed("since")? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_bytes() {
        let since = "0190a4cd-d3e7-7222-9f99-fdb74feee752";
        let marker = PullMarker { source: "actor:ada".parse().unwrap(), since: since.parse().unwrap() };
        let stored = Item::from([("pk", "FEED#bob"), ("sk", "#PULL#actor:ada"), ("since", since)]);
        assert_eq!(marker.encode(&"bob".parse().unwrap()), stored);
        assert_eq!(PullMarker::decode(&stored), Ok(marker));
    }
}
