//! A user's feed: its entries, the sources to pull, and the seen mark.
//!
//! ```text
//! table   pk  FEED#{user}    sk  #PULL#{source}    a source whose timeline is merged in
//!                            sk  #SEEN             the seen mark
//!                            sk  {inverted id}     an entry
//! ```
//!
//! `#` sorts before every digit. So one query from the start of the partition returns first the marks that reading the
//! page needs, and then the page.

use crate::id::EventId;
use crate::key::{Key, Place, TableKey};
use crate::name::User;
use crate::sort_key::SortKey;
use crate::source::Source;
use crate::text::segments;

fn parse_partition(pk: &str) -> Option<User> {
    let ["FEED", user] = segments(pk)? else { return None };
    user.parse().ok()
}

/// An event in a user's feed.
///
/// ```
/// use lately_keys::TableKey;
/// use lately_keys::table::FeedEntryKey;
///
/// let id = "0190a4cd-d3e7-7222-9f99-fdb74feee752".parse()?;
/// let key = FeedEntryKey { user: "bob".parse()?, id }.encode();
/// assert_eq!((&*key.pk, &*key.sk), ("FEED#bob", "fe6f5b32-2c18-8ddd-6066-0248b01118ad"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FeedEntryKey {
    /// The feed's user.
    pub user: User,
    /// The event.
    pub id: EventId,
}

impl FeedEntryKey {
    /// The partition of a user's feed.
    pub fn partition(user: &User) -> String {
        format!("FEED#{user}")
    }
}

impl TableKey for FeedEntryKey {
    const PLACE: Place = Place::Table;

    fn encode(&self) -> Key {
        Key { pk: Self::partition(&self.user), sk: self.id.sort_key().to_string() }
    }

    fn decode(pk: &str, sk: &str) -> Option<Self> {
        Some(Self { user: parse_partition(pk)?, id: sk.parse::<SortKey>().ok()?.id() })
    }
}

/// The mark that a source's timeline is merged into a feed when it is read.
///
/// ```
/// use lately_keys::TableKey;
/// use lately_keys::table::PullMarkerKey;
///
/// let key = PullMarkerKey { user: "bob".parse()?, source: "actor:ada".parse()? }.encode();
/// assert_eq!((&*key.pk, &*key.sk), ("FEED#bob", "#PULL#actor:ada"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PullMarkerKey {
    /// The feed's user.
    pub user: User,
    /// The source to pull.
    pub source: Source,
}

impl PullMarkerKey {
    /// The prefix of all markers' sort keys. The partition is [`FeedEntryKey::partition`].
    pub const PREFIX: &str = "#PULL#";
}

impl TableKey for PullMarkerKey {
    const PLACE: Place = Place::Table;

    fn encode(&self) -> Key {
        Key { pk: FeedEntryKey::partition(&self.user), sk: format!("{}{}", Self::PREFIX, self.source) }
    }

    fn decode(pk: &str, sk: &str) -> Option<Self> {
        let source = sk.strip_prefix(Self::PREFIX)?.parse().ok()?;
        Some(Self { user: parse_partition(pk)?, source })
    }
}

/// The mark of the newest event that a user has seen in their feed.
///
/// ```
/// use lately_keys::TableKey;
/// use lately_keys::table::SeenMarkKey;
///
/// let key = SeenMarkKey { user: "bob".parse()? }.encode();
/// assert_eq!((&*key.pk, &*key.sk), ("FEED#bob", "#SEEN"));
/// # Ok::<(), lately_keys::NameError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SeenMarkKey {
    /// The feed's user.
    pub user: User,
}

impl TableKey for SeenMarkKey {
    const PLACE: Place = Place::Table;

    fn encode(&self) -> Key {
        Key { pk: FeedEntryKey::partition(&self.user), sk: "#SEEN".to_owned() }
    }

    fn decode(pk: &str, sk: &str) -> Option<Self> {
        (sk == "#SEEN").then_some(Self { user: parse_partition(pk)? })
    }
}
