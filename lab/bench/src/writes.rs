//! The price of writing events, in DynamoDB's units. The embedded engine counts it; nothing is timed. Tests of
//! `lately-store` assert the same prices.

use crate::progress::Progress;
use crate::report::{Cell, Report, Table};
use crate::topic::{Bench, QUIET};
use lately_rig::simulate;

const BY_TYPE: &str = r#"{"fan_out":false,"views":["actor","subject","type"]}"#;

/// The kinds of writes: a name, the topic's settings, and the number of events in one request.
const WRITES: [(&str, &str, usize); 5] = [
    ("one", QUIET, 1),
    ("one, in a topic with the `type` view", BY_TYPE, 1),
    ("one, in a topic that fans out: with its author's own feed", "{}", 1),
    ("a batch of 25", QUIET, 25),
    ("a batch of 500", QUIET, 500),
];

/// Measures the price of one event and of batches.
pub fn report(progress: &Progress) -> Report {
    progress.expect(WRITES.len());
    let mut table = Table::new("events", &["write events of 512 bytes", "write units", "calls"]);
    for (what, settings, events) in WRITES {
        let cost = simulate(async {
            let bench = Bench::new(0, settings).await;
            // The first write creates the directory, so the second one is measured.
            bench.fill(1).await;
            bench.fill(events).await
        });
        table.push([what.into(), units(cost.write_units), cost.calls.into()]);
        progress.done(what);
    }
    Report { command: "cargo run -p bench --release -- writes".to_owned(), tables: vec![table] }
}

/// A cell with a number of units.
pub(crate) fn units(units: lately_store::Units) -> Cell {
    tenths(units.halves * 5)
}

/// A cell with a number of tenths.
pub(crate) fn tenths(tenths: u64) -> Cell {
    let measure = format!("{}.{}", tenths / 10, tenths % 10);
    Cell::Measure(measure.parse().expect("digits are a number"))
}
