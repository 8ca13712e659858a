//! Tests of reports on the embedded engine and on objects in memory, through the real SDK.

#![expect(clippy::unwrap_used, reason = "in a test, what must not fail is unwrapped")]
#![expect(clippy::large_futures, reason = "a test's futures are few, and moved once")]

mod crashes;
mod large;
mod late;
mod oracle;
mod price;
mod rig;
mod runs;
mod zombies;
