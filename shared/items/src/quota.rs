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

use lately_keys::{Fingerprint, QuotaKind, SessionId, User};

use crate::form::{Form, Hex, Text};
use crate::key::key;

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
    /// use lately_items::QuotaHolder;
    ///
    /// let jwt = |issuer| QuotaHolder::of_jwt("ada".parse().unwrap(), issuer);
    /// assert_ne!(jwt("https://id.example.org/"), jwt("https://id.example.com/"));
    /// ```
    pub fn of_jwt(user: User, issuer: &str) -> Self {
        Self::Jwt { user, issuer: Fingerprint::of("issuer").text(issuer).finish() }
    }
}

impl fmt::Display for QuotaHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session(id) => write!(f, "session:{id}"),
            Self::Jwt { user, issuer } => write!(f, "jwt:{user}:{issuer}"),
        }
    }
}

impl Form<QuotaHolder> for Text {
    fn read(text: &str) -> Option<QuotaHolder> {
        let Some(jwt) = text.strip_prefix("jwt:") else {
            return text.strip_prefix("session:")?.parse().ok().map(QuotaHolder::Session);
        };
        let (user, issuer) = jwt.split_once(':')?;
        Some(QuotaHolder::Jwt { user: Self::read(user)?, issuer: Hex::read(issuer)? })
    }
}

key! {
    /// The item that counts the requests of a caller in a minute, or stands for one of its open streams.
    pub struct QuotaKey {
        /// The tokens that share it.
        pub holder: QuotaHolder,
        /// The requests that it counts.
        pub kind: QuotaKind,
        /// The whole minutes since 1970, or the number of a stream.
        pub number: u64,
    }
    Table: pk "QUOTA#{holder}#{kind}" sk "{number}"
}
