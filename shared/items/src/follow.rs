//! A follow edge in the user's partition: the sources that a user follows.
//!
//! ```text
//! table   pk  USER#{user}    sk  FOLLOWS#{source}
//!   n N (the follower shard), since N (milliseconds)
//! ```

use lately_keys::{Key, Shard, Source, TableKey, UnixMillis, User};

use crate::item::Item;
use crate::key::key;
use crate::record::{Record, record};

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

record! {
    /// A follow as the user's partition holds it.
    pub struct FollowEdge {
        /// The followed source.
        pub source: Source = of_key,
        /// The source's follower shard that holds the follower.
        pub shard: Shard = required("n"),
        /// When the follow began.
        pub since: UnixMillis = required("since"),
    }
    key FollowKey { source, .. }
}

impl FollowEdge {
    /// The edge's item.
    pub fn encode(&self, user: &User) -> Item {
        self.add_to(Item::under(Self::key(user, &self.source)))
    }

    /// The key of an edge.
    pub fn key(user: &User, source: &Source) -> Key {
        FollowKey { user: user.clone(), source: source.clone() }.encode()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_bytes() {
        let (user, source): (User, Source) = ("bob".parse().unwrap(), "actor:ada".parse().unwrap());
        let since = UnixMillis::new(1_720_244_197_351).unwrap();
        let edge = FollowEdge { source, shard: 7.into(), since };
        let stored = Item::from([("pk", "USER#bob"), ("sk", "FOLLOWS#actor:ada")])
            .with("n", 7_u64)
            .with("since", since.get());
        assert_eq!(edge.encode(&user), stored);
        assert_eq!(FollowEdge::decode(&stored), Ok(edge));
        FollowEdge::decode(&stored.with("n", 256_u64)).unwrap_err();
        FollowEdge::decode(&Item::from([("pk", "USER#bob"), ("sk", "FOLLOWS#actor:ada")])).unwrap_err();
    }
}
