//! A session, found by its token's hash and by its id, and listed by its id.
//!
//! ```text
//! table   pk  SESSION#{hash of the token, 64 hexadecimal digits}    sk  the same
//!   user S?, scopes S ("read write"), topics S? ("billing posts"), created_at N (milliseconds), expires_at N,
//!   writes_per_minute N?, reads_per_minute N?, gsi1pk, gsi1sk
//! table   pk  SESSION#{id}                                          sk  the same
//!   hash S (of the token), expires_at N
//! table   pk  SESSIONS#{user}                                       sk  {id}
//!   hash S (of the token), expires_at N
//! gsi1    pk  SESSIONS                                              sk  {id}
//! ```
//!
//! A reader of the table cannot learn a token from it. Operators name a session by its id, which contains the time of
//! its creation, so the lists are in that order. The list of all sessions is an index, which may be behind. The item of an
//! id and the items of a user are never behind.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use lately_keys::{Key, SessionId, TableKey, UnknownWord, User};
use lately_model::{RateLimits, Session};
use subtle::ConstantTimeEq;

use crate::item::{Corrupt, Item};
use crate::key::key;
use crate::record::{Record, record};

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

impl FromStr for TokenHash {
    type Err = UnknownWord;

    /// Parses 64 hexadecimal digits in lower case.
    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        let digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != 64 || !text.bytes().all(digit) {
            return Err(UnknownWord);
        }
        let mut hash = [0; 32];
        for (byte, at) in hash.iter_mut().zip((0..).step_by(2)) {
            *byte = u8::from_str_radix(&text[at..at + 2], 16).map_err(|_| UnknownWord)?;
        }
        Ok(Self(hash))
    }
}

impl fmt::Display for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
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
    fn partition()
}

/// The keys of the items of a session: its item in its user's list, which is given, the session itself, and its name.
pub fn keys_of_listed(item: &Item) -> Result<[Key; 3], Corrupt> {
    let UserSessionKey { id, .. } = item.key_as()?;
    Ok([item.key()?, SessionKey { hash: decode_hash(item)? }.encode(), SessionNameKey { id }.encode()])
}

/// The items that a session's id is looked up by, and that list the session under its user.
pub fn encode_names(session: &Session, hash: TokenHash) -> impl Iterator<Item = Item> {
    let id = session.id;
    let listed = session.user.clone().map(|user| Item::at(&UserSessionKey { user, id }));
    let expires_at = session.expires_at.get() / 1000;
    let items = [Item::at(&SessionNameKey { id })].into_iter().chain(listed);
    items.map(move |item| item.with("hash", &hash).with("expires_at", expires_at))
}

/// The id of an item of a list: of a session in the index, or of an entry in its user's list.
pub fn listed_id(item: &Item) -> Result<SessionId, Corrupt> {
    item.get(if item.has("gsi1sk") { "gsi1sk" } else { "sk" })
}

/// The hash in an item that names a session, or lists it.
pub fn decode_hash(item: &Item) -> Result<TokenHash, Corrupt> {
    item.get("hash")
}

/// The item of a session.
pub fn encode(session: &Session, hash: TokenHash) -> Item {
    session.add_to(Item::at(&SessionKey { hash }).also_at(&SessionListKey { id: session.id }))
}

/// The attribute of the session's user.
pub const USER: &str = "user";

/// The attribute of the time at which the session was made.
pub const CREATED_AT: &str = "created_at";

record! {
    Session {
        id: required("gsi1sk"),
        user: optional("user"),
        scopes: required("scopes"),
        topics: optional("topics"),
        created_at: required("created_at"),
        expires_at: seconds("expires_at"),
        limits: part,
    }
}

record! {
    RateLimits {
        writes_per_minute: optional("writes_per_minute"),
        reads_per_minute: optional("reads_per_minute"),
    }
}

#[cfg(test)]
mod tests {
    use lately_model::RequestsPerMinute;

    use super::*;
    use crate::tests::{ID, millis};

    fn session() -> Session {
        Session {
            id: ID.parse().unwrap(),
            user: "ada".parse().ok(),
            scopes: "read write".parse().unwrap(),
            topics: Some(["billing".parse().unwrap(), "posts".parse().unwrap()].into_iter().collect()),
            created_at: millis(5),
            expires_at: millis(1_720_900_000_000),
            limits: RateLimits {
                writes_per_minute: RequestsPerMinute::new(600).ok(),
                reads_per_minute: None,
            },
        }
    }

    #[test]
    fn golden_bytes() {
        let hash = TokenHash::from([0xab; 32]);
        let key = format!("SESSION#{}", "ab".repeat(32));
        let stored = Item::from([("pk", &*key), ("sk", &*key), ("gsi1pk", "SESSIONS"), ("gsi1sk", ID)])
            .with("user", "ada")
            .with("scopes", "read write")
            .with("topics", "billing posts")
            .with("created_at", 5_u64)
            .with("expires_at", 1_720_900_000_u64)
            .with("writes_per_minute", 600_u64);
        assert_eq!(encode(&session(), hash), stored);
        assert_eq!(Session::decode(&stored), Ok(session()));
        assert_eq!(stored.key_as(), Ok(SessionKey { hash }));
        Session::decode(&stored.with("reads_per_minute", 0_u64))
            .expect_err("an invalid limit is not read as none");

        let stored = |pk, sk| {
            let key = Item::from([("pk", pk), ("sk", sk)]);
            key.with("hash", "ab".repeat(32)).with("expires_at", 1_720_900_000_u64)
        };
        let key = format!("SESSION#{ID}");
        let [item, entry] =
            <[Item; 2]>::try_from(encode_names(&session(), hash).collect::<Vec<_>>()).unwrap();
        assert_eq!((&item, &entry), (&stored(&*key, &*key), &stored("SESSIONS#ada", ID)));
        assert_eq!((listed_id(&entry), decode_hash(&entry)), (Ok(session().id), Ok(hash)));
        assert_eq!(decode_hash(&item), Ok(hash));
        assert!(encode_names(&Session { user: None, ..session() }, hash).eq([item]));
    }
}
