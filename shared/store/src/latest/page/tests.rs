//! The sizes of pages.

use lately_keys::{Shard, Tick, UnixMillis};

use super::*;

fn event(millis: u64, data_bytes: usize) -> Event {
    Event {
        id: EventId::new(Tick::first_of(UnixMillis::new(millis).unwrap()), Shard::from(0), 0),
        event_type: "note".parse().unwrap(),
        actor: "ada".parse().unwrap(),
        subject: None,
        data: Some(format!("\"{}\"", "x".repeat(data_bytes - 2)).parse().unwrap()),
    }
}

#[test]
fn an_events_json_is_no_longer_than_counted() {
    let subject = Some("repo:octo:hello".parse().unwrap());
    for event in [event(5, 100), Event { subject, ..event(253_402_300_799_999, 2) }] {
        let json = serde_json::to_string(&event).unwrap().len();
        let counted = event.sent_bytes();
        assert!(json <= counted && counted <= json + 64, "{json} counted as {counted}");
    }
}

#[test]
fn an_event_that_fits_no_page_has_its_own_page() {
    let span = Span { order: Order::NewestFirst, ids: None, position: None, now: UnixMillis::MAX };
    let query = Fingerprint::of("test").finish();
    let mut draft = PageDraft::new(0, 200, query, &span);
    let exact = WaveEdge { frontier: None, cut: false, more: false };
    let end = draft.take(vec![event(9, PAGE_BYTES + 1), event(8, 10)], 0, exact).unwrap();
    let page = draft.finish(end);
    assert_eq!((page.events.len(), page.has_more), (1, true));
}
