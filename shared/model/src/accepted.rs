//! The responses to a batch.

use std::borrow::Cow;

use lately_keys::EventId;
use serde::{Deserialize, Serialize};

use crate::event::Event;

/// All of a batch was written: `{"accepted":N,"events":[…]}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct Accepted {
    /// The number of events.
    #[cfg_attr(feature = "document", schema(value_type = crate::schemas::BatchCount))]
    pub accepted: usize,
    /// The events.
    #[cfg_attr(feature = "document", schema(value_type = crate::schemas::EventBatch))]
    pub events: Vec<Event>,
}

impl From<Vec<Event>> for Accepted {
    fn from(events: Vec<Event>) -> Self {
        Self { accepted: events.len(), events }
    }
}

/// The response to a write: the event if the body was one event, else the batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema), schema(as = inline::Stored))]
pub enum Stored {
    /// One event.
    Event(Event),
    /// A list of events.
    Batch(Accepted),
}

impl Stored {
    /// The response to a body of one event, or of a list.
    pub fn new(events: Vec<Event>, is_single: bool) -> Self {
        match <[_; 1]>::try_from(events) {
            Ok([event]) if is_single => Self::Event(event),
            Ok(only) => Self::Batch(Vec::from(only).into()),
            Err(events) => Self::Batch(events.into()),
        }
    }
}

/// Part of a batch was written: the lists that a problem `partially-accepted` contains.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema), schema(as = flat::PartlyAccepted))]
pub struct PartlyAccepted {
    /// With `partially-accepted`: the events that were written.
    pub accepted: Vec<AcceptedEvent>,
    /// With `partially-accepted`: the events that were certainly not written. The outcome of an event in neither list
    /// is unknown.
    pub rejected: Vec<RejectedEvent>,
}

/// An event of a batch that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema), schema(as = inline::AcceptedEvent))]
pub struct AcceptedEvent {
    /// Its position in the batch, from 0.
    pub index: usize,
    /// Its id.
    pub id: EventId,
}

/// An event of a batch that was not written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema), schema(as = inline::RejectedEvent))]
pub struct RejectedEvent {
    /// Its position in the batch, from 0.
    pub index: usize,
    /// The reason: a problem's stable code.
    #[cfg_attr(feature = "document", schema(value_type = crate::schemas::Code))]
    pub code: Cow<'static, str>,
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
