//! The read units of live streams while nothing comes. The embedded engine counts them; nothing is timed.

use std::time::Duration;

use lately_keys::table::Timeline;
use lately_model::LiveQuery;
use lately_rig::simulate;
use lately_store::Tally;

use crate::report::Cell;
use crate::topic::Bench;
use crate::writes::units;

/// The time after which an idle timeline is looked at once a second.
const CALM: Duration = Duration::from_secs(30);

const HOUR: Duration = Duration::from_secs(60 * 60);

/// The read units that a process pays in an hour for a number of followers of an idle topic, and of an idle feed.
pub fn read_units_of_an_idle_hour(followers: usize) -> [Cell; 2] {
    let topic = Timeline::Topic("posts".parse().expect("a topic"));
    let feed = Timeline::Feed("reader".parse().expect("a user"));
    [topic, feed].map(|timeline| simulate(idle_hour(timeline, followers)))
}

async fn idle_hour(timeline: Timeline, followers: usize) -> Cell {
    let bench = Bench::new(0, "{}").await;
    bench.follow("reader", "actor:ada").await;
    let mut following = Vec::new();
    for _ in 0..followers {
        let follower = bench.store.op().follow(timeline.clone(), &LiveQuery::default(), None).await;
        following.push(follower.expect("the engine injects no faults"));
    }
    tokio::time::sleep(CALM).await;
    let Tally { .. } = bench.store.take_tally();
    tokio::time::sleep(HOUR).await;
    units(bench.store.take_tally().cost.read_units)
}
