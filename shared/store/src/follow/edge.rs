//! The three items of a follow: the edge, the follower, and the counts of its shard. And the leaver: the item that
//! remains after an unfollow.
//!
//! ```text
//! USER#{user} / FOLLOWS#{source}     n N (the follower shard), since N (milliseconds)
//! FOLLOWERS#{source}#{n} / {user}    since N, k N (how many older events the user wants)
//! FOLLOWERS#{source}#{n} / #COUNT    here N (followers now), left N (all who ever left), left_at N? (the last),
//!                                    expires_at N? (of an erased actor, until somebody follows again)
//! FOLLOWERS#{source}#{n} / #LEFT#…   expires_at N
//! ```

use lately_items::{FollowKey, FollowerCountKey, FollowerKey, LeaverKey};
use lately_keys::{Key, Shard, Source, TableKey, UnixMillis, User};
use lately_table::{Corrupt, Item};

use crate::limits::{CLOCKS_APART_MILLIS, ENDING_MARK_SECONDS};

/// A follow as the user's partition holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) source: Source,
    /// The source's follower shard that holds the follower.
    pub(crate) shard: Shard,
    pub(crate) since: UnixMillis,
}

impl Edge {
    pub(crate) fn encode(&self, user: &User) -> Item {
        Item::under(Self::key(user, &self.source)).with("n", self.shard.get()).with("since", self.since.get())
    }

    pub(crate) fn key(user: &User, source: &Source) -> Key {
        FollowKey { user: user.clone(), source: source.clone() }.encode()
    }

    pub(crate) fn decode(item: &Item) -> Result<Self, Corrupt> {
        let FollowKey { source, .. } = item.key_as()?;
        Ok(Self { source, shard: item.number::<u8>("n")?.into(), since: item.millis("since")? })
    }
}

/// A follow as the source's follower shard holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Follower {
    pub(crate) user: User,
    pub(crate) since: UnixMillis,
    /// The number of events from before the follow that the user wants.
    pub(crate) backfill: u16,
}

impl Follower {
    pub(crate) fn encode(&self, source: &Source, shard: Shard) -> Item {
        Item::under(Self::key(source, shard, &self.user))
            .with("since", self.since.get())
            .with("k", self.backfill)
    }

    pub(crate) fn key(source: &Source, shard: Shard, user: &User) -> Key {
        FollowerKey { source: source.clone(), shard, user: user.clone() }.encode()
    }

    pub(crate) fn decode(item: &Item) -> Result<Self, Corrupt> {
        Ok(Self { user: item.parsed("sk")?, since: item.millis("since")?, backfill: item.number("k")? })
    }
}

/// The numbers of followers and leavers of one shard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Followers now.
    pub(crate) here: u64,
    /// The number of times that a follower has left.
    pub(crate) left: u64,
    /// When the last follower left, by the clock of the process that wrote it. `None` if no follower has left.
    pub(crate) left_at: Option<UnixMillis>,
}

impl Counts {
    pub(crate) fn key(source: &Source, shard: Shard) -> Key {
        FollowerCountKey { source: source.clone(), shard }.encode()
    }

    /// The counts and their shard.
    pub(crate) fn decode(item: &Item) -> Result<(Shard, Self), Corrupt> {
        let FollowerCountKey { shard, .. } = item.key_as()?;
        let count = |name| Ok(item.optional_number(name)?.unwrap_or(0));
        let left_at = item.has("left_at").then(|| item.millis("left_at")).transpose()?;
        Ok((shard, Self { here: count("here")?, left: count("left")?, left_at }))
    }

    /// True if a follower may have left at a time or later.
    pub(crate) fn may_have_left_since(&self, since: UnixMillis) -> bool {
        let since = since.saturating_sub(CLOCKS_APART_MILLIS);
        self.left_at.is_some_and(|left_at| left_at >= since)
    }
}

/// The item that says that a follower left. It stays until the stream holds no record from before the unfollow.
pub(crate) fn leaver(key: &LeaverKey) -> Item {
    Item::at(key).with("expires_at", key.at.get() / 1000 + ENDING_MARK_SECONDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(pk: &str, sk: &str, numbers: &[(&str, u64)]) -> Item {
        let key = Item::from([("pk", pk), ("sk", sk)]);
        numbers.iter().fold(key, |item, (name, number)| item.with(*name, *number))
    }

    #[test]
    fn golden_bytes() {
        let (user, source): (User, Source) = ("bob".parse().unwrap(), "actor:ada".parse().unwrap());
        let since = UnixMillis::new(1_720_244_197_351).unwrap();
        let edge = Edge { source: source.clone(), shard: 7.into(), since };
        let stored = item("USER#bob", "FOLLOWS#actor:ada", &[("n", 7), ("since", since.get())]);
        assert_eq!(edge.encode(&user), stored);
        assert_eq!(Edge::decode(&stored), Ok(edge));

        let follower = Follower { user, since, backfill: 50 };
        let pk = "FOLLOWERS#actor:ada#7";
        let stored = item(pk, "bob", &[("since", since.get()), ("k", 50)]);
        assert_eq!(follower.encode(&source, 7.into()), stored);
        assert_eq!(Follower::decode(&stored), Ok(follower));

        assert_eq!(Item::under(Counts::key(&source, 7.into())), item(pk, "#COUNT", &[]));
        let counts = Counts { here: 3, left: 2, left_at: Some(since) };
        let stored = [("here", 3), ("left", 2), ("left_at", since.get())];
        let decoded = |stored| Counts::decode(&item(pk, "#COUNT", stored));
        assert_eq!(decoded(&stored), Ok((7.into(), counts)));
        assert_eq!(decoded(&[]), Ok((7.into(), Counts::default())));

        let key = LeaverKey { source, shard: 7.into(), at: since, user: "bob".parse().unwrap() };
        let stored = item(pk, "#LEFT#2024-07-06T05:36:37.351Z#bob", &[("expires_at", 1_720_416_997)]);
        assert_eq!(leaver(&key), stored);
    }

    #[test]
    fn leavers_since_a_time_allow_for_clock_differences() {
        let at = |millis| UnixMillis::new(millis).unwrap();
        let counts = |left_at| Counts { left_at, ..Counts::default() };
        assert!(!counts(None).may_have_left_since(at(100_000)));
        assert!(counts(Some(at(40_000))).may_have_left_since(at(100_000)));
        assert!(!counts(Some(at(39_999))).may_have_left_since(at(100_000)));
    }

    #[test]
    fn an_item_of_another_form_is_corrupt() {
        let edge = |numbers| item("USER#bob", "FOLLOWS#actor:ada", numbers);
        assert!(Edge::decode(&edge(&[("n", 256), ("since", 1)])).is_err());
        assert!(Edge::decode(&edge(&[("n", 1)])).is_err());
        let never = [("since", u64::MAX), ("k", 1)];
        assert!(Follower::decode(&item("FOLLOWERS#actor:ada#7", "bob", &never)).is_err());
        assert!(Counts::decode(&edge(&[])).is_err());
    }
}
