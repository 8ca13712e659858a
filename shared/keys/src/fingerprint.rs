//! Fingerprints of queries: a cursor is valid only for the query that it came from.
//!
//! ```text
//! first 8 bytes of SHA-256 over: each part as its length in 4 bytes, big-endian, and its text;
//!                                an absent part as the length 2³² − 1 and nothing
//! ```
//!
//! If the subject of the query can be deleted and created again, the last 4 bytes are the low bytes of the time of its
//! creation in milliseconds.
//!
//! The hash is SHA-256 because cursors never expire, so it must be the same in every release and on every machine.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use crate::time::UnixMillis;

/// A query's parameters as eight bytes.
///
/// The code fixes the order of the parts, so the order of the client's parameters does not matter. Each part is hashed
/// with its length, so that two different lists of parts are never hashed alike.
///
/// ```
/// use lately_keys::Fingerprint;
///
/// let posts = Fingerprint::of("topic events").text("posts").option(None).finish();
/// let likes = Fingerprint::of("topic events").text("posts").option(Some("like")).finish();
/// assert_ne!(posts, likes);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u8; Self::BYTES]);

impl Fingerprint {
    /// The number of its bytes.
    pub const BYTES: usize = 8;

    /// Starts the fingerprint of a query of this kind.
    pub fn of(kind: &str) -> FingerprintBuilder {
        FingerprintBuilder(Sha256::new()).text(kind)
    }

    /// The same query, of the subject that was created at this time.
    #[must_use]
    pub const fn created_at(self, time: UnixMillis) -> Self {
        let [a, b, c, d, ..] = self.0;
        let [.., w, x, y, z] = time.get().to_be_bytes();
        Self([a, b, c, d, w, x, y, z])
    }

    /// True if the queries are equal, except for the time at which their subject was created.
    pub(crate) fn differs_in_creation(&self, other: &Self) -> bool {
        self != other && self.0[..4] == other.0[..4]
    }

    /// The fingerprint of these bytes.
    pub const fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    pub(crate) const fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }
}

impl fmt::Display for Fingerprint {
    /// Sixteen hexadecimal digits, as in keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", u64::from_be_bytes(self.0))
    }
}

impl FromStr for Fingerprint {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        u64::from_str_radix(text, 16).map(|number| Self(number.to_be_bytes()))
    }
}

/// Builds a fingerprint: see [`Fingerprint::of`].
#[derive(Clone, Debug)]
#[must_use]
pub struct FingerprintBuilder(Sha256);

impl FingerprintBuilder {
    /// Adds a part.
    pub fn text(self, part: &str) -> Self {
        // A request is far shorter than 4 GiB. For a longer part, a capped length is still better than a panic.
        let length = u32::try_from(part.len()).unwrap_or(u32::MAX - 1);
        Self(self.0.chain_update(length.to_be_bytes()).chain_update(part))
    }

    /// Adds a part that may be absent. An absent part differs from an empty one.
    pub fn option(self, part: Option<&str>) -> Self {
        match part {
            Some(part) => self.text(part),
            None => Self(self.0.chain_update(u32::MAX.to_be_bytes())),
        }
    }

    /// The fingerprint of all parts.
    pub fn finish(self) -> Fingerprint {
        let hash = self.0.finalize().0;
        Fingerprint(*hash.first_chunk().expect("SHA-256 has 32 bytes"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn golden_bytes() {
        let query = Fingerprint::of("topic events").text("posts").option(None).finish();
        assert_eq!(query.as_bytes(), &[0xf1, 0xba, 0xe2, 0x32, 0x4b, 0xca, 0xe1, 0xd3]);
    }

    proptest! {
        #[test]
        fn different_parts_have_different_fingerprints(
            a in prop::collection::vec(prop::option::of("[ab#]{0,2}"), 0..4),
            b in prop::collection::vec(prop::option::of("[ab#]{0,2}"), 0..4),
        ) {
            let print = |parts: &[Option<String>]| {
                let start = Fingerprint::of("kind");
                parts.iter().fold(start, |print, part| print.option(part.as_deref())).finish()
            };
            prop_assert_eq!(print(&a) == print(&b), a == b);
        }
    }
}
