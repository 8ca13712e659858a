//! The records of the stream. The engine captures them itself.
//!
//! A change becomes a record while the lock that the write ran under is still held, so records of an
//! item are in the order of its changes, and a record exists for exactly the changes that were made.
//! A write that changes nothing leaves none. Records of one partition key share a shard.

pub(crate) mod lambda;
mod log;
mod record;

pub use lambda::{EVENT_BYTES, REGION, event};
pub use log::ReadRecords;
pub use record::{EventName, InvalidSequenceNumber, Record, SequenceNumber};

pub(crate) use log::Log;
