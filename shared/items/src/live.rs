//! Live timelines: the watch of their followers, and the notes of late entries of sources' timelines and feeds.
//!
//! ```text
//! table   pk  ANNOUNCED#{topic}                                                     sk  #WATCH   of a topic
//!         pk  LIVE#SOURCE#{source}   or   LIVE#FEED#{user}                          sk  #WATCH   of the others
//!         pk  LIVE#SOURCE#{source}   or   LIVE#FEED#{user}                          sk  {id}     a note
//!   a watch: until N (milliseconds: the timeline is followed at least until then), expires_at N
//!   a note: e B (the ids of late events: 16 bytes each), expires_at N
//! ```
//!
//! A topic's watch stands beside the announcements, because fan-out reads these for every new event anyway. The followers
//! of a topic read its late log (`late_log.rs`), so a topic has no notes. The id of a note is made together with the note.
//! It is not inverted, so followers read the oldest note first.

use std::fmt;

use lately_keys::{EventId, Source, Topic, UnixMillis, UnknownWord, User};

use crate::AnnouncementKey;
use crate::attribute::Value;
use crate::form::{Form, Text};
use crate::item::{Corrupt, Item};
use crate::key::key;
use crate::record::record;

lately_keys::tagged! {
    /// A timeline that can be followed live. Its text is the partition of the timeline's notes.
    pub enum Timeline {
        /// The events of a topic.
        Topic(Topic) = "LIVE#TOPIC#",
        /// The timeline of a source.
        Source(Source) = "LIVE#SOURCE#",
        /// The feed of a user.
        Feed(User) = "LIVE#FEED#",
    }
    else UnknownWord: UnknownWord, |_| UnknownWord
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
    /// The item of a watch that holds until a time.
    pub fn item(&self, until: UnixMillis) -> Item {
        Item::at(self).with("until", until.get()).with("expires_at", until.get() / 1000 + 1)
    }

    /// True if the item of a watch says that its timeline is followed now.
    pub fn is_watched(watch: &Item, now: UnixMillis) -> Result<bool, Corrupt> {
        Ok(watch.get::<u64>("until")? >= now.get())
    }
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

impl LateNoteKey {
    /// The item of a note of late events. It expires at this time, in unix seconds.
    pub fn item(&self, events: &[EventId], expires_at: u64) -> Item {
        Item::at(self).with("e", Value::of_list(events)).with("expires_at", expires_at)
    }
}

record! {
    /// A note, as a follower reads it.
    pub struct LateNote {
        /// The note's own id.
        pub id: EventId = of_key,
        /// The late events.
        pub events: Vec<EventId> = required("e"),
    }
    key LateNoteKey { id, .. }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ID, millis};

    #[test]
    fn golden_bytes() {
        let timeline = Timeline::Topic("posts".parse().unwrap());
        let item = WatchKey { timeline }.item(millis(1_120_500));
        let expected = Item::from([("pk", "ANNOUNCED#posts"), ("sk", "#WATCH")])
            .with("until", 1_120_500_u64)
            .with("expires_at", 1_121_u64);
        assert_eq!(item, expected);
        let at = |now| WatchKey::is_watched(&item, millis(now));
        assert_eq!((at(1_120_500), at(1_120_501)), (Ok(true), Ok(false)));

        let id: EventId = ID.parse().unwrap();
        let events = vec![id, EventId::first_of(millis(5))];
        let timeline = Timeline::Source("actor:ada".parse().unwrap());
        let item = LateNoteKey { timeline, id }.item(&events, 4_600);
        let bytes = [*events[0].as_uuid().as_bytes(), *events[1].as_uuid().as_bytes()].concat();
        let expected = Item::from([("pk", "LIVE#SOURCE#actor:ada"), ("sk", ID)])
            .with("e", Value::bytes(bytes))
            .with("expires_at", 4_600_u64);
        assert_eq!(item, expected);
        assert_eq!(LateNote::decode(&item), Ok(LateNote { id, events }));
        assert!(LateNote::decode(&item.with("e", Value::bytes([1; 17]))).is_err());
    }
}
