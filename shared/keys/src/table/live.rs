//! Live timelines: the watch of their followers, and the notes of late events.
//!
//! ```text
//! table   pk  ANNOUNCED#{topic}                                                     sk  #WATCH   of a topic
//!         pk  LIVE#SOURCE#{source}   or   LIVE#FEED#{user}                          sk  #WATCH   of the others
//!         pk  LIVE#TOPIC#{topic}   or   LIVE#SOURCE#{source}   or   LIVE#FEED#{user}    sk  {id}     a note
//! ```
//!
//! A topic's watch stands beside the announcements, because fan-out reads these for every new event anyway. The id of a
//! note is made together with the note. It is not inverted, so followers read the oldest note first.

use std::fmt;

use super::AnnouncementKey;
use crate::id::EventId;
use crate::key::{Key, Place, TableKey};
use crate::name::{Topic, User};
use crate::source::Source;
use crate::text::{canonical, segments};

/// A timeline that can be followed live.
///
/// ```
/// use lately_keys::table::Timeline;
///
/// assert_eq!(Timeline::Feed("bob".parse()?).to_string(), "LIVE#FEED#bob");
/// # Ok::<(), lately_keys::NameError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timeline {
    /// The events of a topic.
    Topic(Topic),
    /// The timeline of a source.
    Source(Source),
    /// The feed of a user.
    Feed(User),
}

/// The text is the partition of the timeline's notes.
impl fmt::Display for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Topic(topic) => write!(f, "LIVE#TOPIC#{topic}"),
            Self::Source(source) => write!(f, "LIVE#SOURCE#{source}"),
            Self::Feed(user) => write!(f, "LIVE#FEED#{user}"),
        }
    }
}

impl Timeline {
    fn parse(pk: &str) -> Option<Self> {
        match segments(pk)? {
            ["LIVE", "TOPIC", topic] => Some(Self::Topic(topic.parse().ok()?)),
            ["LIVE", "SOURCE", source] => Some(Self::Source(source.parse().ok()?)),
            ["LIVE", "FEED", user] => Some(Self::Feed(user.parse().ok()?)),
            _ => None,
        }
    }
}

/// The item that says that a timeline is followed live.
///
/// ```
/// use lately_keys::TableKey;
/// use lately_keys::table::{Timeline, WatchKey};
///
/// let key = WatchKey { timeline: Timeline::Topic("posts".parse()?) }.encode();
/// assert_eq!((&*key.pk, &*key.sk), ("ANNOUNCED#posts", "#WATCH"));
/// # Ok::<(), lately_keys::NameError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WatchKey {
    /// The timeline that is followed.
    pub timeline: Timeline,
}

impl WatchKey {
    /// The sort key of every watch. It sorts before every name.
    pub const SORT_KEY: &str = "#WATCH";
}

impl TableKey for WatchKey {
    const PLACE: Place = Place::Table;

    fn encode(&self) -> Key {
        let pk = match &self.timeline {
            Timeline::Topic(topic) => AnnouncementKey::partition(topic),
            other => other.to_string(),
        };
        Key { pk, sk: Self::SORT_KEY.to_owned() }
    }

    fn decode(pk: &str, sk: &str) -> Option<Self> {
        if sk != Self::SORT_KEY {
            return None;
        }
        let timeline = match segments(pk) {
            Some(["ANNOUNCED", topic]) => Timeline::Topic(topic.parse().ok()?),
            _ => Timeline::parse(pk).filter(|timeline| !matches!(timeline, Timeline::Topic(_)))?,
        };
        Some(Self { timeline })
    }
}

/// The item that notifies the followers of a timeline of late events.
///
/// ```
/// use lately_keys::TableKey;
/// use lately_keys::table::{LateNoteKey, Timeline};
///
/// let id = "0190a4cd-d3e7-7222-9f99-fdb74feee752".parse()?;
/// let key = LateNoteKey { timeline: Timeline::Feed("bob".parse()?), id }.encode();
/// assert_eq!((&*key.pk, &*key.sk), ("LIVE#FEED#bob", "0190a4cd-d3e7-7222-9f99-fdb74feee752"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LateNoteKey {
    /// The timeline.
    pub timeline: Timeline,
    /// The note's own id.
    pub id: EventId,
}

impl TableKey for LateNoteKey {
    const PLACE: Place = Place::Table;

    fn encode(&self) -> Key {
        Key { pk: self.timeline.to_string(), sk: self.id.to_string() }
    }

    fn decode(pk: &str, sk: &str) -> Option<Self> {
        Some(Self { timeline: Timeline::parse(pk)?, id: canonical(sk)? })
    }
}
