//! The responses to a batch.

use lately_keys::EventId;
use serde::{Deserialize, Serialize};

use crate::event::Event;

/// All of a batch was written: `{"accepted":N,"events":[…]}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// The number of events.
    pub accepted: usize,
    /// The events.
    pub events: Vec<Event>,
}

impl From<Vec<Event>> for Accepted {
    fn from(events: Vec<Event>) -> Self {
        Self { accepted: events.len(), events }
    }
}

/// Part of a batch was written: the lists that a problem `partially-accepted` contains.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PartlyAccepted {
    /// The events that were written.
    pub accepted: Vec<AcceptedEvent>,
    /// The events that were not written.
    pub rejected: Vec<RejectedEvent>,
}

/// An event of a batch that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct AcceptedEvent {
    /// Its position in the batch, from 0.
    pub index: usize,
    /// Its id.
    pub id: EventId,
}

/// An event of a batch that was not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RejectedEvent {
    /// Its position in the batch, from 0.
    pub index: usize,
    /// The reason: a problem's stable code.
    pub code: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted_events_are_counted() {
        let json = serde_json::to_string(&Accepted::from(Vec::new())).unwrap();
        assert_eq!(json, r#"{"accepted":0,"events":[]}"#);
    }
}
