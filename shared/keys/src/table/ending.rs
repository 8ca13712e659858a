//! A change of all that a topic holds: its deletion, or another retention.
//!
//! ```text
//! table   pk  ANNOUNCED#{topic}                                        sk  #DELETION   or   #RETENTION    the mark
//!         pk  JOB#DELETION#{topic}   or   JOB#RETENTION#{topic}        sk  STEP                           the next step
//! ```
//!
//! The mark stands beside the announcements, because fan-out reads these for every new event anyway. A step's record of
//! the stream makes fan-out do the step.

use super::AnnouncementKey;
use crate::key::{Key, Place, TableKey};
use crate::name::Topic;
use crate::text::{canonical, segments};

/// A change of all events of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ending {
    /// The topic is deleted.
    Deletion,
    /// The topic's events get another expiry.
    Retention,
}

impl Ending {
    const fn name(self) -> &'static str {
        match self {
            Self::Deletion => "DELETION",
            Self::Retention => "RETENTION",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        [Self::Deletion, Self::Retention].into_iter().find(|ending| ending.name() == name)
    }
}

/// The item that says that a topic is deleted, or that its retention has changed.
///
/// ```
/// use lately_keys::TableKey;
/// use lately_keys::table::{Ending, EndingMarkKey};
///
/// let key = EndingMarkKey { topic: "posts".parse()?, ending: Ending::Deletion }.encode();
/// assert_eq!((&*key.pk, &*key.sk), ("ANNOUNCED#posts", "#DELETION"));
/// # Ok::<(), lately_keys::NameError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EndingMarkKey {
    /// The topic.
    pub topic: Topic,
    /// The change.
    pub ending: Ending,
}

impl TableKey for EndingMarkKey {
    const PLACE: Place = Place::Table;

    fn encode(&self) -> Key {
        Key { pk: AnnouncementKey::partition(&self.topic), sk: format!("#{}", self.ending.name()) }
    }

    fn decode(pk: &str, sk: &str) -> Option<Self> {
        let ["ANNOUNCED", topic] = segments(pk)? else { return None };
        Some(Self { topic: canonical(topic)?, ending: Ending::parse(sk.strip_prefix('#')?)? })
    }
}

/// The item with the next step.
///
/// ```
/// use lately_keys::TableKey;
/// use lately_keys::table::{Ending, EndingStepKey};
///
/// let key = EndingStepKey { topic: "posts".parse()?, ending: Ending::Retention }.encode();
/// assert_eq!((&*key.pk, &*key.sk), ("JOB#RETENTION#posts", "STEP"));
/// # Ok::<(), lately_keys::NameError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EndingStepKey {
    /// The topic.
    pub topic: Topic,
    /// The change.
    pub ending: Ending,
}

impl TableKey for EndingStepKey {
    const PLACE: Place = Place::Table;

    fn encode(&self) -> Key {
        Key { pk: format!("JOB#{}#{}", self.ending.name(), self.topic), sk: "STEP".to_owned() }
    }

    fn decode(pk: &str, sk: &str) -> Option<Self> {
        let ["JOB", ending, topic] = segments(pk)? else { return None };
        (sk == "STEP").then_some(Self { topic: canonical(topic)?, ending: Ending::parse(ending)? })
    }
}
