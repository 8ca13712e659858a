//! The problems of input that keys or model refuse.

use lately_items::IdempotencyKeyError;
use lately_keys::{
    CursorError, ErasureIdError, IdError, IssueNumberError, NameError, SessionIdError, SourceError,
};
use lately_model::{BatchError, BodyError, PreconditionError, TopicFault};

use super::Problem;
use crate::code::Code;

/// A text that keys refuse: the error says what is wrong with it.
macro_rules! refused {
    ($($error:ident => $code:ident),*) => {$(
        impl From<$error> for Problem {
            fn from(refused: $error) -> Self {
                Self::new(Code::$code, refused.to_string())
            }
        }
    )*};
}

refused!(NameError => InvalidName, SourceError => InvalidName, IssueNumberError => InvalidName, IdError => InvalidId);
refused!(SessionIdError => InvalidId, ErasureIdError => InvalidId, CursorError => InvalidCursor);
refused!(IdempotencyKeyError => InvalidIdempotencyKey, PreconditionError => InvalidPrecondition);

impl From<BatchError> for Problem {
    fn from(refused: BatchError) -> Self {
        let code = match refused {
            BatchError::Invalid(faults) => return Self::of_faults(Code::InvalidEvent, faults),
            BatchError::BodyTooLarge | BatchError::EventTooLarge { .. } => Code::TooLarge,
            BatchError::Malformed(_) => Code::MalformedJson,
            BatchError::TooManyEvents => Code::TooManyEvents,
        };
        Self::new(code, refused.to_string())
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

impl From<TopicFault> for Problem {
    fn from(refused: TopicFault) -> Self {
        match refused {
            TopicFault::BucketIsFixed(_) => Self::new(Code::BucketIsFixed, refused.to_string()),
            TopicFault::Invalid(faults) => Self::of_faults(Code::InvalidTopic, faults),
        }
    }
}
