//! DynamoDB's units, from the figures that `lab/bench` measures and publishes. They are for events of 512 bytes.

use std::sync::LazyLock;

use serde_json::Value;

/// The size of an event for which the figures hold.
const MEASURED_BYTES: f64 = 512.0;

/// The bytes that a write unit writes, and those that two reads of half a unit read.
const WRITE_BYTES: f64 = 1024.0;
const READ_BYTES: f64 = 4096.0;

/// The events of a page.
pub(super) const PAGE_EVENTS: f64 = 50.0;

static WRITES: LazyLock<Value> =
    LazyLock::new(|| parsed(include_str!("../../../lab/bench/figures/writes.json")));
static READS: LazyLock<Value> =
    LazyLock::new(|| parsed(include_str!("../../../lab/bench/figures/reads.json")));
static FAN_OUT: LazyLock<Value> =
    LazyLock::new(|| parsed(include_str!("../../../lab/bench/figures/fan-out.json")));

fn parsed(figures: &str) -> Value {
    serde_json::from_str(figures).expect("figures are JSON: a test of the bench reads them")
}

/// Two columns of a table.
fn columns(report: &Value, table: &str, of: [&str; 2]) -> Vec<(Value, f64)> {
    let tables = report["tables"].as_array().expect("a report has tables");
    let table = tables.iter().find(|found| found["name"] == table).expect(table);
    let titles = table["columns"].as_array().expect("a table has columns");
    let index = of.map(|title| titles.iter().position(|found| found == title).expect(title));
    let rows = table["rows"].as_array().expect("a table has rows");
    rows.iter().map(|row| (row[index[0]].clone(), row[index[1]].as_f64().expect("a number"))).collect()
}

/// The value at a point, on straight lines between the rows of a table.
fn between(rows: &[(Value, f64)], at: f64) -> f64 {
    let points: Vec<_> = rows.iter().map(|(x, y)| (x.as_f64().expect("a number"), *y)).collect();
    let pair = points.windows(2).find(|pair| at <= pair[1].0).or(points.windows(2).last());
    let [(x, y), (next_x, next_y)] = pair.expect("two rows") else { unreachable!("a pair") };
    y + (at - x) / (next_x - x) * (next_y - y)
}

/// The write units of an event of so many bytes, when a request has so many events. A single event is also put into the
/// author's own feed. The view `type` writes an event once more.
pub(super) fn of_event(bytes: f64, batch: f64, type_view: bool) -> f64 {
    let (row, events) = match batch > 1.0 {
        true => ("a batch of 500", 500.0),
        false => ("one, in a topic that fans out: with its author's own feed", 1.0),
    };
    let rows = columns(&WRITES, "events", ["write events of 512 bytes", "write units"]);
    let units = |row| rows.iter().find(|(name, _)| name == row).expect("the bench has the row").1;
    let more = more(bytes, WRITE_BYTES, 1.0);
    let by_type =
        if type_view { units("one, in a topic with the `type` view") - units("one") + more } else { 0.0 };
    units(row) / events + more + by_type
}

/// The write units and the read units of fan-out for an event of so many bytes, with so many followers, when an
/// invocation has so many events.
pub(super) fn of_fan_out(bytes: f64, followers: f64, batch: f64) -> (f64, f64) {
    let of = |units, followers| {
        between(&columns(&FAN_OUT, "deliveries", ["feeds to which one event is delivered", units]), followers)
    };
    let batches = columns(&FAN_OUT, "batches", ["events that one invocation delivers", "read units"]);
    let of_batch = |events| between(&batches, events) / events;
    // The deliveries were measured in a process that did not know the source yet.
    let reads = of("read units", followers) - of("read units", 1.0) + of_batch(batch);
    // Entries have at most one unit, however large the event is. Fan-out reads the event once.
    (of("write units", followers), reads + more(bytes, READ_BYTES, 1.0))
}

/// The read units of the latest 50 events of a topic with so many events a second.
pub(super) fn of_page(bytes: f64, per_second: f64) -> f64 {
    let rows = columns(&READS, "latest", ["latest events", "50"]);
    // A row is named `4 shards, 1,500 a second`.
    let is_enough = |name: &Value| {
        let digits = name.as_str().and_then(|name| name.split_once(", "));
        let digits = digits.map(|(_, rate)| rate.replace(|digit: char| !digit.is_ascii_digit(), ""));
        digits.and_then(|digits| digits.parse::<f64>().ok()).expect("a row names its rate") >= per_second
    };
    let row = rows.iter().find(|(name, _)| is_enough(name)).or(rows.last());
    row.expect("a row").1 + more(bytes, READ_BYTES, PAGE_EVENTS) / 2.0
}

/// The read units a second of a live stream of a feed with so many events a minute.
pub(super) fn of_stream(bytes: f64, a_minute: f64) -> f64 {
    let rows = columns(&READS, "streams", ["events a minute", "of a feed's stream"]);
    let most = rows.iter().filter_map(|(name, _)| name.as_f64()).fold(0.0, f64::max);
    // Beyond the measured rates, and for larger events, the stream reads as much more as comes.
    between(&rows, a_minute.min(most)) * (a_minute / most).max(1.0) * (bytes / MEASURED_BYTES).max(1.0)
}

/// The blocks of so many bytes that some events need beyond those of the measured size; negative for smaller events.
fn more(bytes: f64, block: f64, events: f64) -> f64 {
    (events * bytes / block).ceil() - (events * MEASURED_BYTES / block).ceil()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_the_published_ones() {
        assert_eq!([of_event(512.0, 1.0, false), of_event(512.0, 500.0, true)], [2.0, 2.0]);
        assert_eq!(of_fan_out(512.0, 1_000.0, 1.0), (1_004.0, 21.0));
        assert_eq!([of_page(512.0, 500.0), of_page(512.0, 1_000.0)], [3.5, 4.2]);
        assert_eq!([of_page(512.0, 1e9), of_stream(512.0, 0.0)], [5.5, 0.9]);
    }

    #[test]
    fn other_sizes_and_numbers_are_calculated() {
        // 2 KB are one unit more; the entry in the author's feed has one unit always.
        assert_eq!([of_event(2_048.0, 1.0, false), of_event(1_025.0, 500.0, true)], [3.0, 4.0]);
        // Half way between 10 followers (12 and 8 units) and 100 (102 and 9 units); 5,000 bytes are two blocks; four events
        // share six of seven units.
        assert_eq!(of_fan_out(5_000.0, 55.0, 4.0), (57.0, 4.0));
        // 50 × 2,000 bytes are 25 blocks instead of 7. 50 × 100 bytes are 2.
        assert_eq!([of_page(2_000.0, 1.0), of_page(100.0, 1.0)], [12.5, 1.0]);
        // Twice the events of the last row, of twice the size: 7.3 × 4.
        assert_eq!(of_stream(1_024.0, 12_000.0), 29.2);
    }
}
