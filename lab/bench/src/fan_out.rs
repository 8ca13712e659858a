//! The price of delivering one event of an actor to its followers' feeds, including all jobs of fan-out. The embedded
//! engine counts it; nothing is timed.

use crate::progress::Progress;
use crate::report::{Cell, Report, Table};
use crate::topic::{Behind, Bench};
use crate::writes::{tenths, units};
use lately_rig::simulate;

const BATCHES: [usize; 2] = [1, 10];

const FOLLOWERS: [u64; 6] = [0, 1, 10, 100, 1_000, 10_000];

/// Measures the price of a delivery for each number of followers.
pub fn report(progress: &Progress) -> Report {
    progress.expect(FOLLOWERS.len() + 1);
    let columns = ["feeds to which one event is delivered", "write units", "items a call", "read units"];
    let mut table = Table::new("deliveries", &columns);
    for followers in FOLLOWERS {
        table.push(delivery(followers));
        progress.done(&format!("an event with {followers} followers"));
    }
    let batches = batches();
    progress.done("batches of events");
    Report { command: "cargo run -p bench --release -- fan-out".to_owned(), tables: vec![table, batches] }
}

/// The read units of a batch of events of one actor with one follower, in a process that knows the actor.
pub fn batches() -> Table {
    let mut table = Table::new("batches", &["events that one invocation delivers", "read units"]);
    simulate(async {
        let bench = Bench::new(0, "{}").await;
        bench.follow("user-0", "actor:ada").await;
        let mut stream = Behind::new(&bench.engine);
        for is_known in [false, true] {
            stream.settle(&bench.store).await;
            for events in if is_known { &BATCHES[..] } else { &[1] } {
                bench.fill(*events).await;
                let done = stream.settle(&bench.store).await;
                if is_known {
                    table.push([(*events as u64).into(), units(done.cost.read_units)]);
                }
            }
        }
    });
    table
}

/// The price of a delivery to a number of followers.
pub fn delivery(followers: u64) -> [Cell; 4] {
    simulate(async {
        let bench = Bench::new(0, "{}").await;
        for number in 0..followers {
            bench.follow(&format!("user-{number}"), "actor:ada").await;
        }
        let mut stream = Behind::new(&bench.engine);
        stream.settle(&bench.store).await;
        bench.fill(1).await;
        let done = stream.settle(&bench.store).await;
        assert_eq!(done.deliveries, followers);
        let items = tenths(done.written_items * 10 / done.write_calls);
        [followers.into(), units(done.cost.write_units), items, units(done.cost.read_units)]
    })
}
