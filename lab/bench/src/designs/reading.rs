//! The price of three reads: the latest 50 events, the 20th page of 50, and all events of the last 15 minutes.
//!
//! Pages are eventually consistent reads, each from the end of the page before. The last 15 minutes are read
//! consistently and to the end, since a report must not miss an event. Lately is measured twice: by a process that must
//! look up the topic and its directory, and by a process that has them in its caches.

use std::num::NonZeroU32;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use lately_designs::{DesignTable, Walk};
use lately_keys::{EventId, Order};
use lately_model::{EventQuery, SourceQuery, TimeRange};
use lately_store::Cost;

use super::stage::millis;
use super::workload::{SINCE_SECONDS, Workload, later};
use crate::topic::{Bench, page_size};

/// The events of a page.
pub(super) const PAGE: u16 = 50;

/// The number of the later page, counted from the latest.
pub(super) const DEEP: usize = 20;

/// The time after which nothing is cached: a topic is cached for five seconds, a directory for one.
const FORGOTTEN: Duration = Duration::from_secs(6);

/// The price of the three reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Answers {
    pub(super) latest: Cost,
    pub(super) deep: Cost,
    pub(super) since: Cost,
    /// The number of events found in the last 15 minutes.
    pub(super) found: u64,
}

impl Answers {
    /// The same answers, with the price of the last 15 minutes multiplied by `times`.
    pub(super) const fn with_since_times(mut self, times: u64) -> Self {
        let Cost { calls, read_units, items, rounds, .. } = &mut self.since;
        *calls *= times;
        read_units.halves *= times;
        *items *= times;
        *rounds *= times;
        self
    }
}

/// The time this many seconds before the workload's end.
fn ago(seconds: u32) -> Timestamp {
    later(Workload::end(), SignedDuration::from_secs(-i64::from(seconds)))
}

/// The price of the reads of a published design.
pub(super) async fn of_published(table: &DesignTable, since_seconds: u32) -> Answers {
    let before = |at| later(at, SignedDuration::from_nanos(-1));
    let (first, last) =
        (later(Workload::end(), SignedDuration::from_hours(-24 * 31)), before(Workload::end()));
    let mut answers = Answers::default();
    let mut walk = Walk::newest_first(first, last, NonZeroU32::from(PAGE_SIZE));
    for page in 1..=DEEP {
        let (found, cost) = table.read(&walk).await.expect("the engine injects no faults");
        assert_eq!(found.events.len(), usize::from(PAGE));
        walk.position = Some(found.position);
        if page == 1 {
            answers.latest = cost;
        }
        answers.deep = cost;
    }
    let all = NonZeroU32::MAX;
    let mut walk = Walk { consistent: true, ..Walk::oldest_first(before(ago(since_seconds)), last, all) };
    loop {
        let (page, cost) = table.read(&walk).await.expect("the engine injects no faults");
        answers.since += cost;
        answers.found += page.events.len() as u64;
        walk.position = Some(page.position);
        if !page.has_more {
            return answers;
        }
    }
}

const PAGE_SIZE: std::num::NonZeroU16 = match std::num::NonZeroU16::new(PAGE) {
    Some(size) => size,
    None => panic!("a page holds at least one event"),
};

/// The price of the reads of a topic of Lately: by a process without caches, and by one with caches.
pub(super) async fn of_topic(bench: &Bench, since_seconds: u32) -> [Answers; 2] {
    let mut query = EventQuery { limit: page_size(PAGE), ..EventQuery::default() };
    let read = async |query: &EventQuery| {
        let op = bench.store.op();
        let page = op.topic(&bench.topic).latest(query).await.expect("the engine injects no faults");
        assert_eq!(page.events.len(), usize::from(PAGE));
        (page.next, op.cost())
    };
    let mut pages = Vec::new();
    for page in 1..=DEEP {
        if page == 1 || page == DEEP {
            tokio::time::sleep(FORGOTTEN).await;
        }
        let (_, mut forgotten) = read(&query).await;
        let (next, remembered) = read(&query).await;
        // A read without caches looks up the topic and then the directory, before its first round.
        forgotten.rounds += forgotten.calls - remembered.calls;
        pages.push([forgotten, remembered]);
        query.cursor = next;
    }
    tokio::time::sleep(FORGOTTEN).await;
    let [(topic_too, found), (remembered, _)] =
        [since(bench, since_seconds).await, since(bench, since_seconds).await];
    let answers = |n: usize, since| Answers { latest: pages[0][n], deep: pages[DEEP - 1][n], since, found };
    [answers(0, topic_too), answers(1, remembered)]
}

/// Reads the last `seconds` seconds as a report does. Returns the price and the number of events.
async fn since(bench: &Bench, seconds: u32) -> (Cost, u64) {
    let (after, to) = (millis(ago(seconds)).saturating_sub(1), millis(Workload::end()).saturating_sub(1));
    let op = bench.store.op();
    let range = op.topic(&bench.topic).range(EventId::last_of(after), EventId::last_of(to)).await;
    let mut range = range.expect("the engine injects no faults");
    // These calls come before the first round: the topic, if it is not cached, and one query of the directory.
    let before = op.cost().calls + 1;
    let mut found = 0;
    while let Some(events) = range.next().await.expect("the engine injects no faults") {
        found += events.len() as u64;
    }
    let cost = op.cost();
    (Cost { rounds: cost.rounds + before, ..cost }, found)
}

/// The price of the reads of an actor's timeline in Lately. It is one partition, so nothing must be looked up.
pub(super) async fn of_actor(bench: &Bench, actor: &str) -> Answers {
    let source = format!("actor:{actor}").parse().expect("a source");
    let read = async |page: &EventQuery| {
        let query = SourceQuery { page: page.clone(), topic: None, wait_for: None };
        let op = bench.store.op();
        let found = op.timeline(&source).page(&query).await.expect("the engine injects no faults");
        (found, op.cost())
    };
    let mut answers = Answers::default();
    let mut query = EventQuery { limit: page_size(PAGE), ..EventQuery::default() };
    for page in 1..=DEEP {
        let (found, cost) = read(&query).await;
        assert_eq!(found.events.len(), usize::from(PAGE));
        query.cursor = found.next;
        if page == 1 {
            answers.latest = cost;
        }
        answers.deep = cost;
    }
    // With the oldest event first, a page ends two seconds before the present. So wait until all events are older.
    tokio::time::sleep(FORGOTTEN).await;
    let range =
        TimeRange::new(Some(millis(ago(SINCE_SECONDS))), None).expect("a range without an end is valid");
    let order = Some(Order::OldestFirst);
    let mut query =
        EventQuery { limit: page_size(200), order, range, consistent: true, ..EventQuery::default() };
    loop {
        let (page, cost) = read(&query).await;
        answers.since += cost;
        answers.found += page.events.len() as u64;
        query.cursor = page.next;
        if !page.has_more {
            return answers;
        }
    }
}
