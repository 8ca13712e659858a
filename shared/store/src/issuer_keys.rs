//! The public keys of an issuer of JWTs as they were last fetched, for a process that starts while the issuer does not
//! respond.
//!
//! ```text
//! JWKS#{fingerprint} / same
//!   issuer S, jwks_uri S?, document S (the set of keys, as the issuer sent it), fetched_at N (milliseconds), expires_at N
//! ```
//!
//! Only the authorizer reads it, and only for an issuer of its settings: an item never makes an issuer trusted. The names
//! in the item must be those that were asked for, because a fingerprint has only 64 bits.

use lately_items::IssuerKeysKey;
use lately_items::limits::ISSUER_KEYS_SECONDS;
use lately_keys::{TableKey, UnixMillis};
use lately_table::{Item, TableError};

use crate::op::Op;

/// The stored keys of an issuer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredKeys {
    /// The set of keys, as the issuer sent it.
    pub document: String,
    /// When it was fetched.
    pub fetched_at: UnixMillis,
}

/// An issuer's keys, in one request.
#[derive(Clone, Copy, Debug)]
pub struct IssuerKeysHandle<'a> {
    pub(crate) op: &'a Op,
    pub(crate) issuer: &'a str,
    pub(crate) jwks_uri: Option<&'a str>,
}

impl Op {
    /// The keys of an issuer of JWTs, as it is configured.
    pub const fn issuer_keys<'a>(
        &'a self,
        issuer: &'a str,
        jwks_uri: Option<&'a str>,
    ) -> IssuerKeysHandle<'a> {
        IssuerKeysHandle { op: self, issuer, jwks_uri }
    }
}

impl IssuerKeysHandle<'_> {
    /// The keys as they were last stored, read eventually consistently.
    ///
    /// # Errors
    /// If the table cannot be read.
    pub async fn get(self) -> Result<Option<StoredKeys>, TableError> {
        let key = IssuerKeysKey::of(self.issuer, self.jwks_uri).encode();
        let Some(item) = self.op.table.read(key, false).await? else { return Ok(None) };
        if item.text("issuer")? != self.issuer || item.optional_text("jwks_uri")? != self.jwks_uri {
            return Ok(None);
        }
        let (document, fetched_at) = (item.text("document")?.to_owned(), item.millis("fetched_at")?);
        Ok(Some(StoredKeys { document, fetched_at }))
    }

    /// Stores the keys for a day.
    ///
    /// # Errors
    /// If the table cannot be written.
    pub async fn put(self, StoredKeys { document, fetched_at }: &StoredKeys) -> Result<(), TableError> {
        let item = Item::at(&IssuerKeysKey::of(self.issuer, self.jwks_uri))
            .with("issuer", self.issuer)
            .with_some("jwks_uri", self.jwks_uri)
            .with("document", &**document)
            .with("fetched_at", fetched_at.get())
            .with("expires_at", fetched_at.get() / 1000 + ISSUER_KEYS_SECONDS);
        self.op.table.put(&item).await
    }
}
