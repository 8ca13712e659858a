//! The ids that an erasure has erased, and their hash.
//!
//! Two steps may list the same event. The hash is over the set of all ids, so each id counts once.

use std::collections::BTreeSet;

use lately_items::{ErasedPageKey, ErasureStepKey};
use lately_keys::{ErasureId, EventId};
use lately_table::{Query, TableError};
use sha2::{Digest, Sha256};

use crate::handle::ErasuresHandle;

impl ErasuresHandle<'_> {
    /// All ids that an erasure has erased: 16 bytes each in memory.
    pub(crate) async fn erased_ids(self, erasure: ErasureId) -> Result<BTreeSet<EventId>, TableError> {
        let query = Query::partition(ErasureStepKey::partition(erasure))
            .begins_with(ErasedPageKey::PREFIX)
            .consistent(true);
        let pages = self.op.table.query_all(query).await?;
        self.op.table.meter().items(pages.len());
        let mut ids = BTreeSet::new();
        for page in pages {
            ids.extend(ErasedPageKey::ids_of(&page)?);
        }
        Ok(ids)
    }
}

/// The SHA-256 over ids as text, sorted, each followed by a newline: in hexadecimal.
pub(crate) fn hash(ids: &BTreeSet<EventId>) -> String {
    let mut sha256 = Sha256::new();
    for id in ids {
        sha256.update(id.to_string());
        sha256.update("\n");
    }
    sha256.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_over_the_sorted_ids_with_newlines() {
        let ids = ["0190a4cd-d3e7-7333-9f99-fdb74feee752", "0190a4cd-d3e7-7222-9f99-fdb74feee752"];
        let ids = ids.into_iter().map(|id| id.parse().unwrap()).collect();
        // printf '%s\n' the ids, sorted | sha256sum
        assert_eq!(hash(&ids), "2af29f1e90dbdd676c1375ff08a17a6f60563541cc1163c7ed2163a8a36d942a");
        assert_eq!(
            hash(&BTreeSet::new()),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }
}
