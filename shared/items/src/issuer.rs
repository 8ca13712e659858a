//! The public keys of an issuer of JWTs, as they were last fetched.
//!
//! ```text
//! table   pk  JWKS#{fingerprint of the issuer and its jwks_uri, 16 hexadecimal digits}    sk  the same
//!   issuer S, jwks_uri S?, document S (the set of keys, as the issuer sent it), fetched_at N (milliseconds), expires_at N
//! ```
//!
//! Both are addresses of any length, so the key has their fingerprint. An issuer whose `jwks_uri` is changed has another
//! item.

use lately_keys::{Fingerprint, UnixMillis};

use crate::item::{Corrupt, Item};
use crate::key::key;
use crate::limits::ISSUER_KEYS_SECONDS;
use crate::record::{Record, record};

key! {
    /// The item that holds an issuer's keys.
    #[derive(Copy)]
    pub struct IssuerKeysKey {
        /// The fingerprint of the issuer and its `jwks_uri`.
        pub issuer: Fingerprint,
    }
    Table: pk "JWKS#{issuer}" sk "JWKS#{issuer}"
}

impl IssuerKeysKey {
    /// The key for an issuer as it is configured.
    pub fn of(issuer: &str, jwks_uri: Option<&str>) -> Self {
        Self { issuer: Fingerprint::of("jwks").text(issuer).option(jwks_uri).finish() }
    }
}

record! {
    /// The stored keys of an issuer.
    pub struct StoredKeys {
        /// The set of keys, as the issuer sent it.
        pub document: String = required("document"),
        /// When it was fetched.
        pub fetched_at: UnixMillis = required("fetched_at"),
    }
}

impl StoredKeys {
    /// The item of an issuer's keys.
    pub fn encode(&self, issuer: &str, jwks_uri: Option<&str>) -> Item {
        self.add_to(Item::at(&IssuerKeysKey::of(issuer, jwks_uri)))
            .with("issuer", issuer)
            .with_some("jwks_uri", jwks_uri)
            .with("expires_at", self.fetched_at.get() / 1000 + ISSUER_KEYS_SECONDS)
    }

    /// The keys of an item; `None` if they are another issuer's.
    pub fn of(item: &Item, issuer: &str, jwks_uri: Option<&str>) -> Result<Option<Self>, Corrupt> {
        let is_ours =
            item.text("issuer")? == issuer && item.optional("jwks_uri")? == jwks_uri.map(str::to_owned);
        is_ours.then(|| Self::decode(item)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_bytes() {
        let issuer = "https://id.example.org/";
        let keys = StoredKeys { document: "{}".to_owned(), fetched_at: UnixMillis::new(5_000).unwrap() };
        let key = format!("JWKS#{}", Fingerprint::of("jwks").text(issuer).option(None).finish());
        let item = Item::from([("pk", &*key), ("sk", &*key), ("issuer", issuer), ("document", "{}")])
            .with("fetched_at", 5_000_u64)
            .with("expires_at", 86_405_u64);
        assert_eq!(keys.encode(issuer, None), item);
        assert_eq!(StoredKeys::of(&item, issuer, None), Ok(Some(keys)));
        assert_eq!(StoredKeys::of(&item, "https://id.example.com/", None), Ok(None));
    }
}
