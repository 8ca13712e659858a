//! Short runs of the published measurements: a busy source and quiet sources, and hostile neighbours.

use lately_bench::overload::neighbour::{Neighbour, NeighbourScale, measure};
use lately_bench::overload::{OverloadScale, run};
use lately_engine::TableCapacity;

#[test]
fn a_source_above_its_limit_delays_no_other_and_catches_up() {
    // A partition serves a tenth of DynamoDB's rate.
    let found =
        run(OverloadScale { busy: 240, quiet: 5, seconds: 3, write_units: 100, ..OverloadScale::FULL });
    // One partition would lack more than half of the events. The feeds of the source's author and of its follower do.
    assert!(found.backlog < found.busy_events / 10, "the timeline has not grown: {found:?}");
    assert!(found.deferred > found.busy_events, "the feeds were not busy enough: {found:?}");
    assert_eq!((found.in_timeline, found.in_feed), (found.busy_events, found.busy_events));
    assert_eq!(found.quiet_millis.len() as u64, found.quiet_events);
    assert!(found.quiet_lag(990) < 2_000, "{found:?}");
    assert_eq!((found.failures, found.refused), (0, 0));
    // The feeds catch up almost at their partitions' rate, although the steps of a backlog pause.
    assert!(found.catch_up_millis < 10_000, "{found:?}");
}

#[test]
fn a_new_table_accepts_what_its_four_partitions_serve_and_loses_nothing_of_it() {
    let rush = OverloadScale { busy: 240, quiet: 5, seconds: 3, write_units: 100, ..OverloadScale::FULL };
    let found = run(OverloadScale { table: TableCapacity::NEW, ..rush });
    assert_eq!(found.busy_events + found.quiet_events + found.refused, 3 * 245);
    assert_eq!((found.in_timeline, found.in_feed), (found.busy_events, found.busy_events));
    assert_eq!(found.quiet_millis.len() as u64, found.quiet_events);
    assert_eq!(found.failures, 0);
}

/// All neighbours but one: a poison record holds up its own lane, one of sixteen here.
const BEARABLE: [Neighbour; 6] = [
    Neighbour::Polls,
    Neighbour::Unfollows,
    Neighbour::Unread,
    Neighbour::Backlog,
    Neighbour::Import,
    Neighbour::Followed,
];

#[test]
fn a_hostile_neighbour_delays_no_other() {
    std::thread::scope(|scope| {
        for neighbour in BEARABLE {
            scope.spawn(move || {
                let effect = measure(neighbour, NeighbourScale::small(neighbour));
                assert!(effect.is_bearable(), "{neighbour:?}: {effect:?}");
            });
        }
    });
}
