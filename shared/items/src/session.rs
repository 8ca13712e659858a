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

use subtle::ConstantTimeEq;

use lately_keys::{SessionId, User};

use crate::form::{Form, Text};
use crate::key::key;

/// The SHA-256 of a session's token. Its text is lower-case hexadecimal.
///
/// Hashes are compared in constant time, so the duration does not show how much of a hash was right.
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
    fn read(text: &str) -> Option<TokenHash> {
        TokenHash::parse(text)
    }
}

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
    fn partition(user: &User)
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
