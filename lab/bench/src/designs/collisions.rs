//! Counts the events that are lost when many writers write in one tick of a design's clock, so that all their keys have
//! the same time.
//!
//! Each writer has its own random bits, and for Lately its own process: another store, with another generator of ids. A
//! put replaces an item with the same key without an error. The lost events are those that cannot be read afterwards.

use std::num::NonZeroU32;
use std::time::Duration;

use jiff::SignedDuration;
use lately_designs::{Design, Walk};
use lately_engine::Options;
use lately_keys::Topic;
use lately_model::{EventQuery, TopicChange};
use lately_store::{Store, Submission};
use lately_table::Connection;

use super::stage::{elsewhere, of_design, timeline};
use super::workload::{Happening, Workload, later};
use crate::topic::{NOON, QUIET, of_512_bytes, page_size};
use lately_rig::{TABLE, World, engine, simulate};

const BUDGET: Duration = Duration::from_secs(10);

/// The events that a published design loses of one event from each of `writers` writers.
pub(super) fn lost_by_published(design: &Design, writers: u32) -> u64 {
    simulate(async {
        let store = elsewhere(design, Options::default(), BUDGET);
        let table = timeline(&store, design.clone());
        // A moment at which a tick of every design begins.
        let at = later(Workload::end(), SignedDuration::from_secs(-60));
        let mut random = fastrand::Rng::with_seed(0);
        for user in 0..writers {
            let happening = Happening { at, user, entropy: random.u128(..) };
            table.write([of_design(design, happening)]).await.expect("the engine injects no faults");
        }
        let before = later(at, SignedDuration::from_secs(-1));
        let walk = Walk::newest_first(before, Workload::end(), NonZeroU32::MAX);
        let (page, _) = table.read(&walk).await.expect("the engine injects no faults");
        u64::from(writers) - page.events.len() as u64
    })
}

/// The events that Lately loses of one event from each of `writers` processes. All processes read the same time from
/// their clocks.
pub(super) fn lost_by_lately(writers: u32) -> u64 {
    simulate(async {
        let engine = engine(&World::beginning(NOON, 0), Options::default());
        let process = |seed| {
            let world = World::beginning(NOON, seed);
            Store::new(Connection::new(engine.client(), TABLE, world, BUDGET))
        };
        let topic: Topic = "posts".parse().expect("a topic");
        let change = TopicChange::parse(QUIET.as_bytes()).expect("settings");
        process(0).op().topic(&topic).put(&change).await.expect("the topic is new");
        for writer in 1..=writers {
            let events = vec![of_512_bytes()];
            let write = Submission::new(events);
            process(writer.into())
                .op()
                .topic(&topic)
                .write(write)
                .await
                .expect("the engine injects no faults");
        }
        let mut query = EventQuery { limit: page_size(200), consistent: true, ..EventQuery::default() };
        let reader = process(0);
        let mut found = 0;
        loop {
            let page = reader.op().topic(&topic).latest(&query).await.expect("the engine injects no faults");
            found += page.events.len() as u64;
            query.cursor = page.next;
            if query.cursor.is_none() {
                return u64::from(writers) - found;
            }
        }
    })
}
