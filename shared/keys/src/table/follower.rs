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

use crate::key::{Key, Place, TableKey};
use crate::name::User;
use crate::shard::Shard;
use crate::source::Source;
use crate::text::{canonical, segments};
use crate::time::UnixMillis;

fn parse_partition(pk: &str) -> Option<(Source, Shard)> {
    let ["FOLLOWERS", source, shard] = segments(pk)? else { return None };
    Some((source.parse().ok()?, canonical(shard)?))
}

/// The item that says that a source has a follower.
///
/// ```
/// use lately_keys::TableKey;
/// use lately_keys::table::FollowerKey;
///
/// let key = FollowerKey { source: "actor:ada".parse()?, shard: 7.into(), user: "bob".parse()? }.encode();
/// assert_eq!((&*key.pk, &*key.sk), ("FOLLOWERS#actor:ada#7", "bob"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FollowerKey {
    /// The followed source.
    pub source: Source,
    /// The shard that the follow was written to; the follow edge remembers it.
    pub shard: Shard,
    /// The follower.
    pub user: User,
}

impl FollowerKey {
    /// The partition of one shard of a source's followers.
    pub fn partition(source: &Source, shard: Shard) -> String {
        format!("FOLLOWERS#{source}#{shard}")
    }
}

impl TableKey for FollowerKey {
    const PLACE: Place = Place::Table;

    fn encode(&self) -> Key {
        Key { pk: Self::partition(&self.source, self.shard), sk: self.user.to_string() }
    }

    fn decode(pk: &str, sk: &str) -> Option<Self> {
        let (source, shard) = parse_partition(pk)?;
        Some(Self { source, shard, user: sk.parse().ok()? })
    }
}

/// The item that counts one shard of a source's followers.
///
/// ```
/// use lately_keys::TableKey;
/// use lately_keys::table::FollowerCountKey;
///
/// let key = FollowerCountKey { source: "actor:ada".parse()?, shard: 7.into() }.encode();
/// assert_eq!((&*key.pk, &*key.sk), ("FOLLOWERS#actor:ada#7", "#COUNT"));
/// # Ok::<(), lately_keys::SourceError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FollowerCountKey {
    /// The followed source.
    pub source: Source,
    /// The shard that is counted.
    pub shard: Shard,
}

impl TableKey for FollowerCountKey {
    const PLACE: Place = Place::Table;

    fn encode(&self) -> Key {
        Key { pk: FollowerKey::partition(&self.source, self.shard), sk: "#COUNT".to_owned() }
    }

    fn decode(pk: &str, sk: &str) -> Option<Self> {
        let (source, shard) = parse_partition(pk)?;
        (sk == "#COUNT").then_some(Self { source, shard })
    }
}

/// The item that says that a user followed a source until a time.
///
/// ```
/// use lately_keys::TableKey;
/// use lately_keys::table::LeaverKey;
///
/// let (source, at) = ("actor:ada".parse()?, "2024-07-12T10:16:15Z".parse()?);
/// let key = LeaverKey { source, shard: 7.into(), at, user: "bob".parse()? }.encode();
/// assert_eq!((&*key.pk, &*key.sk), ("FOLLOWERS#actor:ada#7", "#LEFT#2024-07-12T10:16:15.000Z#bob"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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

impl LeaverKey {
    /// The prefix of all leavers' sort keys. The partition is [`FollowerKey::partition`].
    pub const PREFIX: &str = "#LEFT#";

    /// A bound below the sort keys of all who unfollowed at this time or later.
    pub fn since(at: UnixMillis) -> String {
        format!("{}{at}", Self::PREFIX)
    }
}

impl TableKey for LeaverKey {
    const PLACE: Place = Place::Table;

    fn encode(&self) -> Key {
        let sk = format!("{}#{}", Self::since(self.at), self.user);
        Key { pk: FollowerKey::partition(&self.source, self.shard), sk }
    }

    fn decode(pk: &str, sk: &str) -> Option<Self> {
        let (source, shard) = parse_partition(pk)?;
        let [at, user] = segments(sk.strip_prefix(Self::PREFIX)?)?;
        Some(Self { source, shard, at: canonical(at)?, user: user.parse().ok()? })
    }
}
