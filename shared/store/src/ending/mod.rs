//! Changes of all events of a topic: how its deletion, and another retention, begin, and what a client sees of them.
//! Fan-out runs the steps (`work/`, `fan_out/kinds/`), which walk through the topic's directory, and never scan.
//!
//! The mark beside the announcements is durable before the walk begins. An event that was stored before the mark is found
//! by the walk, which reads consistently. An event that is stored later meets the mark, because fan-out reads the
//! announcements after the event was stored.

mod deletion;
mod retention;

pub use deletion::{DeletionError, DeletionNotFound};
