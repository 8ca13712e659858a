//! Splits a list of events into the batches of single requests.

use lately_model::limits::{BATCH_EVENTS, BODY_BYTES};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

/// Batches that the API accepts. The same events give the same batches, so that a repetition has the same bodies.
pub(crate) fn batches_of<E: Serialize>(
    events: impl IntoIterator<Item = E>,
) -> impl Iterator<Item = serde_json::Result<Vec<Box<RawValue>>>> {
    let mut events = events.into_iter().map(|event| to_raw_value(&event)).peekable();
    std::iter::from_fn(move || {
        let mut batch = Vec::new();
        // Two brackets around the batch, and a comma behind each event.
        let mut bytes = 2;
        while let Some(event) = events.next_if(|event| {
            let fits =
                |event: &RawValue| batch.len() < BATCH_EVENTS && bytes + event.get().len() < BODY_BYTES;
            batch.is_empty() || event.as_ref().is_ok_and(|event| fits(event))
        }) {
            match event {
                Ok(event) => {
                    bytes += event.get().len() + 1;
                    batch.push(event);
                }
                Err(error) => return Some(Err(error)),
            }
        }
        (!batch.is_empty()).then_some(Ok(batch))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(events: Vec<String>) -> Vec<usize> {
        batches_of(events).map(|batch| batch.unwrap().len()).collect()
    }

    #[test]
    fn a_batch_has_at_most_500_events_and_3_mib() {
        assert!(sizes(vec![]).is_empty());
        assert_eq!(sizes(vec![String::new(); 1_001]), [500, 500, 1]);
        // Twelve events with their quotes, commas and brackets fill a batch to the last byte, or have one byte too many.
        let event = |bytes: usize| "x".repeat(bytes - 3);
        let mut events = vec![event(BODY_BYTES / 12); 12];
        events[0] = event(BODY_BYTES / 12 - 2);
        assert_eq!(sizes(events.clone()), [12]);
        events[0].push('x');
        assert_eq!(sizes(events), [11, 1]);
    }
}
