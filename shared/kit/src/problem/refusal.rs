//! The problems of input that keys or model refuse.

use lately_keys::{
    CursorError, ErasureIdError, IdError, IssueNumberError, NameError, SessionIdError, SourceError,
};
use lately_model::{BatchError, BodyError, TopicFault};

use super::Problem;
use crate::code::Code;

impl From<NameError> for Problem {
    fn from(refused: NameError) -> Self {
        Self::new(Code::InvalidName, refused.to_string())
    }
}

impl From<SourceError> for Problem {
    fn from(refused: SourceError) -> Self {
        Self::new(Code::InvalidName, refused.to_string())
    }
}

impl From<IdError> for Problem {
    fn from(refused: IdError) -> Self {
        Self::new(Code::InvalidId, refused.to_string())
    }
}

impl From<IssueNumberError> for Problem {
    fn from(refused: IssueNumberError) -> Self {
        Self::new(Code::InvalidName, refused.to_string())
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

impl Problem {
    /// The problem of a refused body; `invalid` is its code if the body is JSON.
    pub fn of_body(refused: BodyError, invalid: Code) -> Self {
        match refused {
            BodyError::Malformed(malformed) => Self::new(Code::MalformedJson, malformed.to_string()),
            BodyError::Invalid(faults) => Self::of_faults(invalid, faults),
        }
    }
}

impl From<SessionIdError> for Problem {
    fn from(refused: SessionIdError) -> Self {
        Self::new(Code::InvalidId, refused.to_string())
    }
}

impl From<ErasureIdError> for Problem {
    fn from(refused: ErasureIdError) -> Self {
        Self::new(Code::InvalidId, refused.to_string())
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
