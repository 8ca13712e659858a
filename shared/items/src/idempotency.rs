//! The stored response to a request that carried an `Idempotency-Key`.
//!
//! ```text
//! table   pk  IDEMPOTENCY#{caller}#{topic}#{key}    sk  the same
//! ```
//!
//! The client's key comes last, because it alone may contain a `#`.

use std::fmt;
use std::str::FromStr;

use lately_keys::limits::IDEMPOTENCY_KEY_BYTES;
use lately_keys::{Caller, Topic};

use crate::key::key;

/// The value of an `Idempotency-Key` header: 1 to 128 printable ASCII characters.
///
/// ```
/// use lately_items::IdempotencyKey;
///
/// assert!("order 66 / try #1".parse::<IdempotencyKey>().is_ok());
/// assert!("order\n66".parse::<IdempotencyKey>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(Box<str>);

/// The text is not an idempotency key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("idempotency key: must be 1 to {IDEMPOTENCY_KEY_BYTES} printable ASCII characters")]
pub struct IdempotencyKeyError;

impl FromStr for IdempotencyKey {
    type Err = IdempotencyKeyError;

    fn from_str(text: &str) -> Result<Self, IdempotencyKeyError> {
        let length = 1..=IDEMPOTENCY_KEY_BYTES;
        let printable = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        (length.contains(&text.len()) && printable).then(|| Self(text.into())).ok_or(IdempotencyKeyError)
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

key! {
    /// The item that stores a request and its response.
    pub struct IdempotencyItemKey {
        /// The caller who sent the request.
        pub caller: Caller,
        /// The topic of the request.
        pub topic: Topic,
        /// The key of the request.
        pub key: IdempotencyKey,
    }
    Table: pk "IDEMPOTENCY#{caller}#{topic}#{key}" sk "IDEMPOTENCY#{caller}#{topic}#{key}"
}
