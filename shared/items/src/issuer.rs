//! The public keys of an issuer of JWTs, as they were last fetched.
//!
//! ```text
//! table   pk  JWKS#{fingerprint of the issuer and its jwks_uri, 16 hexadecimal digits}    sk  the same
//! ```
//!
//! Both are addresses of any length, so the key has their fingerprint. An issuer whose `jwks_uri` is changed has another
//! item.

use lately_keys::Fingerprint;

use crate::form::Hex;
use crate::key::key;

key! {
    /// The item that holds an issuer's keys.
    #[derive(Copy)]
    pub struct IssuerKeysKey {
        /// The fingerprint of the issuer and its `jwks_uri`.
        pub issuer: Fingerprint as Hex,
    }
    Table: pk "JWKS#{issuer}" sk "JWKS#{issuer}"
}

impl IssuerKeysKey {
    /// The key for an issuer as it is configured.
    pub fn of(issuer: &str, jwks_uri: Option<&str>) -> Self {
        Self { issuer: Fingerprint::of("jwks").text(issuer).option(jwks_uri).finish() }
    }
}
