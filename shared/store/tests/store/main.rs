//! The tests of the store. The real SDK sends the store's requests to the embedded engine.
//!
//! A seeded test prints its seed when it fails; `LATELY_SEED=n` runs only that seed.

#![expect(clippy::unwrap_used, reason = "tests unwrap results that must not fail")]
#![expect(clippy::large_futures, reason = "tests have few futures, and move each of them once")]

mod accepting;
mod backlog;
mod bounds;
mod consumer_prices;
mod consumers;
mod deletes;
mod ends;
mod erasure;
mod fan_out;
mod fan_out_prices;
mod fan_out_races;
mod fan_out_steps;
mod faults;
mod feed;
mod feed_waits;
mod follow;
mod giving_way;
mod growth;
mod import;
mod issues;
mod late;
mod limited;
mod listed;
mod live;
mod newer;
mod polls;
mod prices;
mod quotas;
mod range;
mod records;
mod runs;
mod scale;
mod scene;
mod sessions;
mod simulation;
mod spread;
mod support;
mod tally;
mod timeline;
mod topics;
mod verify;
mod walk;
mod work;
mod zombies;
