//! A follow, in the user's partition and in the source's: the sources that a user follows, and the followers of a source,
//! spread over shards. Each shard has its own counts.
//!
//! ```text
//! table   pk  USER#{user}               sk  FOLLOWS#{source}
//!   n N (the follower shard), since N (milliseconds)
//! table   pk  FOLLOWERS#{source}#{n}    sk  #COUNT                 the numbers of followers here and of leavers
//!   here N (followers now), left N (all who ever left), left_at N? (the last),
//!   expires_at N? (of an erased actor, until somebody follows again)
//!                                       sk  #LEFT#{time}#{user}    a leaver: a user who no longer follows
//!   expires_at N
//!                                       sk  {user}                 a follower
//!   since N (milliseconds), k N (how many older events the user wants)
//! ```
//!
//! A user's name starts with a letter or a digit, so the counts come first and are never mistaken for a user. Leavers
//! are sorted by the time at which they unfollowed.

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
        pub shard: Shard = required(SHARD = "n"),
        /// When the follow began.
        pub since: UnixMillis = required(SINCE = "since"),
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

record! {
    /// A follow as the source's follower shard holds it.
    pub struct Follower {
        /// The follower.
        pub user: User = required("sk"),
        /// When the follow began.
        pub since: UnixMillis = required(SINCE = "since"),
        /// The number of events from before the follow that the user wants.
        pub backfill: u16 = required("k"),
    }
}

impl Follower {
    /// The follower's item.
    pub fn encode(&self, source: &Source, shard: Shard) -> Item {
        self.add_to(Item::under(Self::key(source, shard, &self.user)))
    }

    /// The key of a follower.
    pub fn key(source: &Source, shard: Shard, user: &User) -> Key {
        FollowerKey { source: source.clone(), shard, user: user.clone() }.encode()
    }
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

record! {
    /// The numbers of followers and leavers of one shard.
    #[derive(Copy, Default)]
    pub struct FollowerCounts {
        /// Followers now.
        pub here: u64 = default(HERE = "here"),
        /// The number of times that a follower has left.
        pub left: u64 = default(LEFT = "left"),
        /// When the last follower left, by the clock of the process that wrote it. `None` if no follower has left.
        pub left_at: Option<UnixMillis> = optional(LEFT_AT = "left_at"),
    }
    key FollowerCountKey { .. }
}

impl FollowerCounts {
    /// The key of a shard's counts.
    pub fn key(source: &Source, shard: Shard) -> Key {
        FollowerCountKey { source: source.clone(), shard }.encode()
    }
}

key! {
    /// The item that says that a user followed a source until a time. It stays until the stream holds no record from
    /// before the unfollow.
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

#[cfg(test)]
mod tests {
    use super::*;

    const PK: &str = "FOLLOWERS#actor:ada#7";

    fn item(sk: &str, numbers: &[(&str, u64)]) -> Item {
        let key = Item::from([("pk", PK), ("sk", sk)]);
        numbers.iter().fold(key, |item, (name, number)| item.with(*name, *number))
    }

    #[test]
    fn golden_bytes() {
        let (user, source): (User, Source) = ("bob".parse().unwrap(), "actor:ada".parse().unwrap());
        let since = UnixMillis::new(1_720_244_197_351).unwrap();
        let follower = Follower { user: user.clone(), since, backfill: 50 };
        let stored = item("bob", &[("since", since.get()), ("k", 50)]);
        assert_eq!(follower.encode(&source, 7.into()), stored);
        assert_eq!(Follower::decode(&stored), Ok(follower));
        Follower::decode(&item("bob", &[("since", u64::MAX), ("k", 1)])).unwrap_err();

        assert_eq!(Item::under(FollowerCounts::key(&source, 7.into())), item("#COUNT", &[]));
        let counts = FollowerCounts { here: 3, left: 2, left_at: Some(since) };
        let stored = [("here", 3), ("left", 2), ("left_at", since.get())];
        assert_eq!(FollowerCounts::decode(&item("#COUNT", &stored)), Ok(counts));
        assert_eq!(FollowerCounts::decode(&item("#COUNT", &[])), Ok(FollowerCounts::default()));
        FollowerCounts::decode(&item("bob", &[])).unwrap_err();

        let key = LeaverKey { source, shard: 7.into(), at: since, user };
        let stored = item("#LEFT#2024-07-06T05:36:37.351Z#bob", &[("expires_at", 1_720_416_997)]);
        assert_eq!(Item::mark(&key, 1_720_416_997), stored);

        let LeaverKey { source, user, .. } = key;
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
