//! A follow edge in the user's partition: the sources that a user follows.
//!
//! ```text
//! table   pk  USER#{user}    sk  FOLLOWS#{source}
//!   n N (the follower shard), since N (milliseconds)
//! ```

use lately_keys::{Key, Shard, Source, TableKey, UnixMillis, User};

use crate::item::{Corrupt, Item};
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

/// A follow as the user's partition holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FollowEdge {
    /// The followed source.
    pub source: Source,
    /// The source's follower shard that holds the follower.
    pub shard: Shard,
    /// When the follow began.
    pub since: UnixMillis,
}

impl FollowEdge {
    /// The edge's item.
    pub fn encode(&self, user: &User) -> Item {
        Item::under(Self::key(user, &self.source)).with("n", self.shard.get()).with("since", self.since.get())
    }

    /// The key of an edge.
    pub fn key(user: &User, source: &Source) -> Key {
        FollowKey { user: user.clone(), source: source.clone() }.encode()
    }

    /// The edge of an item.
    pub fn decode(item: &Item) -> Result<Self, Corrupt> {
        let FollowKey { source, .. } = item.key_as()?;
        Ok(Self { source, shard: item.number::<u8>("n")?.into(), since: item.millis("since")? })
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
