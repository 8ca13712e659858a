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

use lately_keys::{EventId, Source, Topic, User};

use crate::AnnouncementKey;
use crate::form::{Form, Text};
use crate::key::key;

/// A timeline that can be followed live.
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

impl Form<Timeline> for Text {
    fn read(text: &str) -> Option<Timeline> {
        let (kind, name) = text.strip_prefix("LIVE#")?.split_once('#')?;
        match kind {
            "TOPIC" => name.parse().ok().map(Timeline::Topic),
            "SOURCE" => name.parse().ok().map(Timeline::Source),
            "FEED" => name.parse().ok().map(Timeline::Feed),
            _ => None,
        }
    }
}

key! {
    /// The item that says that a timeline is followed live.
    pub struct WatchKey {
        /// The timeline that is followed.
        pub timeline: Timeline as Watched,
    }
    Table: pk "{timeline}" sk "#WATCH"
}

impl WatchKey {
    /// The sort key of every watch. It sorts before every name.
    pub const SORT_KEY: &str = "#WATCH";
}

/// The partition of a timeline's watch.
struct Watched;

impl Form<Timeline> for Watched {
    fn write(timeline: &Timeline) -> impl fmt::Display {
        match timeline {
            Timeline::Topic(topic) => AnnouncementKey::partition(topic),
            other => other.to_string(),
        }
    }

    fn read(text: &str) -> Option<Timeline> {
        match text.strip_prefix("ANNOUNCED#") {
            Some(topic) => topic.parse().ok().map(Timeline::Topic),
            None => Text::read(text),
        }
    }
}

key! {
    /// The item that notifies the followers of a timeline of late events.
    pub struct LateNoteKey {
        /// The timeline.
        pub timeline: Timeline,
        /// The note's own id.
        pub id: EventId,
    }
    Table: pk "{timeline}" sk "{id}"
}
