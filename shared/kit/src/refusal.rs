//! Which problem it is that the model refuses what a client sent: one exhaustive map.

use lately_keys::{CursorError, IdError, NameError};
use lately_model::{BatchError, TopicChangeError, TopicFault};

use crate::code::Code;
use crate::problem::Problem;

impl From<NameError> for Problem {
    fn from(refused: NameError) -> Self {
        Self::new(Code::InvalidName, refused.to_string())
    }
}

impl From<IdError> for Problem {
    fn from(refused: IdError) -> Self {
        Self::new(Code::InvalidId, refused.to_string())
    }
}

impl From<CursorError> for Problem {
    fn from(refused: CursorError) -> Self {
        Self::new(Code::InvalidCursor, refused.to_string())
    }
}

impl From<BatchError> for Problem {
    fn from(refused: BatchError) -> Self {
        let code = match &refused {
            BatchError::BodyTooLarge | BatchError::EventTooLarge { .. } => Code::TooLarge,
            BatchError::Malformed(_) => Code::MalformedJson,
            BatchError::TooManyEvents => Code::TooManyEvents,
            BatchError::Invalid(_) => Code::InvalidEvent,
        };
        match refused {
            BatchError::Invalid(faults) => Self::of_faults(code, faults),
            other => Self::new(code, other.to_string()),
        }
    }
}

impl From<TopicChangeError> for Problem {
    fn from(refused: TopicChangeError) -> Self {
        match refused {
            TopicChangeError::Malformed(malformed) => Self::new(Code::MalformedJson, malformed.to_string()),
            TopicChangeError::Invalid(faults) => Self::of_faults(Code::InvalidTopic, faults),
        }
    }
}

impl From<TopicFault> for Problem {
    fn from(refused: TopicFault) -> Self {
        match refused {
            TopicFault::BucketIsFixed(_) => Self::new(Code::BucketIsFixed, refused.to_string()),
            TopicFault::Invalid(faults) => Self::of_faults(Code::InvalidTopic, faults),
        }
    }
}
