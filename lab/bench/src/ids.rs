//! The times to make and read ids, sort keys and cursors, compared with `uuid::Uuid::now_v7` in the same run.
//!
//! Each is repeated many times in a row, all are measured in turn, and the median counts. So other load on the machine
//! has no effect, or affects all of them alike. The command builds with a profile for speed, as a program would that
//! needs fast ids.

use std::hint::black_box;
use std::io::Write;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use lately_items::EventKey;
use lately_keys::{
    BucketWidth, Cursor, EventId, Fingerprint, Generator, Order, Position, Shard, TableKey, Tick,
};

use crate::progress::Progress;
use crate::report::{Cell, Report, Table};

/// The number of turns, of which the median counts.
const TURNS: usize = 400;

/// The repetitions in a turn: enough that a turn takes some ten microseconds, which a clock can measure.
const TIMES: u32 = 500;

const READING: Duration = Duration::from_millis(1_720_244_197_351);
const ENTROPY: u64 = 0x5eed_5eed_5eed_5eed;

/// The row with which all others are compared.
const YARDSTICK: &str = "`uuid::Uuid::now_v7` and its text";

static GENERATOR: Generator = Generator::new();

/// An operation to time. A turn is the time for [`TIMES`] repetitions.
struct TimedOperation {
    what: &'static str,
    turn: Box<dyn Fn() -> Duration>,
}

/// Measures the times.
pub fn report(progress: &Progress) -> Report {
    let all = all();
    let mut turns = vec![Vec::new(); all.len()];
    progress.expect(1);
    // The first turn is not counted.
    for turn in 0..=TURNS {
        for (timed, turns) in all.iter().zip(&mut turns) {
            let duration = (timed.turn)();
            if turn > 0 {
                turns.push(duration);
            }
        }
    }
    progress.done("all of them, in turn");
    let nanos = |mut turns: Vec<Duration>| {
        turns.sort_unstable();
        turns[turns.len() / 2].as_secs_f64() * 1e9 / f64::from(TIMES)
    };
    let medians: Vec<_> = all.iter().map(|timed| timed.what).zip(turns.into_iter().map(nanos)).collect();
    let yardstick = medians.iter().find(|(what, _)| *what == YARDSTICK).map_or(f64::NAN, |(_, nanos)| *nanos);
    let mut table = Table::new("medians", &["", "nanoseconds", "of `now_v7` with text"]);
    for (what, nanos) in medians {
        let rounded = |measure: f64, steps: f64| Cell::Measure((measure * steps).round() / steps);
        table.push([what.into(), rounded(nanos, 10.0), rounded(nanos / yardstick, 100.0)]);
    }
    Report { command: "cargo run -p bench --profile bench -- ids".to_owned(), tables: vec![table] }
}

fn all() -> Vec<TimedOperation> {
    let text = id().to_string();
    let key = EventKey::new("posts".parse().expect("a topic"), BucketWidth::Day, id());
    let query = Fingerprint::of("topic events").text("posts").finish();
    let cursor = Cursor { query, order: Order::NewestFirst, position: Position::Event(id()) };
    let cursor_text = cursor.to_string();
    vec![
        timed("id, given a clock reading", || next(READING)),
        timed("id and its text, given a clock reading", || text_of(next(READING))),
        timed("id and its sort key's text, given a clock reading", || sort_key_of(next(READING))),
        timed("id, clock read", || next(clock())),
        timed("id and its text, clock read", || text_of(next(clock()))),
        timed("`uuid::Uuid::now_v7`", uuid::Uuid::now_v7),
        timed(YARDSTICK, || {
            let mut text = [0; 36];
            uuid::Uuid::now_v7().hyphenated().encode_lower(&mut text);
            text
        }),
        timed("id from text", move || black_box(text.as_str()).parse::<EventId>()),
        timed("sort key's text", || sort_key_of(black_box(id()))),
        timed("event's key (both texts)", move || black_box(&key).encode()),
        timed("cursor to text", move || black_box(&cursor).to_string()),
        timed("cursor from text", move || Cursor::decode(black_box(&cursor_text), query)),
    ]
}

fn timed<T>(what: &'static str, one: impl Fn() -> T + 'static) -> TimedOperation {
    let turn = move || {
        let begun = Instant::now();
        for _ in 0..TIMES {
            black_box(one());
        }
        begun.elapsed()
    };
    TimedOperation { what, turn: Box::new(turn) }
}

fn id() -> EventId {
    EventId::new(Tick::from_unix(READING).expect("a time before the year 9999"), Shard::from(3), ENTROPY)
}

fn next(reading: Duration) -> EventId {
    let clock = Tick::from_unix(black_box(reading)).expect("a time before the year 9999");
    GENERATOR.next(clock, Shard::from(3), black_box(ENTROPY)).expect("ticks remain")
}

fn clock() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970")
}

fn text_of(id: EventId) -> [u8; 36] {
    let mut text = [0; 36];
    id.as_uuid().hyphenated().encode_lower(&mut text);
    text
}

fn sort_key_of(id: EventId) -> [u8; 36] {
    let mut text = [0; 36];
    write!(&mut text[..], "{}", id.sort_key()).expect("the text has 36 bytes");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_is_compared_with_now_v7() {
        let report = report(&Progress::silent());
        let table = report.table("medians").unwrap();
        assert_eq!(table.cell(YARDSTICK, "of `now_v7` with text"), Some(&Cell::Measure(1.0)));
        assert!(table.rows.iter().flatten().all(|cell| !matches!(cell, Cell::Measure(m) if !m.is_finite())));
    }
}
