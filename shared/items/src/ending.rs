//! A change of all that a topic holds: its deletion, or another retention.
//!
//! ```text
//! table   pk  ANNOUNCED#{topic}                                        sk  #DELETION   or   #RETENTION    the mark
//!         pk  JOB#DELETION#{topic}   or   JOB#RETENTION#{topic}        sk  STEP                           the next step
//! ```
//!
//! The mark stands beside the announcements, because fan-out reads these for every new event anyway. A step's record of
//! the stream makes fan-out do the step.

use lately_keys::Topic;

use crate::key::key;

lately_keys::words! {
    /// A change of all events of a topic.
    #[derive(PartialOrd, Ord)]
    pub enum Ending {
        /// The topic is deleted.
        Deletion = "DELETION",
        /// The topic's events get another expiry.
        Retention = "RETENTION",
    }
}

key! {
    /// The item that says that a topic is deleted, or that its retention has changed.
    pub struct EndingMarkKey {
        /// The topic.
        pub topic: Topic,
        /// The change.
        pub ending: Ending,
    }
    Table: pk "ANNOUNCED#{topic}" sk "#{ending}"
}

key! {
    /// The item with the next step.
    pub struct EndingStepKey {
        /// The topic.
        pub topic: Topic,
        /// The change.
        pub ending: Ending,
    }
    Table: pk "JOB#{ending}#{topic}" sk "STEP"
}
