//! The store on the embedded engine, with the real SDK in between.
//!
//! A seeded test that fails says its seed; `LATELY_SEED=n` runs that seed alone.

#![expect(clippy::unwrap_used, reason = "in a test, what must not fail is unwrapped")]
#![expect(clippy::large_futures, reason = "a test's futures are few, and moved once")]

mod accepting;
mod backlog;
mod bounds;
mod consumer_prices;
mod consumers;
mod deletes;
mod fan_out;
mod fan_out_crashes;
mod fan_out_prices;
mod fan_out_races;
mod fan_out_steps;
mod faults;
mod feed;
mod feed_waits;
mod follow;
mod growth;
mod import;
mod issues;
mod late;
mod limited;
mod listed;
mod newer;
mod polls;
mod prices;
mod range;
mod records;
mod runs;
mod scale;
mod scene;
mod sessions;
mod simulation;
mod support;
mod tally;
mod timeline;
mod topics;
mod verify;
mod walk;
mod zombies;
