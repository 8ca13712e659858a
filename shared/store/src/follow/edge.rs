//! The three items of a follow: the edge, the follower, and the counts of its shard; and what is kept of one that is over.
//!
//! ```text
//! USER#{user} / FOLLOWS#{source}     n N (the follower shard), since N (milliseconds)
//! FOLLOWERS#{source}#{n} / {user}    since N, k N (how many older events were asked for)
//! FOLLOWERS#{source}#{n} / #COUNT    here N (followers now), left N (how many ever left), left_at N? (when the last left)
//! FOLLOWERS#{source}#{n} / #LEFT#…   expires_at N
//! ```

use lately_keys::table::{FollowKey, FollowerCountKey, FollowerKey, LeaverKey};
use lately_keys::{Place, Shard, Source, TableKey, UnixMillis, User};

use crate::item::{Corrupt, Fields, Item, keyed, number};
use crate::limits::{CLOCKS_APART_MILLIS, REDELIVERED_SECONDS};

/// What a user follows, as the user has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) source: Source,
    /// Which of the source's follower shards has its other side.
    pub(crate) shard: Shard,
    pub(crate) since: UnixMillis,
}

impl Edge {
    pub(crate) fn encode(&self, user: &User) -> Item {
        let mut item = Self::key(user, &self.source);
        item.insert("n".to_owned(), number(self.shard.get()));
        item.insert("since".to_owned(), number(self.since.get()));
        item
    }

    pub(crate) fn key(user: &User, source: &Source) -> Item {
        keyed(Place::Table, FollowKey { user: user.clone(), source: source.clone() }.encode())
    }

    pub(crate) fn decode(item: &Item) -> Result<Self, Corrupt> {
        let fields = Fields(item);
        let key = FollowKey::decode(fields.text("pk")?, fields.text("sk")?);
        let FollowKey { source, .. } = key.ok_or_else(|| fields.corrupt("sk"))?;
        Ok(Self { source, shard: fields.number::<u8>("n")?.into(), since: since(fields)? })
    }
}

/// Who follows, as the source has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Follower {
    pub(crate) user: User,
    pub(crate) since: UnixMillis,
    /// How many events older than the follow were asked for.
    pub(crate) backfill: u16,
}

impl Follower {
    pub(crate) fn encode(&self, source: &Source, shard: Shard) -> Item {
        let mut item = Self::key(source, shard, &self.user);
        item.insert("since".to_owned(), number(self.since.get()));
        item.insert("k".to_owned(), number(self.backfill));
        item
    }

    pub(crate) fn key(source: &Source, shard: Shard, user: &User) -> Item {
        let key = FollowerKey { source: source.clone(), shard, user: user.clone() };
        keyed(Place::Table, key.encode())
    }

    pub(crate) fn decode(item: &Item) -> Result<Self, Corrupt> {
        let fields = Fields(item);
        Ok(Self { user: fields.parsed("sk")?, since: since(fields)?, backfill: fields.number("k")? })
    }
}

/// How many follow in one shard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Followers now.
    pub(crate) here: u64,
    /// How many ever left.
    pub(crate) left: u64,
    /// When the last left, by the clock of who wrote it. None if nobody has left, or before this was kept.
    pub(crate) left_at: Option<UnixMillis>,
}

impl Counts {
    pub(crate) fn key(source: &Source, shard: Shard) -> Item {
        keyed(Place::Table, FollowerCountKey { source: source.clone(), shard }.encode())
    }

    /// The counts, and whose they are.
    pub(crate) fn decode(item: &Item) -> Result<(Shard, Self), Corrupt> {
        let fields = Fields(item);
        let key = FollowerCountKey::decode(fields.text("pk")?, fields.text("sk")?);
        let FollowerCountKey { shard, .. } = key.ok_or_else(|| fields.corrupt("sk"))?;
        let count = |name| Ok(fields.optional_number(name)?.unwrap_or(0));
        let left_at = item.contains_key("left_at").then(|| fields.millis("left_at")).transpose()?;
        Ok((shard, Self { here: count("here")?, left: count("left")?, left_at }))
    }

    /// Whether somebody may have left at a time or later.
    pub(crate) fn may_have_left_since(&self, since: UnixMillis) -> bool {
        let since = since.saturating_sub(CLOCKS_APART_MILLIS);
        self.left > 0 && self.left_at.is_none_or(|left_at| left_at >= since)
    }
}

/// What says that somebody left, until nothing can be delivered again that was delivered while they were there.
pub(crate) fn leaver(key: &LeaverKey) -> Item {
    let mut item = keyed(Place::Table, key.encode());
    item.insert("expires_at".to_owned(), number(key.at.get() / 1000 + REDELIVERED_SECONDS));
    item
}

fn since(fields: Fields<'_>) -> Result<UnixMillis, Corrupt> {
    UnixMillis::new(fields.number("since")?).map_err(|_| fields.corrupt("since"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::text;

    fn item(attributes: &[(&str, &str)], numbers: &[(&str, u64)]) -> Item {
        let texts = attributes.iter().map(|(name, value)| ((*name).to_owned(), text(*value)));
        texts.chain(numbers.iter().map(|(name, value)| ((*name).to_owned(), number(*value)))).collect()
    }

    #[test]
    fn golden_bytes() {
        let (user, source): (User, Source) = ("bob".parse().unwrap(), "actor:ada".parse().unwrap());
        let since = UnixMillis::new(1_720_244_197_351).unwrap();
        let edge = Edge { source: source.clone(), shard: 7.into(), since };
        let stored =
            item(&[("pk", "USER#bob"), ("sk", "FOLLOWS#actor:ada")], &[("n", 7), ("since", since.get())]);
        assert_eq!(edge.encode(&user), stored);
        assert_eq!(Edge::decode(&stored), Ok(edge));

        let follower = Follower { user, since, backfill: 50 };
        let stored =
            item(&[("pk", "FOLLOWERS#actor:ada#7"), ("sk", "bob")], &[("since", since.get()), ("k", 50)]);
        assert_eq!(follower.encode(&source, 7.into()), stored);
        assert_eq!(Follower::decode(&stored), Ok(follower));

        let key = [("pk", "FOLLOWERS#actor:ada#7"), ("sk", "#COUNT")];
        assert_eq!(Counts::key(&source, 7.into()), item(&key, &[]));
        let counts = |left_at| Counts { here: 3, left: 2, left_at };
        let stored = [("here", 3), ("left", 2), ("left_at", since.get())];
        assert_eq!(Counts::decode(&item(&key, &stored)), Ok((7.into(), counts(Some(since)))));
        assert_eq!(Counts::decode(&item(&key, &stored[..2])), Ok((7.into(), counts(None))));
        assert_eq!(Counts::decode(&item(&key, &[])), Ok((7.into(), Counts::default())));

        let key = LeaverKey { source, shard: 7.into(), at: since, user: "bob".parse().unwrap() };
        let stored = [("pk", "FOLLOWERS#actor:ada#7"), ("sk", "#LEFT#2024-07-06T05:36:37.351Z#bob")];
        assert_eq!(leaver(&key), item(&stored, &[("expires_at", 1_728_884_197)]));
    }

    #[test]
    fn who_may_have_left_since_a_time_allows_for_clocks() {
        let at = |millis| UnixMillis::new(millis).unwrap();
        let counts = |left, left_at| Counts { here: 0, left, left_at };
        assert!(!counts(0, None).may_have_left_since(at(100_000)));
        assert!(counts(1, None).may_have_left_since(at(100_000)), "it was not kept when");
        assert!(counts(1, Some(at(40_000))).may_have_left_since(at(100_000)));
        assert!(!counts(1, Some(at(39_999))).may_have_left_since(at(100_000)));
    }

    #[test]
    fn what_is_none_of_them_is_corrupt() {
        let key = [("pk", "USER#bob"), ("sk", "FOLLOWS#actor:ada")];
        assert!(Edge::decode(&item(&key, &[("n", 256), ("since", 1)])).is_err());
        assert!(Edge::decode(&item(&key, &[("n", 1)])).is_err());
        assert!(Follower::decode(&item(&[("sk", "bob")], &[("since", u64::MAX), ("k", 1)])).is_err());
        assert!(Counts::decode(&item(&key, &[])).is_err());
    }
}
