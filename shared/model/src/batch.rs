//! The events of a body: one event, an array of events, or one event per line.
//!
//! The checks, in their order. Each of them ends the parsing if it fails:
//!
//! 1. the body's size: [`BatchError::BodyTooLarge`];
//! 2. the whole body is JSON: [`BatchError::Malformed`];
//! 3. the number of events: [`BatchError::TooManyEvents`], or a fault if there are none;
//! 4. the size of each event as sent: [`BatchError::EventTooLarge`];
//! 5. every event with all its fields: [`BatchError::Invalid`] lists all faults at once.
//!
//! In NDJSON, blank lines are skipped, and the last line may end with or without a newline. Events are counted from 0,
//! the lines of [`Malformed`] from 1.
//!
//! Invariant: time and memory are linear in the body's size, and nesting never causes recursion.

use std::fmt;

use serde::Deserializer;
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::event::NewEvent;
use crate::fault::{Fault, FaultList, Faults, Pointer};
use crate::limits::{BATCH_EVENTS, BODY_BYTES, EVENT_BYTES};
use crate::malformed::{self, Malformed};
use crate::times::AcceptedTimes;

/// The format of a body's events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyForm {
    /// A JSON text: one event, or an array of them.
    Json,
    /// One event per line.
    Ndjson,
}

impl BodyForm {
    /// The form that a `Content-Type` names: NDJSON if it is `application/x-ndjson`, else JSON, because many clients
    /// send no `Content-Type` or a wrong one.
    pub fn of_content_type(content_type: Option<&str>) -> Self {
        let media_type = content_type.and_then(|text| text.split(';').next()).map(str::trim);
        match media_type {
            Some(name) if name.eq_ignore_ascii_case("application/x-ndjson") => Self::Ndjson,
            _ => Self::Json,
        }
    }
}

/// The hint for a body of one JSON text for each line that was sent as one JSON text.
const NDJSON_HINT: &str = "; send one event for each line with `Content-Type: application/x-ndjson`";

/// The events of one request, 1 to 500.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The events, in the order of the body.
    pub events: Vec<NewEvent>,
    /// True if the client sent one event instead of a list, and gets one event back.
    pub single: bool,
}

/// The reason why a body was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// The body has too many bytes.
    #[error("the body is larger than {} MiB; send fewer events", BODY_BYTES >> 20)]
    BodyTooLarge,
    /// An event has too many bytes.
    #[error("event {index} is larger than {} KiB", EVENT_BYTES >> 10)]
    EventTooLarge {
        /// Its position in the batch, from 0.
        index: usize,
    },
    /// The body is not JSON.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The body has too many events.
    #[error("the batch has more than {BATCH_EVENTS} events; split it into several")]
    TooManyEvents,
    /// The body is JSON with faults.
    #[error(transparent)]
    Invalid(#[from] Faults),
}

impl Batch {
    /// Reads the events of a body.
    ///
    /// # Errors
    /// If one of the checks above fails.
    pub fn parse(body: &[u8], form: BodyForm, times: AcceptedTimes) -> Result<Self, BatchError> {
        if body.len() > BODY_BYTES {
            return Err(BatchError::BodyTooLarge);
        }
        let text = malformed::characters(body)?;
        let raw = match form {
            BodyForm::Json => RawBatch::json(text).map_err(|malformed| match text.split_once('\n') {
                Some((first, _)) if malformed::value(first).is_ok() => {
                    Malformed { hint: NDJSON_HINT, ..malformed }
                }
                _ => malformed,
            })?,
            BodyForm::Ndjson => RawBatch::lines(text)?,
        };
        raw.check_sizes()?;
        let mut found = FaultList::default();
        let events = raw.read(times, &mut found);
        Ok(found.or(Some(Self { events, single: raw.single }))?)
    }
}

/// The events of a body before they are parsed.
struct RawBatch<'a> {
    /// At most one more than a batch may have.
    events: Vec<&'a RawValue>,
    single: bool,
}

impl<'a> RawBatch<'a> {
    fn json(text: &'a str) -> Result<Self, Malformed> {
        if !text.trim_start().starts_with('[') {
            return Ok(Self { events: vec![malformed::value(text)?], single: true });
        }
        let mut reader = serde_json::Deserializer::from_str(text);
        let events = reader.deserialize_seq(Elements)?;
        reader.end()?;
        Ok(Self { events, single: false })
    }

    fn lines(text: &'a str) -> Result<Self, Malformed> {
        let mut events = Vec::new();
        for (index, line) in text.split('\n').enumerate() {
            if line.trim_matches([' ', '\t', '\r']).is_empty() {
                continue;
            }
            let event = malformed::value(line).map_err(|malformed| malformed.below(index))?;
            if events.len() <= BATCH_EVENTS {
                events.push(event);
            }
        }
        Ok(Self { events, single: false })
    }

    fn check_sizes(&self) -> Result<(), BatchError> {
        if self.events.len() > BATCH_EVENTS {
            return Err(BatchError::TooManyEvents);
        }
        if self.events.is_empty() {
            let fault = Fault { path: String::new(), message: "must hold at least one event".to_owned() };
            return Err(BatchError::Invalid(fault.into()));
        }
        match self.events.iter().position(|event| event.get().len() > EVENT_BYTES) {
            Some(index) => Err(BatchError::EventTooLarge { index }),
            None => Ok(()),
        }
    }

    fn read(&self, times: AcceptedTimes, found: &mut FaultList) -> Vec<NewEvent> {
        let pointer = |index| if self.single { Pointer::root() } else { Pointer::root().child(index) };
        let events = self.events.iter().enumerate();
        events.filter_map(|(index, json)| NewEvent::read(json, &pointer(index), times, found)).collect()
    }
}

/// Reads the elements of an array. If there are too many, it reads the rest without keeping them.
struct Elements;

impl<'a> Visitor<'a> for Elements {
    type Value = Vec<&'a RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
        let mut events = Vec::new();
        while let Some(event) = elements.next_element()? {
            events.push(event);
            if events.len() > BATCH_EVENTS {
                while elements.next_element::<IgnoredAny>()?.is_some() {}
                break;
            }
        }
        Ok(events)
    }
}

#[cfg(test)]
mod tests;
