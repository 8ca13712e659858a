//! A user's profile.
//!
//! ```text
//! table   pk  USER#{user}    sk  PROFILE
//! ```
//!
//! It shares a partition with the user's follow edges ([`FollowKey`](super::FollowKey)).

use crate::key::{Key, Place, TableKey};
use crate::name::User;
use crate::text::segments;

/// The item that holds a user's profile.
///
/// ```
/// use lately_keys::TableKey;
/// use lately_keys::table::ProfileKey;
///
/// let key = ProfileKey { user: "ada".parse()? }.encode();
/// assert_eq!((&*key.pk, &*key.sk), ("USER#ada", "PROFILE"));
/// # Ok::<(), lately_keys::NameError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProfileKey {
    /// The user.
    pub user: User,
}

impl ProfileKey {
    /// The partition of a user's profile and follow edges.
    pub fn partition(user: &User) -> String {
        format!("USER#{user}")
    }
}

impl TableKey for ProfileKey {
    const PLACE: Place = Place::Table;

    fn encode(&self) -> Key {
        Key { pk: Self::partition(&self.user), sk: "PROFILE".to_owned() }
    }

    fn decode(pk: &str, sk: &str) -> Option<Self> {
        let ["USER", user] = segments(pk)? else { return None };
        (sk == "PROFILE").then_some(Self { user: user.parse().ok()? })
    }
}
