//! Fuzzes request bodies with events, as JSON and as NDJSON. A parsed batch has no more events than the limit, and its
//! times and actors are valid.
#![no_main]

use lately_keys::UnixMillis;
use lately_model::limits::{BATCH_EVENTS, BODY_BYTES};
use lately_model::{AcceptedTimes, Batch, BodyForm};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    let now = UnixMillis::new(1_773_489_600_000).unwrap();
    let times = AcceptedTimes::new(now, None);
    let [json, lines] = [BodyForm::Json, BodyForm::Ndjson].map(|form| Batch::parse(body, form, times));
    for batch in [&json, &lines].into_iter().flatten() {
        assert!(body.len() <= BODY_BYTES);
        assert!(batch.events.len() <= BATCH_EVENTS);
        for event in &batch.events {
            assert!(event.at.is_none_or(|at| times.check(at).is_ok()));
            assert_eq!(event.actor.to_string().parse(), Ok(event.actor.clone()));
        }
    }
    // A single event on one line is the same as JSON and as NDJSON.
    if let (Ok(json), Ok(lines)) = (&json, &lines)
        && json.single
        && lines.events.len() == 1
    {
        assert_eq!(json.events, lines.events);
    }
});
