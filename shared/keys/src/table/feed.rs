//! A user's feed: its entries, the sources to pull, and the seen mark.
//!
//! ```text
//! table   pk  FEED#{user}    sk  #PULL#{source}    a source whose timeline is merged in
//!                            sk  #SEEN             the seen mark
//!                            sk  {inverted id}     an entry
//! ```
//!
//! `#` sorts before every digit. So one query from the start of the partition returns first the marks that reading the
//! page needs, and then the page.

use super::declare::{NewestFirst, key};
use crate::id::EventId;
use crate::name::User;
use crate::source::Source;

key! {
    /// An event in a user's feed.
    pub struct FeedEntryKey {
        /// The feed's user.
        pub user: User,
        /// The event.
        pub id: EventId as NewestFirst,
    }
    Table: pk "FEED#{user}" sk "{id}"
}

impl FeedEntryKey {
    /// The partition of a user's feed.
    pub fn partition(user: &User) -> String {
        format!("FEED#{user}")
    }
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
}

impl PullMarkerKey {
    /// The prefix of all markers' sort keys. The partition is [`FeedEntryKey::partition`].
    pub const PREFIX: &str = "#PULL#";
}

key! {
    /// The mark of the newest event that a user has seen in their feed.
    pub struct SeenMarkKey {
        /// The feed's user.
        pub user: User,
    }
    Table: pk "FEED#{user}" sk "#SEEN"
}
