//! A follow edge in the user's partition: the sources that a user follows.
//!
//! ```text
//! table   pk  USER#{user}    sk  FOLLOWS#{source}
//! ```

use lately_keys::{Source, User};

use crate::key::key;

key! {
    /// The item that says that a user follows a source.
    pub struct FollowKey {
        /// The follower.
        pub user: User,
        /// The followed source.
        pub source: Source,
    }
    Table: pk "USER#{user}" sk "FOLLOWS#{source}"
    const PREFIX
}
