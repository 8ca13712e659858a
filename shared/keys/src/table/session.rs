//! A session, found by its token's hash and by its id, and listed by its id.
//!
//! ```text
//! table   pk  SESSION#{hash of the token, 64 hexadecimal digits}    sk  the same
//! table   pk  SESSION#{id}                                          sk  the same
//! table   pk  SESSIONS#{user}                                       sk  {id}
//! gsi1    pk  SESSIONS                                              sk  {id}
//! ```
//!
//! A reader of the table cannot learn a token from it. Operators name a session by its id, which contains the time of
//! its creation, so the lists are in that order. The list of all sessions is an index, which may be behind. The item of an
//! id and the items of a user are never behind.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use subtle::ConstantTimeEq;
use uuid::{Builder, Uuid, Variant};

use super::declare::{Form, Text, key};
use crate::id::parse_hyphenated;
use crate::name::User;
use crate::text::serde_as_text;
use crate::time::UnixMillis;

/// The SHA-256 of a session's token. Its text is lower-case hexadecimal.
///
/// Hashes are compared in constant time, so the duration does not show how much of a hash was right.
///
/// ```
/// use lately_keys::table::TokenHash;
///
/// assert_eq!(TokenHash::from([1; 32]).to_string(), "01".repeat(32));
/// ```
#[derive(Clone, Copy, Debug, Eq)]
pub struct TokenHash([u8; 32]);

impl PartialEq for TokenHash {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Hash for TokenHash {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl From<[u8; 32]> for TokenHash {
    fn from(hash: [u8; 32]) -> Self {
        Self(hash)
    }
}

impl TokenHash {
    /// The hash's bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Parses a hash's text.
    pub fn parse(text: &str) -> Option<Self> {
        let digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != 64 || !text.bytes().all(digit) {
            return None;
        }
        let mut hash = [0; 32];
        for (byte, at) in hash.iter_mut().zip((0..).step_by(2)) {
            *byte = u8::from_str_radix(&text[at..at + 2], 16).ok()?;
        }
        Some(Self(hash))
    }
}

impl fmt::Display for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Form<TokenHash> for Text {
    fn write(hash: &TokenHash) -> impl fmt::Display {
        hash
    }

    fn read(text: &str) -> Option<TokenHash> {
        TokenHash::parse(text)
    }
}

/// A session's public name: a UUID, of version 7 when made here. Its text is hyphenated and in lower case, and no other
/// form is accepted.
///
/// ```
/// use lately_keys::table::SessionId;
///
/// assert!("0190a4cd-d3e7-7222-9f99-fdb74feee752".parse::<SessionId>().is_ok());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(Uuid);

/// The text is not a session's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("session: must be a hyphenated UUID in lower case")]
pub struct SessionIdError;

impl SessionId {
    /// An id with a time and random bits.
    ///
    /// ```
    /// use lately_keys::table::SessionId;
    ///
    /// let at = "2026-11-20T09:30:00Z".parse()?;
    /// let id = SessionId::new(at, 7);
    /// assert_eq!(id.made_at(), Some(at));
    /// assert!(id < SessionId::new("2026-11-20T09:30:00.001Z".parse()?, 0));
    /// # Ok::<(), lately_keys::TimeError>(())
    /// ```
    pub fn new(at: UnixMillis, entropy: u128) -> Self {
        let [random @ .., _, _, _, _, _, _] = entropy.to_be_bytes();
        Self(Builder::from_unix_timestamp_millis(at.get(), &random).into_uuid())
    }

    /// The id in its 16 bytes.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    /// The id of these bytes; none unless there are 16.
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        Uuid::from_slice(bytes).ok().map(Self)
    }

    /// When the id was made; none if the UUID is not of version 7, which no session has.
    pub fn made_at(self) -> Option<UnixMillis> {
        let is_v7 = self.0.get_version_num() == 7 && self.0.get_variant() == Variant::RFC4122;
        let [a, b, c, d, e, f, ..] = *self.0.as_bytes();
        is_v7.then(|| UnixMillis::new(u64::from_be_bytes([0, 0, a, b, c, d, e, f])).ok()).flatten()
    }
}

impl FromStr for SessionId {
    type Err = SessionIdError;

    fn from_str(text: &str) -> Result<Self, SessionIdError> {
        let lower = !text.bytes().any(|byte| byte.is_ascii_uppercase());
        parse_hyphenated(text).filter(|_| lower).map(Self).ok_or(SessionIdError)
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

serde_as_text!(SessionId);

key! {
    /// The item that is a session.
    #[derive(Copy)]
    pub struct SessionKey {
        /// The hash of its token.
        pub hash: TokenHash,
    }
    Table: pk "SESSION#{hash}" sk "SESSION#{hash}"
}

key! {
    /// The item that a session's id is looked up by. It contains the hash of the session's token.
    #[derive(Copy)]
    pub struct SessionNameKey {
        /// The session's id.
        pub id: SessionId,
    }
    Table: pk "SESSION#{id}" sk "SESSION#{id}"
}

key! {
    /// A session's entry in the list of its user's sessions. It contains the hash of the session's token.
    pub struct UserSessionKey {
        /// The user that the session acts for.
        pub user: User,
        /// The session's id.
        pub id: SessionId,
    }
    Table: pk "SESSIONS#{user}" sk "{id}"
}

impl UserSessionKey {
    /// The partition of a user's sessions.
    pub fn partition(user: &User) -> String {
        format!("SESSIONS#{user}")
    }
}

key! {
    /// A session's entry in the list of all sessions, by id.
    #[derive(Copy)]
    pub struct SessionListKey {
        /// The session's id.
        pub id: SessionId,
    }
    Gsi1: pk "SESSIONS" sk "{id}"
}

impl SessionListKey {
    /// The index partition that lists all sessions.
    pub const PARTITION: &str = "SESSIONS";
}
