//! Changes of all events of a topic: the topic's deletion, and another retention.
//!
//! Both walk through the topic's directory in steps, and never scan. One item is the queue of its own steps: it holds
//! the number of the next step and how far the steps have come. Each put of it makes a record of the table's stream,
//! and fan-out then takes the step of that number and puts the item again (`fan_out/ending.rs`).
//!
//! These rules must hold:
//! - A step puts the item on the condition that the item still has the step's number. So a record that is delivered
//!   again begins nothing, and of two processes that take the same step one continues.
//! - Everything that a step does may be done twice. A deletion stores which events it deletes before it deletes them, so
//!   it counts each event once.
//! - The mark beside the announcements is durable before the walk begins. An event that landed before the mark is found
//!   by the walk, which reads consistently. An event that lands later meets the mark, because fan-out reads the
//!   announcements after the event has landed.
use lately_items::StepName;
use lately_table::Condition;

mod deletion;
mod retention;

pub use deletion::{DeletionError, DeletionNotFound};

/// The condition that a stored step is this one.
pub(crate) fn is_stored(name: StepName) -> Condition {
    Condition::equals("begun", name.begun.get()).and(Condition::equals("step", name.number))
}
