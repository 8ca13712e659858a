//! Tokens: `Authorization: Bearer <token>`.
//!
//! A token is 256 random bits behind a prefix that makes a leaked token recognisable. Only its SHA-256 is ever stored
//! or looked up: so many random bits cannot be guessed, so the hash needs no salt and no stretching. A token cannot be
//! printed by accident: it has no `Display`, and its `Debug` shows nothing.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use lately_items::TokenHash;
use sha2::{Digest, Sha256};

use crate::entropy::{self, EntropyError};

/// The prefix of every token that is made here.
const PREFIX: &str = "lately_";

/// The secret that opens a session.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// A new random token.
    ///
    /// # Errors
    /// If the operating system has no random bits to give.
    pub fn random() -> Result<Self, EntropyError> {
        Ok(Self(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(entropy::secret()?))))
    }

    /// A token from any text: one that a client sent, or one that is publicly known.
    pub fn of(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The token in the value of an `Authorization` header, if it is of the scheme `Bearer`. The scheme's case does not
    /// matter.
    pub fn bearer(authorization: &str) -> Option<Self> {
        let (scheme, token) = authorization.split_once(' ')?;
        let token = token.trim();
        (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then(|| Self::of(token))
    }

    /// The hash under which the session is stored.
    pub fn hash(&self) -> TokenHash {
        TokenHash::from(<[u8; 32]>::from(Sha256::digest(&self.0)))
    }

    /// The token itself, for the client that asked for a session.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_256_random_bits_and_debug_hides_it() {
        let (one, other) = (Token::random().unwrap(), Token::random().unwrap());
        assert_ne!(one.reveal(), other.reveal());
        assert_ne!(one.hash(), other.hash());
        let bits = one.reveal().strip_prefix(PREFIX).unwrap();
        assert_eq!(URL_SAFE_NO_PAD.decode(bits).unwrap().len(), 32);
        assert_eq!(format!("{one:?}"), "Token(…)");
    }

    #[test]
    fn the_hash_is_the_sha_256_of_the_text() {
        // `printf abc | sha256sum`
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Token::of("abc").hash().to_string(), expected);
    }

    #[test]
    fn only_the_scheme_bearer_carries_a_token() {
        for authorization in ["", "Bearer", "Bearer ", "dev", "Basic ZGV2", "Bearer\u{e9}", "Bearer\tdev"] {
            assert!(Token::bearer(authorization).is_none(), "{authorization}");
        }
        assert_eq!(Token::bearer("bEARER  ada ").unwrap().reveal(), "ada");
        assert_eq!(Token::bearer("Bearer dev,Bearer ada").unwrap().reveal(), "dev,Bearer ada");
    }
}
