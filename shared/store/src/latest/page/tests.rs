//! The end of a page, and the positions of its cursors.

use lately_keys::{Shard, Tick, UnixMillis};

use super::*;

fn id(millis: u64) -> EventId {
    EventId::new(Tick::first_of(UnixMillis::new(millis).unwrap()), Shard::from(0), 0)
}

fn event(millis: u64, data_bytes: usize) -> Event {
    Event {
        id: id(millis),
        event_type: "note".parse().unwrap(),
        actor: "ada".parse().unwrap(),
        subject: None,
        data: Some(format!("\"{}\"", "x".repeat(data_bytes - 2)).parse().unwrap()),
    }
}

fn query() -> Fingerprint {
    Fingerprint::of("test").finish()
}

fn draft(order: Order, limit: u16, position: Option<EventId>) -> PageDraft<Event> {
    let span = Span { order, ids: None, position, now: UnixMillis::MAX };
    PageDraft::new(PageSize::new(limit).unwrap(), query(), &span)
}

/// The order and the position of a cursor.
fn place(cursor: Option<&str>) -> (Order, Option<EventId>) {
    let Cursor { order, position, .. } = Cursor::decode(cursor.unwrap(), query()).unwrap();
    match position {
        Position::Start => (order, None),
        Position::Event(id) => (order, Some(id)),
        other => panic!("{other:?}"),
    }
}

const EXACT: WaveEdge = WaveEdge { frontier: None, cut: false, more: false };

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
fn a_full_page_continues_behind_its_last_event() {
    let mut draft = draft(Order::NewestFirst, 2, None);
    let full = PageEnd::FULL;
    assert_eq!(draft.take(vec![event(9, 10), event(8, 10)], 1, EXACT), Some(full));
    let page = draft.finish(full);
    assert!(page.has_more);
    assert_eq!(place(page.next.as_deref()), (Order::NewestFirst, Some(id(8))));
    assert_eq!(place(page.newer.as_deref()), (Order::OldestFirst, Some(id(9))));
}

#[test]
fn newer_begins_at_least_two_seconds_before_now() {
    let now = UnixMillis::new(10_000).unwrap();
    for (newest, begins) in [(7_000, id(7_000)), (9_000, EventId::last_of(UnixMillis::new(7_999).unwrap()))] {
        let span = Span { order: Order::NewestFirst, ids: None, position: None, now };
        let mut draft = PageDraft::new(PageSize::default(), query(), &span);
        draft.take(vec![event(newest, 10)], 0, EXACT);
        let page = draft.finish(PageEnd::default());
        assert_eq!(place(page.newer.as_deref()), (Order::OldestFirst, Some(begins)));
    }
}

#[test]
fn a_full_page_ends_at_once_if_a_lane_holds_more() {
    let events = || vec![event(9, 10), event(8, 10)];
    assert_eq!(draft(Order::NewestFirst, 2, None).take(events(), 0, EXACT), None);
    let more = WaveEdge { frontier: Some(id(8)), more: true, ..EXACT };
    let full = Some(PageEnd::FULL);
    assert_eq!(draft(Order::NewestFirst, 2, None).take(events(), 0, more), full);
}

#[test]
fn a_page_ends_before_the_event_that_does_not_fit() {
    let mut draft = draft(Order::NewestFirst, 200, None);
    let events = (0..20).map(|n| event(100 - n, 200_000)).collect();
    let ending = draft.take(events, 0, EXACT).unwrap();
    assert_eq!(ending, PageEnd::FULL);
    let page = draft.finish(ending);
    assert_eq!(page.events.len(), PAGE_BYTES / 200_200, "each is a little more than its data");
    assert!(serde_json::to_vec(&page).unwrap().len() <= PAGE_BYTES + 256);
    assert_eq!(place(page.next.as_deref()).1, Some(page.events.last().unwrap().id));
}

#[test]
fn an_event_that_fits_no_page_has_its_own_page() {
    let mut draft = draft(Order::NewestFirst, 200, None);
    let ending = draft.take(vec![event(9, PAGE_BYTES + 1), event(8, 10)], 0, EXACT).unwrap();
    let page = draft.finish(ending);
    assert_eq!((page.events.len(), page.has_more), (1, true));
}

#[test]
fn a_page_cut_short_continues_where_it_stopped() {
    let cut = WaveEdge { frontier: Some(id(3)), cut: true, more: true };
    for (order, events) in [(Order::NewestFirst, vec![event(9, 10)]), (Order::NewestFirst, vec![])] {
        let newest = events.first().map(|event| event.id);
        let mut draft = draft(order, 50, None);
        let ending = draft.take(events, 0, cut).unwrap();
        let page = draft.finish(ending);
        assert!(page.has_more);
        assert_eq!(place(page.next.as_deref()), (order, Some(id(3))));
        assert_eq!(place(page.newer.as_deref()), (Order::OldestFirst, newest));
    }
}
