//! The backlog of a source's timeline or of a feed: writes that the busy partition did not accept in time.
//!
//! ```text
//! table   pk  JOB#BACKLOG#SOURCE#{source}   or   JOB#BACKLOG#FEED#{user}    sk  {id}
//! ```
//!
//! The id is made together with the item. It is not inverted, so the oldest item is the first.

use std::fmt;

use lately_keys::{EventId, Key, Source, TableKey, User};

use crate::form::{Form, Text};
use crate::key::key;
use crate::{FeedEntryKey, SourceEntryKey};

/// A partition that may accept fewer writes than fan-out has for it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Backlog {
    /// The timeline of a source.
    Source(Source),
    /// The feed of a user.
    Feed(User),
}

impl Backlog {
    /// The backlog for the partition of an entry; `None` for all other keys.
    ///
    /// ```
    /// use lately_keys::TableKey;
    /// use lately_items::{Backlog, FeedEntryKey};
    ///
    /// let id = "0190a4cd-d3e7-7222-9f99-fdb74feee752".parse()?;
    /// let entry = FeedEntryKey { user: "bob".parse()?, id };
    /// assert_eq!(Backlog::of(&entry.encode()), Some(Backlog::Feed("bob".parse()?)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of(key: &Key) -> Option<Self> {
        let feed = FeedEntryKey::decode(&key.pk, &key.sk).map(|entry| Self::Feed(entry.user));
        feed.or_else(|| SourceEntryKey::decode(&key.pk, &key.sk).map(|entry| Self::Source(entry.source)))
    }
}

impl fmt::Display for Backlog {
    /// The partition of the backlog's items.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(source) => write!(f, "JOB#BACKLOG#SOURCE#{source}"),
            Self::Feed(user) => write!(f, "JOB#BACKLOG#FEED#{user}"),
        }
    }
}

impl Form<Backlog> for Text {
    fn read(text: &str) -> Option<Backlog> {
        let (kind, name) = text.strip_prefix("JOB#BACKLOG#")?.split_once('#')?;
        match kind {
            "SOURCE" => name.parse().ok().map(Backlog::Source),
            "FEED" => name.parse().ok().map(Backlog::Feed),
            _ => None,
        }
    }
}

key! {
    /// An item of a backlog.
    pub struct BacklogKey {
        /// The partition that was too busy.
        pub backlog: Backlog,
        /// The id made together with the item.
        pub id: EventId,
    }
    Table: pk "{backlog}" sk "{id}"
}
