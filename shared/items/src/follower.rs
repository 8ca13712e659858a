//! A follow edge in the source's partitions: the followers of a source, spread over shards. Each shard has its own
//! counts.
//!
//! ```text
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

use crate::item::{Corrupt, Item};
use crate::key::key;
use crate::record::{Record, record};

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
        pub user: User = of_key,
        /// When the follow began.
        pub since: UnixMillis = required("since"),
        /// The number of events from before the follow that the user wants.
        pub backfill: u16 = required("k"),
    }
    key FollowerKey
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

/// The numbers of followers and leavers of one shard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FollowerCounts {
    /// Followers now.
    pub here: u64,
    /// The number of times that a follower has left.
    pub left: u64,
    /// When the last follower left, by the clock of the process that wrote it. `None` if no follower has left.
    pub left_at: Option<UnixMillis>,
}

impl FollowerCounts {
    /// The attribute of the number of followers.
    pub const HERE: &str = "here";
    /// The attribute of the number of times that a follower has left.
    pub const LEFT: &str = "left";
    /// The attribute of the time at which the last follower left.
    pub const LEFT_AT: &str = "left_at";

    /// The key of a shard's counts.
    pub fn key(source: &Source, shard: Shard) -> Key {
        FollowerCountKey { source: source.clone(), shard }.encode()
    }

    /// The counts and their shard.
    pub fn decode(item: &Item) -> Result<(Shard, Self), Corrupt> {
        let FollowerCountKey { shard, .. } = item.key_as()?;
        let count = |name| Ok(item.optional(name)?.unwrap_or(0));
        Ok((
            shard,
            Self {
                here: count(Self::HERE)?,
                left: count(Self::LEFT)?,
                left_at: item.optional(Self::LEFT_AT)?,
            },
        ))
    }
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
    /// The item that says that a follower left. It stays until the stream holds no record from before the unfollow:
    /// up to a time in unix seconds.
    pub fn item(&self, expires_at: u64) -> Item {
        Item::at(self).with("expires_at", expires_at)
    }

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
        assert_eq!(FollowerCounts::decode(&item("#COUNT", &stored)), Ok((7.into(), counts)));
        assert_eq!(FollowerCounts::decode(&item("#COUNT", &[])), Ok((7.into(), FollowerCounts::default())));
        FollowerCounts::decode(&item("bob", &[])).unwrap_err();

        let key = LeaverKey { source, shard: 7.into(), at: since, user };
        let stored = item("#LEFT#2024-07-06T05:36:37.351Z#bob", &[("expires_at", 1_720_416_997)]);
        assert_eq!(key.item(1_720_416_997), stored);
    }
}
