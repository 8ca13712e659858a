//! A follow edge in the user's partition: the sources that a user follows.
//!
//! ```text
//! table   pk  USER#{user}    sk  FOLLOWS#{source}
//! ```

use super::ProfileKey;
use crate::key::{Key, Place, TableKey};
use crate::name::User;
use crate::source::Source;
use crate::text::segments;

/// The item that says that a user follows a source.
///
/// ```
/// use lately_keys::TableKey;
/// use lately_keys::table::FollowKey;
///
/// let key = FollowKey { user: "bob".parse()?, source: "actor:ada".parse()? }.encode();
/// assert_eq!((&*key.pk, &*key.sk), ("USER#bob", "FOLLOWS#actor:ada"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FollowKey {
    /// The follower.
    pub user: User,
    /// The followed source.
    pub source: Source,
}

impl FollowKey {
    /// The prefix of all edges' sort keys. The partition is [`ProfileKey::partition`].
    pub const PREFIX: &str = "FOLLOWS#";
}

impl TableKey for FollowKey {
    const PLACE: Place = Place::Table;

    fn encode(&self) -> Key {
        Key { pk: ProfileKey::partition(&self.user), sk: format!("{}{}", Self::PREFIX, self.source) }
    }

    fn decode(pk: &str, sk: &str) -> Option<Self> {
        let ["USER", user] = segments(pk)? else { return None };
        let source = sk.strip_prefix(Self::PREFIX)?;
        Some(Self { user: user.parse().ok()?, source: source.parse().ok()? })
    }
}
