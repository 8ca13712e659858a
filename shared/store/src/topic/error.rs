//! Why a topic could not be read, created or changed.

use lately_keys::Topic;
use lately_model::TopicFault;
use lately_table::TableError;

use crate::error::FindError;

/// The topic does not exist, or is being deleted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no topic {topic}")]
pub struct TopicNotFound {
    /// The topic's name.
    pub topic: Topic,
    /// True if the topic is being deleted, so its name is not free yet.
    pub is_being_deleted: bool,
}

/// Why a topic could not be read.
pub type TopicError = FindError<TopicNotFound>;

/// Why a topic could not be created or changed.
#[derive(Debug, thiserror::Error)]
pub enum PutTopicError {
    /// The settings contradict each other, or the stored topic.
    #[error(transparent)]
    Refused(#[from] TopicFault),
    /// The topic is being deleted.
    #[error("the topic {0} is being deleted")]
    BeingDeleted(Topic),
    /// The table could not be read or written.
    #[error(transparent)]
    Table(#[from] TableError),
}
