//! The three questions, and what their answers cost: the latest 50, the 20th page of 50, and all since 15 minutes ago.
//!
//! Pages are read eventually consistently, each from where the last one ended. What came since 15 minutes ago is read
//! consistently and to the end, since a report may leave nothing out. Lately answers twice: as who has not read for a
//! while, and must look up the topic and its directory; and as who has, and remembers them.

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

/// Events of a page.
pub(super) const PAGE: u16 = 50;

/// The page that is asked for, counted from the latest.
pub(super) const DEEP: usize = 20;

/// By then nothing is remembered: a topic is for five seconds, a directory for one.
const FORGOTTEN: Duration = Duration::from_secs(6);

/// The cost of the answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Answers {
    pub(super) latest: Cost,
    pub(super) deep: Cost,
    pub(super) since: Cost,
    /// Events that were found since 15 minutes ago.
    pub(super) found: u64,
}

impl Answers {
    /// With what is read since some time counted so often.
    pub(super) const fn with_since_times(mut self, times: u64) -> Self {
        let Cost { calls, read_units, items, rounds, .. } = &mut self.since;
        *calls *= times;
        read_units.halves *= times;
        *items *= times;
        *rounds *= times;
        self
    }
}

/// So many seconds before the end.
fn ago(seconds: u32) -> Timestamp {
    later(Workload::end(), SignedDuration::from_secs(-i64::from(seconds)))
}

/// The answers of a published design.
pub(super) async fn of_published(table: &DesignTable, since_seconds: u32) -> Answers {
    let before = |at| later(at, SignedDuration::from_nanos(-1));
    let (first, last) =
        (later(Workload::end(), SignedDuration::from_hours(-24 * 31)), before(Workload::end()));
    let mut answers = Answers::default();
    let mut walk = Walk::newest_first(first, last, NonZeroU32::from(PAGE_SIZE));
    for page in 1..=DEEP {
        let (found, cost) = table.read(&walk).await.expect("an engine without faults");
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
        let (page, cost) = table.read(&walk).await.expect("an engine without faults");
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
    None => panic!("a page holds something"),
};

/// The answers of a topic of Lately: from a process without any cache, and from one with a cache.
pub(super) async fn of_topic(bench: &Bench, since_seconds: u32) -> [Answers; 2] {
    let mut query = EventQuery { limit: page_size(PAGE), ..EventQuery::default() };
    let read = async |query: &EventQuery| {
        let op = bench.store.op();
        let page = op.topic(&bench.topic).latest(query).await.expect("an engine without faults");
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
        // The topic and the directory are looked up one after the other, before the first round.
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

/// As a report reads it, and how many events there are.
async fn since(bench: &Bench, seconds: u32) -> (Cost, u64) {
    let (after, to) = (millis(ago(seconds)).saturating_sub(1), millis(Workload::end()).saturating_sub(1));
    let op = bench.store.op();
    let range = op.topic(&bench.topic).range(EventId::last_of(after), EventId::last_of(to)).await;
    let mut range = range.expect("an engine without faults");
    // The topic, if it was not remembered; and the directory, of which one query tells all.
    let before = op.cost().calls + 1;
    let mut found = 0;
    while let Some(events) = range.next().await.expect("an engine without faults") {
        found += events.len() as u64;
    }
    let cost = op.cost();
    (Cost { rounds: cost.rounds + before, ..cost }, found)
}

/// The answers of an actor's timeline in Lately. It is one partition, so there is nothing to look up.
pub(super) async fn of_actor(bench: &Bench, actor: &str) -> Answers {
    let source = format!("actor:{actor}").parse().expect("a source");
    let read = async |page: &EventQuery| {
        let query = SourceQuery { page: page.clone(), topic: None, wait_for: None };
        let op = bench.store.op();
        let found = op.timeline(&source).page(&query).await.expect("an engine without faults");
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
    // Oldest first, pages end two seconds ago.
    tokio::time::sleep(FORGOTTEN).await;
    let range = TimeRange::new(Some(millis(ago(SINCE_SECONDS))), None).expect("it has no end");
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
