//! The messages of a live timeline.

use std::sync::Arc;

use lately_model::TimelineEvent;

/// A message of a follower.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LiveMessage {
    /// An event. A follower that begins at the cursor returns all events that were not returned before.
    Event {
        /// The settled position.
        cursor: String,
        /// The event.
        event: Arc<TimelineEvent>,
    },
    /// An event that arrived behind the settled position.
    Late {
        /// The settled position.
        cursor: String,
        /// The event.
        event: Arc<TimelineEvent>,
    },
    /// Nothing new up to a position.
    Settled {
        /// The settled position.
        cursor: String,
    },
}
