//! A busy source beside quiet ones, as the bench publishes it, for a few seconds.

use lately_bench::overload::{OverloadScale, run};

#[test]
fn a_source_above_its_limit_holds_nobody_up_and_catches_up() {
    // A tenth of what DynamoDB takes.
    let found = run(OverloadScale { busy: 240, quiet: 5, seconds: 3, write_units: 100 });
    assert!(found.backlog > 100, "the source was not busy enough: {found:?}");
    assert_eq!((found.in_timeline, found.in_feed), (found.busy_events, found.busy_events));
    assert_eq!(found.quiet_millis.len() as u64, found.quiet_events);
    assert!(found.quiet_lag(990) < 2_000, "{found:?}");
    assert_eq!(found.failures, 0);
    // Not much slower than the partition takes writes, although steps pause.
    assert!(found.catch_up_millis < 10_000, "{found:?}");
}
