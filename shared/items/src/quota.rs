//! The writes or reads of a caller with a limit in one minute of the clock, and the open streams of a caller.
//!
//! ```text
//! table   pk  QUOTA#session:{id}#{writes|reads}                                                     sk  {minute}
//! table   pk  QUOTA#jwt:{user}:{fingerprint of the issuer, 16 hexadecimal digits}#{writes|reads}    sk  {minute}
//! table   pk  QUOTA#{…}#streams                                                                     sk  {number}
//!   writes, reads: taken N (so many requests are permitted already), expires_at N
//!   streams: until N (milliseconds: the stream's end), expires_at N
//! ```
//!
//! A minute is the number of whole minutes since 1970. A stream's number is below the number of streams that a caller may
//! open at once.
//!
//! Every session has its own quotas. A JWT has no id, so all JWTs that an issuer makes for a user share theirs. An
//! issuer's name is an address of any length, so the key has its fingerprint.

use lately_keys::{Fingerprint, QuotaKind, SessionId, UnixMillis, UnknownWord, User};

use crate::item::Item;
use crate::key::key;

lately_keys::tagged! {
    /// The tokens that share a quota.
    pub enum QuotaHolder {
        /// The token of a session.
        Session(SessionId) = "session:",
        /// The JWTs of a user that an issuer makes.
        Jwt(JwtHolder) = "jwt:",
    }
    else UnknownWord: UnknownWord, |_| UnknownWord
}

key! {
    /// A user, and an issuer of the user's JWTs.
    #[derive(PartialOrd, Ord)]
    pub struct JwtHolder {
        /// The user.
        pub user: User,
        /// The issuer's fingerprint.
        issuer: Fingerprint,
    }
    text "{user}:{issuer}"
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
        Self::Jwt(JwtHolder { user, issuer: Fingerprint::of("issuer").text(issuer).finish() })
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

impl QuotaKey {
    /// The attribute with the number of requests that are permitted already.
    pub const TAKEN: &str = "taken";

    /// The attribute with the end of an open stream, in milliseconds.
    pub const UNTIL: &str = "until";

    /// The item of a stream that is open until a time.
    pub fn stream(&self, until: UnixMillis) -> Item {
        Item::at(self).with(Self::UNTIL, until.get()).with("expires_at", until.get() / 1_000 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ID, millis};

    #[test]
    fn golden_bytes_of_a_stream() {
        let key = QuotaKey {
            holder: QuotaHolder::Session(ID.parse().unwrap()),
            kind: QuotaKind::Streams,
            number: 3,
        };
        let item = Item::from([("pk", format!("QUOTA#session:{ID}#streams")), ("sk", "3".to_owned())])
            .with("until", 5_500_u64)
            .with("expires_at", 6_u64);
        assert_eq!(key.stream(millis(5_500)), item);
        assert_eq!(item.get(QuotaKey::UNTIL), Ok(5_500_u64));
    }
}
