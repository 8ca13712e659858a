//! The stored response to a request that carried an `Idempotency-Key`, and the note that one of its events was deleted.
//!
//! ```text
//! table   pk  IDEMPOTENCY#{caller}#{topic}#{key}    sk  the same
//!   hash B (SHA-256 of the body), ids B (16 bytes each), at N (when the request came, in milliseconds), done BOOL?,
//!   expires_at N
//!         pk  DELETED#{topic}#{id}                  sk  the same
//!   expires_at N
//! ```
//!
//! The client's key comes last, because it alone may contain a `#`.
//!
//! A client may repeat its request for a day, and a repetition finishes unfinished writes. An absent event was either
//! never written or deleted since; only the note of its deletion distinguishes the two.

use std::fmt;
use std::str::FromStr;

use lately_keys::limits::IDEMPOTENCY_KEY_BYTES;
use lately_keys::{Caller, EventId, Topic, UnixMillis};

use crate::item::Item;
use crate::key::key;
use crate::limits::IDEMPOTENCY_SECONDS;
use crate::record::{Record, record};

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

/// The part of a request by which a retry is recognized.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idempotency {
    /// The caller who sent the request.
    pub caller: Caller,
    /// The `Idempotency-Key` of the request.
    pub key: IdempotencyKey,
    /// The SHA-256 of the request's body.
    pub body_hash: [u8; 32],
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

key! {
    /// The item that notes an event's deletion.
    pub struct DeletedEventKey {
        /// The event's topic.
        pub topic: Topic,
        /// The event's id.
        pub id: EventId,
    }
    Table: pk "DELETED#{topic}#{id}" sk "DELETED#{topic}#{id}"
}

record! {
    /// A request as it is recorded under its key.
    pub struct KeyRecord {
        /// The SHA-256 of the request's body.
        pub body_hash: [u8; 32] = required("hash"),
        /// The ids of the request's events.
        pub ids: Vec<EventId> = required("ids"),
        /// When the request came.
        pub accepted_at: UnixMillis = required(AT = "at"),
        /// True if all events are written.
        pub done: bool = flag(DONE = "done"),
    }
}

impl KeyRecord {
    /// The record's item.
    pub fn encode(&self, key: &IdempotencyItemKey) -> Item {
        let expires_at = self.accepted_at.get() / 1000 + IDEMPOTENCY_SECONDS;
        self.add_to(Item::at(key)).with("expires_at", expires_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribute::Value;

    fn key() -> IdempotencyItemKey {
        let (caller, topic, key) = ("user:ada".parse(), "posts".parse(), "k".parse());
        IdempotencyItemKey { caller: caller.unwrap(), topic: topic.unwrap(), key: key.unwrap() }
    }

    fn record() -> KeyRecord {
        KeyRecord {
            body_hash: [7; 32],
            ids: vec!["0190a4cd-d3e7-7222-9f99-fdb74feee752".parse().unwrap()],
            accepted_at: UnixMillis::new(1_720_781_000_123).unwrap(),
            done: false,
        }
    }

    #[test]
    fn golden_bytes() {
        let id =
            [0x01, 0x90, 0xa4, 0xcd, 0xd3, 0xe7, 0x72, 0x22, 0x9f, 0x99, 0xfd, 0xb7, 0x4f, 0xee, 0xe7, 0x52];
        let key_text = "IDEMPOTENCY#user:ada#posts#k";
        let expected = Item::from([("pk", key_text), ("sk", key_text)])
            .with("hash", Value::bytes([7; 32]))
            .with("ids", Value::bytes(id))
            .with("at", 1_720_781_000_123_u64)
            .with("expires_at", 1_720_867_400_u64);
        assert_eq!(record().encode(&key()), expected);
        assert_eq!(KeyRecord::decode(&expected), Ok(record()));
    }
}
