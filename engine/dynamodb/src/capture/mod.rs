//! The records of the stream, which the engine captures itself.
//!
//! The engine captures a change before it releases the lock of the write. So the records of an item are in the order of
//! its changes, and each change has exactly one record. A write that changes nothing leaves no record. Records of one
//! partition key share a shard.

pub(crate) mod lambda;
mod log;
mod record;

pub use lambda::{EVENT_BYTES, REGION, event};
pub use log::ReadRecords;
pub use record::{EventName, InvalidSequenceNumber, Record, SequenceNumber};

pub(crate) use log::Log;
