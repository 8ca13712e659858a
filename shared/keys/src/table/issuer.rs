//! The public keys of an issuer of JWTs, as they were last fetched.
//!
//! ```text
//! table   pk  JWKS#{fingerprint of the issuer and its jwks_uri, 16 hexadecimal digits}    sk  the same
//! ```
//!
//! Both are addresses of any length, so the key has their fingerprint. An issuer whose `jwks_uri` is changed has another
//! item.

use crate::fingerprint::Fingerprint;
use crate::key::{Key, Place, TableKey};

/// The item that holds an issuer's keys.
///
/// ```
/// use lately_keys::TableKey;
/// use lately_keys::table::IssuerKeysKey;
///
/// let key = IssuerKeysKey::of("https://id.example.org/", None).encode();
/// assert_eq!((&*key.pk, &*key.sk), ("JWKS#0d25de92fa638ba2", "JWKS#0d25de92fa638ba2"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IssuerKeysKey {
    /// The fingerprint of the issuer and its `jwks_uri`.
    pub issuer: Fingerprint,
}

impl IssuerKeysKey {
    /// The key for an issuer as it is configured.
    pub fn of(issuer: &str, jwks_uri: Option<&str>) -> Self {
        Self { issuer: Fingerprint::of("jwks").text(issuer).option(jwks_uri).finish() }
    }
}

impl TableKey for IssuerKeysKey {
    const PLACE: Place = Place::Table;

    fn encode(&self) -> Key {
        Key::same(format!("JWKS#{:016x}", u64::from_be_bytes(*self.issuer.as_bytes())))
    }

    fn decode(pk: &str, sk: &str) -> Option<Self> {
        let issuer = u64::from_str_radix(pk.strip_prefix("JWKS#")?, 16).ok()?.to_be_bytes();
        let key = Self { issuer: Fingerprint::from_bytes(issuer) };
        // A number has several texts; a key has one.
        let Key { pk: own, .. } = key.encode();
        (own == pk && own == sk).then_some(key)
    }
}
