//! A user's feed: its entries, the sources to pull, and the seen mark.
//!
//! ```text
//! table   pk  FEED#{user}    sk  #PULL#{source}    a source whose timeline is merged in
//!   since S (the first id that is pulled; the feed itself holds the older entries)
//!                            sk  #SEEN             the seen mark
//!   id S
//!                            sk  {inverted id}     an entry: see timeline_entry.rs
//! ```
//!
//! `#` sorts before every digit. So one query from the start of the partition returns first the marks that reading the
//! page needs, and then the page.

use lately_keys::{EventId, Key, Source, TableKey, User};

use crate::form::NewestFirst;
use crate::item::{Corrupt, Item};
use crate::key::key;
use crate::record::{Record, record};

key! {
    /// An event in a user's feed.
    pub struct FeedEntryKey {
        /// The feed's user.
        pub user: User,
        /// The event.
        pub id: EventId as NewestFirst,
    }
    Table: pk "FEED#{user}" sk "{id}"
    fn partition(user: &User)
}

key! {
    /// The mark that a source's timeline is merged into a feed when it is read.
    pub struct PullMarkerKey {
        /// The feed's user.
        pub user: User,
        /// The source to pull.
        pub source: Source,
    }
    Table: pk "FEED#{user}" sk "#PULL#{source}"
    const PREFIX
}

key! {
    /// The mark of the newest event that a user has seen in their feed.
    pub struct SeenMarkKey {
        /// The feed's user.
        pub user: User,
    }
    Table: pk "FEED#{user}" sk "#SEEN"
}

impl SeenMarkKey {
    /// The attribute of the event.
    pub const ID: &str = "id";

    /// The item of the mark of an event.
    pub fn item(&self, id: EventId) -> Item {
        Item::at(self).with(Self::ID, &id)
    }
}

record! {
    /// A source that a feed pulls.
    pub struct PullMarker {
        /// The source.
        pub source: Source = of_key,
        /// The feed pulls the source's entries with this id and all later ones.
        pub since: EventId = required("since"),
    }
    key PullMarkerKey { source, .. }
}

impl PullMarker {
    /// The marker's item in a user's feed.
    pub fn encode(&self, user: &User) -> Item {
        self.add_to(Item::under(Self::key(user, &self.source)))
    }

    /// The key of a marker.
    pub fn key(user: &User, source: &Source) -> Key {
        PullMarkerKey { user: user.clone(), source: source.clone() }.encode()
    }
}

/// The marks of a feed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeedMarks {
    /// The sources that the feed pulls.
    pub pulls: Vec<PullMarker>,
    /// The newest event that the user has seen.
    pub seen: Option<EventId>,
}

impl FeedMarks {
    /// True if the feed pulls an event that a source lists.
    pub fn pull(&self, source: &Source, id: EventId) -> bool {
        self.pulls.iter().any(|pull| pull.source == *source && pull.since <= id)
    }

    /// The marks of items from the start of a feed's partition.
    pub fn decode(items: &[Item]) -> Result<Self, Corrupt> {
        let mut marks = Self::default();
        for item in items {
            if item.key_as::<SeenMarkKey>().is_ok() {
                marks.seen = Some(item.get(SeenMarkKey::ID)?);
            } else {
                marks.pulls.push(PullMarker::decode(item)?);
            }
        }
        Ok(marks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::ID;

    #[test]
    fn golden_bytes() {
        let marker = PullMarker { source: "actor:ada".parse().unwrap(), since: ID.parse().unwrap() };
        let stored = Item::from([("pk", "FEED#bob"), ("sk", "#PULL#actor:ada"), ("since", ID)]);
        assert_eq!(marker.encode(&"bob".parse().unwrap()), stored);
        assert_eq!(PullMarker::decode(&stored).as_ref(), Ok(&marker));
        let seen = Item::from([("pk", "FEED#bob"), ("sk", "#SEEN"), ("id", ID)]);
        assert_eq!(SeenMarkKey { user: "bob".parse().unwrap() }.item(marker.since), seen);
        let marks = FeedMarks { seen: Some(marker.since), pulls: vec![marker] };
        assert_eq!(FeedMarks::decode(&[stored, seen]), Ok(marks));
    }
}
