//! A follow edge in the source's partitions: the followers of a source, spread over shards. Each shard has its own
//! counts.
//!
//! ```text
//! table   pk  FOLLOWERS#{source}#{n}    sk  #COUNT                 the numbers of followers here and of leavers
//!                                       sk  #LEFT#{time}#{user}    a leaver: a user who no longer follows
//!                                       sk  {user}                 a follower
//! ```
//!
//! A user's name starts with a letter or a digit, so the counts come first and are never mistaken for a user. Leavers
//! are sorted by the time at which they unfollowed.

use lately_keys::{Shard, Source, UnixMillis, User};

use crate::key::key;

key! {
    /// The item that says that a source has a follower.
    pub struct FollowerKey {
        /// The followed source.
        pub source: Source,
        /// The shard that the follow was written to; the follow edge remembers it.
        pub shard: Shard,
        /// The follower.
        pub user: User,
    }
    Table: pk "FOLLOWERS#{source}#{shard}" sk "{user}"
    fn partition(source: &Source, shard: Shard)
}

key! {
    /// The item that counts one shard of a source's followers.
    pub struct FollowerCountKey {
        /// The followed source.
        pub source: Source,
        /// The shard that is counted.
        pub shard: Shard,
    }
    Table: pk "FOLLOWERS#{source}#{shard}" sk "#COUNT"
}

key! {
    /// The item that says that a user followed a source until a time.
    pub struct LeaverKey {
        /// The formerly followed source.
        pub source: Source,
        /// The shard that the follower was in.
        pub shard: Shard,
        /// When the follower unfollowed.
        pub at: UnixMillis,
        /// The former follower.
        pub user: User,
    }
    Table: pk "FOLLOWERS#{source}#{shard}" sk "#LEFT#{at}#{user}"
    const PREFIX
}

impl LeaverKey {
    /// A bound below the sort keys of all who unfollowed at this time or later.
    pub fn since(at: UnixMillis) -> String {
        format!("#LEFT#{at}")
    }
}
