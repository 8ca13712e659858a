//! Background work: work that is too long for one invocation, in steps.
//!
//! An item of the table is the next step of its work. Each put of the item makes a record of the table's stream, and
//! fan-out then runs the step and puts the next one. So work needs no scan and no schedule, and it continues wherever a
//! process dies.
//!
//! | for | see |
//! | --- | --- |
//! | the next step replaces a step; what steps wait for | `queue.rs` |
//! | the steps of a backlog, which have several items | `backlog.rs` |
//! | the items | `items/work.rs` |
//! | a step that is due is run; the kinds of work, one file each | `fan_out/kinds/` |
//! | an operator's view: all steps that wait, and their repair | `operate.rs` |
//!
//! These rules must hold for each kind:
//! - Everything that a step does may be done twice. Lambda delivers a record again if a process dies, and may deliver it
//!   out of order.
//! - A step that the item no longer holds is not run: its record is late, or was delivered again.
//! - A step of an item that holds many steps puts the next one on the condition that the item still holds this one. So of
//!   two processes that run the same step, one continues.
//! - A step stores what it will count before it does it. So everything is counted once.
//! - A step makes a bounded number of calls, because the records behind it in the stream's lane wait. For the same reason it
//!   lists no more than it can delete soon: at most 1 MB of one partition.
//! - A step that a busy key range refuses ends, and its item is touched: the new record is behind all others.

mod backlog;
mod operate;
mod queue;

pub use operate::UnknownWork;
pub(crate) use queue::{
    Next, delete_each, delete_or_refuse, is_repeated, must_settle, must_wait, put_after, replace, touch,
};
