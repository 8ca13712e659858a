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

use lately_keys::{EventId, Source, User};

use crate::form::NewestFirst;
use crate::key::key;

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
