//! A report run: a range of a topic that was reported or is being reported.
//!
//! ```text
//! table   pk  CONSUMER#{topic}#{name}    sk  RUN#{id of the range's end}
//! ```
//!
//! The id is not inverted, so runs sort by their ends, oldest first. The run that covers an id is the first run at or
//! after the id.

use lately_keys::EventId;

use crate::ConsumerKey;
use crate::key::key;

key! {
    /// The item of a report run.
    pub struct RunKey {
        /// The run's consumer.
        pub consumer: ConsumerKey,
        /// The last id that it covers.
        pub to: EventId,
    }
    Table: pk "{consumer}" sk "RUN#{to}"
    const PREFIX
    fn sort_key(to: EventId)
}
