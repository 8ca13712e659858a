//! The marks in a feed's partition, which come before the entries: the sources that the feed pulls, and how far the
//! user has seen the feed.
//!
//! ```text
//! FEED#{user} / #PULL#{source}    since S         see pull_marker.rs
//! FEED#{user} / #SEEN             id S            see seen.rs
//! ```

use lately_items::SeenMarkKey;
use lately_keys::{EventId, Source, TableKey, User};
use lately_table::{Corrupt, Item};

use crate::pull_marker::PullMarker;

/// The marks of a feed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    pub(crate) pulls: Vec<PullMarker>,
    /// The newest event that the user has seen.
    pub(crate) seen: Option<EventId>,
}

impl Marks {
    /// True if the feed pulls an event that a source lists.
    pub(super) fn pull(&self, source: &Source, id: EventId) -> bool {
        self.pulls.iter().any(|pull| pull.source == *source && pull.since <= id)
    }

    pub(super) fn decode(items: &[Item]) -> Result<Self, Corrupt> {
        let mut marks = Self::default();
        for item in items {
            if SeenMarkKey::decode(item.text("pk")?, item.text("sk")?).is_some() {
                marks.seen = Some(item.parsed("id")?);
            } else {
                marks.pulls.push(PullMarker::decode(item)?);
            }
        }
        Ok(marks)
    }
}

/// The item of a user's seen mark.
pub(super) fn seen_mark(user: &User, id: EventId) -> Item {
    Item::at(&SeenMarkKey { user: user.clone() }).with("id", id.to_string())
}
