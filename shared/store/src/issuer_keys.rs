//! The public keys of an issuer of JWTs as they were last fetched, for a process that starts while the issuer does not
//! respond.
//!
//! Only the authorizer reads it, and only for an issuer of its settings: an item never makes an issuer trusted. The names
//! in the item must be those that were asked for, because a fingerprint has only 64 bits.

use lately_items::{IssuerKeysKey, StoredKeys};
use lately_keys::TableKey;
use lately_table::TableError;

use crate::handle::IssuerKeysHandle;
impl IssuerKeysHandle<'_> {
    /// The keys as they were last stored, read eventually consistently.
    ///
    /// # Errors
    /// If the table cannot be read.
    pub async fn get(self) -> Result<Option<StoredKeys>, TableError> {
        let key = IssuerKeysKey::of(self.issuer, self.jwks_uri).encode();
        let Some(item) = self.op.table.read(key, false).await? else { return Ok(None) };
        Ok(StoredKeys::of(&item, self.issuer, self.jwks_uri)?)
    }

    /// Stores the keys for a day.
    ///
    /// # Errors
    /// If the table cannot be written.
    pub async fn put(self, keys: &StoredKeys) -> Result<(), TableError> {
        self.op.table.put(&keys.encode(self.issuer, self.jwks_uri)).await
    }
}
