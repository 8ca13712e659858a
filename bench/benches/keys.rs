//! What an id, its text, a sort key and a cursor cost, beside `uuid::Uuid::now_v7` in the same run.
//!
//! `cargo bench -p lately-bench --bench keys`

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use divan::{Bencher, black_box};
use lately_keys::table::EventKey;
use lately_keys::{
    BucketWidth, Cursor, EventId, Fingerprint, Generator, Order, Position, Shard, TableKey, Tick,
};

fn main() {
    divan::main();
}

static GENERATOR: Generator = Generator::new();
const READING: Duration = Duration::from_millis(1_720_244_197_351);
const ENTROPY: u64 = 0x5eed_5eed_5eed_5eed;

fn next(reading: Duration) -> EventId {
    let clock = Tick::from_unix(reading).expect("a time before the year 9999");
    GENERATOR.next(clock, Shard::from(3), black_box(ENTROPY)).expect("ticks are left")
}

fn clock() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970")
}

fn id() -> EventId {
    "0190a4cd-d3e7-7222-9f99-fdb74feee752".parse().expect("an id")
}

fn cursor() -> (Cursor, Fingerprint) {
    let query = Fingerprint::of("topic events").text("posts").finish();
    (Cursor { query, order: Order::NewestFirst, position: Position::Event(id()) }, query)
}

#[divan::bench]
fn id_given_a_clock_reading(bencher: Bencher<'_, '_>) {
    bencher.bench(|| next(black_box(READING)));
}

#[divan::bench]
fn id_and_text_given_a_clock_reading(bencher: Bencher<'_, '_>) {
    bencher.bench(|| {
        let mut text = [0; 36];
        next(black_box(READING)).encode(&mut text);
        text
    });
}

#[divan::bench]
fn id_and_sort_key_text_given_a_clock_reading(bencher: Bencher<'_, '_>) {
    bencher.bench(|| {
        let mut text = [0; 36];
        next(black_box(READING)).sort_key().encode(&mut text);
        text
    });
}

#[divan::bench]
fn id_with_the_clock(bencher: Bencher<'_, '_>) {
    bencher.bench(|| next(clock()));
}

#[divan::bench]
fn id_and_text_with_the_clock(bencher: Bencher<'_, '_>) {
    bencher.bench(|| {
        let mut text = [0; 36];
        next(clock()).encode(&mut text);
        text
    });
}

#[divan::bench]
fn uuid_now_v7(bencher: Bencher<'_, '_>) {
    bencher.bench(uuid::Uuid::now_v7);
}

#[divan::bench]
fn uuid_now_v7_and_text(bencher: Bencher<'_, '_>) {
    bencher.bench(|| {
        let mut text = [0; 36];
        uuid::Uuid::now_v7().hyphenated().encode_lower(&mut text);
        text
    });
}

#[divan::bench]
fn id_parse(bencher: Bencher<'_, '_>) {
    let text = id().to_string();
    bencher.bench(|| black_box(text.as_str()).parse::<EventId>());
}

#[divan::bench]
fn sort_key_text(bencher: Bencher<'_, '_>) {
    let id = id();
    bencher.bench(|| {
        let mut text = [0; 36];
        black_box(id).sort_key().encode(&mut text);
        text
    });
}

#[divan::bench]
fn event_key_text(bencher: Bencher<'_, '_>) {
    let key = EventKey::new("posts".parse().expect("a topic"), BucketWidth::Day, id());
    bencher.bench(|| black_box(&key).encode());
}

#[divan::bench]
fn cursor_encode(bencher: Bencher<'_, '_>) {
    let (cursor, _) = cursor();
    bencher.bench(|| black_box(&cursor).to_string());
}

#[divan::bench]
fn cursor_decode(bencher: Bencher<'_, '_>) {
    let (cursor, query) = cursor();
    let text = cursor.to_string();
    bencher.bench(|| Cursor::decode(black_box(&text), query));
}
