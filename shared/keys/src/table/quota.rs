//! The writes or reads of a caller with a limit in one minute of the clock, and the open streams of a caller.
//!
//! ```text
//! table   pk  QUOTA#session:{id}#{writes|reads}                                                     sk  {minute}
//! table   pk  QUOTA#jwt:{user}:{fingerprint of the issuer, 16 hexadecimal digits}#{writes|reads}    sk  {minute}
//! table   pk  QUOTA#{…}#streams                                                                     sk  {number}
//! ```
//!
//! A minute is the number of whole minutes since 1970. A stream's number is below the number of streams that a caller may
//! open at once.
//!
//! Every session has its own quotas. A JWT has no id, so all JWTs that an issuer makes for a user share theirs. An
//! issuer's name is an address of any length, so the key has its fingerprint.

use std::fmt;

use crate::fingerprint::Fingerprint;
use crate::key::{Key, Place, TableKey};
use crate::name::User;
use crate::table::session::SessionId;

/// The requests that a quota counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QuotaKind {
    /// Requests that write. A batch counts each of its events.
    Writes,
    /// Requests that read.
    Reads,
    /// Streams that are open.
    Streams,
}

impl QuotaKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Writes, Self::Reads, Self::Streams];

    /// The kind's name, in keys and in headers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Writes => "writes",
            Self::Reads => "reads",
            Self::Streams => "streams",
        }
    }
}

/// The tokens that share a quota.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum QuotaHolder {
    /// The token of a session.
    Session(SessionId),
    /// The JWTs of a user that an issuer makes.
    Jwt {
        /// The user.
        user: User,
        /// The issuer's fingerprint.
        issuer: Fingerprint,
    },
}

impl QuotaHolder {
    /// The holder for a user's JWTs.
    ///
    /// ```
    /// use lately_keys::table::QuotaHolder;
    ///
    /// let jwt = |issuer| QuotaHolder::of_jwt("ada".parse().unwrap(), issuer);
    /// assert_ne!(jwt("https://id.example.org/"), jwt("https://id.example.com/"));
    /// ```
    pub fn of_jwt(user: User, issuer: &str) -> Self {
        Self::Jwt { user, issuer: Fingerprint::of("issuer").text(issuer).finish() }
    }

    fn decode(text: &str) -> Option<Self> {
        let Some(jwt) = text.strip_prefix("jwt:") else {
            return text.strip_prefix("session:")?.parse().ok().map(Self::Session);
        };
        let (user, digits) = jwt.split_once(':')?;
        let issuer = u64::from_str_radix(digits, 16).ok()?.to_be_bytes();
        Some(Self::Jwt { user: user.parse().ok()?, issuer: Fingerprint::from_bytes(issuer) })
    }
}

impl fmt::Display for QuotaHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session(id) => write!(f, "session:{id}"),
            Self::Jwt { user, issuer } => {
                write!(f, "jwt:{user}:{:016x}", u64::from_be_bytes(*issuer.as_bytes()))
            }
        }
    }
}

/// The item that counts the requests of a caller in a minute, or stands for one of its open streams.
///
/// ```
/// use lately_keys::TableKey;
/// use lately_keys::table::{QuotaHolder, QuotaKey, QuotaKind};
///
/// let holder = QuotaHolder::of_jwt("ada".parse()?, "https://id.example.org/");
/// let key = QuotaKey { holder, kind: QuotaKind::Writes, number: 28_679_656 }.encode();
/// assert_eq!((&*key.pk, &*key.sk), ("QUOTA#jwt:ada:186e76cdbab655e3#writes", "28679656"));
/// # Ok::<(), lately_keys::NameError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QuotaKey {
    /// The tokens that share it.
    pub holder: QuotaHolder,
    /// The requests that it counts.
    pub kind: QuotaKind,
    /// The whole minutes since 1970, or the number of a stream.
    pub number: u64,
}

impl TableKey for QuotaKey {
    const PLACE: Place = Place::Table;

    fn encode(&self) -> Key {
        let Self { holder, kind, number } = self;
        Key { pk: format!("QUOTA#{holder}#{}", kind.as_str()), sk: number.to_string() }
    }

    fn decode(pk: &str, sk: &str) -> Option<Self> {
        let (holder, word) = pk.strip_prefix("QUOTA#")?.split_once('#')?;
        let kind = QuotaKind::ALL.into_iter().find(|kind| kind.as_str() == word)?;
        let key = Self { holder: QuotaHolder::decode(holder)?, kind, number: sk.parse().ok()? };
        // A number has several texts; a key has one.
        let Key { pk: own, sk: number } = key.encode();
        (own == pk && number == sk).then_some(key)
    }
}
