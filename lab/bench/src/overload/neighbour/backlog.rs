//! A consumer that is an hour behind. It polls as fast as it can until it has caught up.

use lately_model::{NewEvent, Start};

use crate::overload::neighbour::{ENTRY_BYTES, Neighbourhood, polls};
use crate::overload::writers::{note, submit};

/// The events of the hour: ten a second.
const EVENTS: u32 = 36_000;
const HOUR_MILLIS: u32 = 3_600_000;

/// The events of a request.
const BATCH: u32 = 20;

pub(super) async fn prepare(place: &Neighbourhood) {
    let events = place.items(EVENTS);
    let data = format!("\"{}\"", "x".repeat(ENTRY_BYTES));
    let begun = place.now().saturating_sub(HOUR_MILLIS.into());
    let mut batch = Vec::new();
    for number in 0..events {
        let at = begun.saturating_add(u64::from(HOUR_MILLIS / events * number));
        batch.push(NewEvent { at: Some(at), data: Some(data.parse().expect("JSON")), ..note("past") });
        if batch.len() == BATCH as usize {
            submit(&place.bench, std::mem::take(&mut batch)).await;
        }
    }
}

pub(super) async fn run(place: &Neighbourhood) {
    let consumer = polls::consumer(place, "behind");
    let store = place.process(0);
    polls::create(&store, &consumer, Start::Earliest).await;
    polls::poll_until_the_end(place.clone(), store, consumer).await;
}
