//! Fuzzes cursors. A text that decodes to a cursor is also its encoding. A cursor that is encoded decodes to the same
//! cursor, for its own query only.
#![no_main]

use lately_keys::{Cursor, EventId, Fingerprint, Order, Position};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let query = Fingerprint::of("fuzz").text(text.get(..4).unwrap_or_default()).finish();
    let other = Fingerprint::of("other").finish();
    if let Ok(cursor) = Cursor::decode(text, query) {
        assert_eq!(cursor.to_string(), text);
    }
    let (kind, rest) = text.split_once(':').unwrap_or(("", text));
    let position = match kind {
        "event" => rest.parse::<EventId>().ok().map(Position::Event),
        "topic" => rest.parse().ok().map(Position::Topic),
        "source" => rest.parse().ok().map(Position::Source),
        "issue" => rest.parse().ok().map(Position::Issue),
        _ => Some(Position::Start),
    };
    let Some(position) = position else { return };
    for order in [Order::NewestFirst, Order::OldestFirst] {
        let cursor = Cursor { query, order, position: position.clone() };
        let made = cursor.to_string();
        assert_eq!(Cursor::decode(&made, query), Ok(cursor));
        assert!(Cursor::decode(&made, other).is_err());
        // A damaged cursor is refused.
        let damaged = made.replacen(|c: char| c.is_ascii_lowercase(), "A", 1);
        assert!(damaged == made || Cursor::decode(&damaged, query).is_err());
    }
});
