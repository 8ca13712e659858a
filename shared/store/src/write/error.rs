//! Why events were not written.

use lately_keys::{EventId, ShardCount};
use lately_table::TableError;

use crate::erasure::ActorIsBeingErased;
use crate::error::TopicError;

/// Why some or all events were not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The topic could not be read, or does not exist.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// These events lie in the past, and the writer may not import. Nothing was written.
    #[error("the writer may not import events of the past")]
    ImportNotAllowed(Vec<usize>),
    /// Events are older than the topic's retention. Nothing was written.
    #[error("events are older than the topic's retention")]
    TooOld(Vec<usize>),
    /// The actor of some of the events is being erased. Nothing was written.
    #[error(transparent)]
    ActorIsBeingErased(#[from] ActorIsBeingErased),
    /// The idempotency key was used with another body. No event was written.
    #[error("the idempotency key was used with another body")]
    KeyReused,
    /// Some events are written, and some are not. An event that is in neither list may be written or not.
    #[error("a batch was written in part: {} events are known to be rejected", rejected.len())]
    Partly {
        /// The events that are written, with their index.
        accepted: Vec<(usize, EventId)>,
        /// The indices of the events that are not written.
        rejected: Vec<usize>,
    },
    /// The table could not be read or written. No event is known to be written.
    #[error(transparent)]
    Table(#[from] TableError),
}

/// Why events were not imported, or only some of them. Importing them again is safe.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// An id names another shard than its time has, with the import's number of shards. Nothing was written.
    #[error("an id names another shard than its time has with the import's {0} shards")]
    Shard(ShardCount),
    /// These events are less than a minute old, so they are not imports. Nothing was written.
    #[error("events are too new to be imported")]
    TooNew(Vec<usize>),
    /// The events could not be written, or only some of them.
    #[error(transparent)]
    Write(#[from] WriteError),
}
