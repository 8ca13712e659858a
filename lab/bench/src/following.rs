//! The read units of live streams. The embedded engine counts them; nothing is timed.

use std::time::Duration;

use lately_keys::table::Timeline;
use lately_model::LiveQuery;
use lately_rig::simulate;
use lately_store::Tally;
use tokio::time::{Instant, sleep_until};

use crate::report::Cell;
use crate::topic::{Bench, QUIET};
use crate::writes::{tenths, units};

/// The time after which an idle timeline is looked at once a second.
const CALM: Duration = Duration::from_secs(30);

const HOUR: Duration = Duration::from_secs(60 * 60);

/// The read units that a process pays in an hour for a number of followers of an idle topic, and of an idle feed.
pub fn read_units_of_an_idle_hour(followers: usize) -> [Cell; 2] {
    let topic = Timeline::Topic("posts".parse().expect("a topic"));
    let feed = Timeline::Feed("reader".parse().expect("a user"));
    [topic, feed].map(|timeline| simulate(idle_hour(timeline, followers)))
}

/// The time for which a stream is measured.
const STREAM_SECONDS: u32 = 60;

/// The read units a second of a stream of a topic, alone in its process, by the events that the topic gets a second.
pub fn read_units_of_a_stream(per_second: u32) -> Cell {
    simulate(async {
        let bench = Bench::new(0, QUIET).await;
        let reader = bench.of_new_process().store;
        let timeline = Timeline::Topic(bench.topic.clone());
        let followed = reader.op().follow(timeline, &LiveQuery::default(), None).await;
        let _follower = followed.expect("the engine injects no faults");
        for is_measured in [false, true] {
            let Tally { .. } = reader.take_tally();
            let begun = Instant::now();
            for number in 0..per_second * STREAM_SECONDS {
                sleep_until(begun + Duration::from_secs(1) * number / per_second).await;
                bench.fill(1).await;
            }
            sleep_until(begun + Duration::from_secs(1) * STREAM_SECONDS).await;
            if is_measured {
                break;
            }
        }
        tenths(reader.take_tally().cost.read_units.halves * 5 / u64::from(STREAM_SECONDS))
    })
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
