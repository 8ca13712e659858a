//! The read units of live streams. The embedded engine counts them; nothing is timed.

use std::time::Duration;

use lately_items::Timeline;
use lately_model::LiveQuery;
use lately_rig::simulate;
use lately_store::Tally;
use tokio::time::{Instant, sleep, sleep_until};

use crate::report::Cell;
use crate::topic::{Behind, Bench};
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

/// The time for which a stream is measured, and the time before.
const STREAM_SECONDS: [u32; 2] = [60, 120];

/// The time between two polls of the table's stream by fan-out.
const POLL: Duration = Duration::from_millis(250);

/// The read units a second of a stream of a topic and of a stream of a feed, each alone in its process, by the events
/// that the timeline gets a minute.
pub fn read_units_of_streams(a_minute: u32) -> [Cell; 2] {
    let topic = Timeline::Topic("posts".parse().expect("a topic"));
    let feed = Timeline::Feed("reader".parse().expect("a user"));
    [topic, feed].map(|timeline| simulate(stream(timeline, a_minute)))
}

async fn stream(timeline: Timeline, a_minute: u32) -> Cell {
    let bench = Bench::new(0, "{}").await;
    bench.follow("reader", "actor:ada").await;
    let reader = bench.of_new_process().store;
    let follower = reader.op().follow(timeline, &LiveQuery::default(), None).await;
    let _follower = follower.expect("the engine injects no faults");
    let mut table_stream = Behind::new(&bench.engine);
    let fan_out = async {
        loop {
            table_stream.settle(&bench.store).await;
            sleep(POLL).await;
        }
    };
    let posts = async {
        for seconds in STREAM_SECONDS {
            let Tally { .. } = reader.take_tally();
            let begun = Instant::now();
            for number in 0..a_minute * seconds / 60 {
                sleep_until(begun + Duration::from_mins(1) * number / a_minute).await;
                bench.fill(1).await;
            }
            sleep_until(begun + Duration::from_secs(1) * seconds).await;
        }
        tenths(reader.take_tally().cost.read_units.halves * 5 / u64::from(STREAM_SECONDS[1]))
    };
    tokio::select! {
        never = fan_out => never,
        cell = posts => cell,
    }
}

async fn idle_hour(timeline: Timeline, followers: usize) -> Cell {
    let bench = Bench::new(0, "{}").await;
    bench.follow("reader", "actor:ada").await;
    let mut following = Vec::new();
    for _ in 0..followers {
        let follower = bench.store.op().follow(timeline.clone(), &LiveQuery::default(), None).await;
        following.push(follower.expect("the engine injects no faults"));
    }
    sleep(CALM).await;
    let Tally { .. } = bench.store.take_tally();
    sleep(HOUR).await;
    units(bench.store.take_tally().cost.read_units)
}
