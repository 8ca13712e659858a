//! Documents under a key, changed under a revision: profiles and settings.
//!
//! A read and a write are one call each. A write replaces only the revision that the writer has seen. If the condition
//! fails, DynamoDB returns the item, so the same call says why the write failed. The bits `w` differ in every write:
//! after an ambiguous attempt, they distinguish our own write from another writer's write of the same text. Without
//! them, two writers that increment a counter could take one increment for both.

use lately_items::{ProfileKey, SettingsKey, StoredDocument};
use lately_keys::{Key, TableKey};
use lately_model::{Document, Precondition, Revision};
use lately_table::{Guarded, REVISION, TableError, delete_revised, entropy_u64, put_revised};

use crate::error::FindError;
use crate::op::Op;

/// The key of a document.
pub trait DocumentKey: TableKey + Sync {}

impl DocumentKey for ProfileKey {}
impl DocumentKey for SettingsKey {}

/// The record has no document: nobody wrote one, or it was deleted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no record under the key")]
pub struct DocumentNotFound {
    /// The key that was read.
    pub key: Key,
}

/// Why a document could not be read.
pub type GetDocumentError = FindError<DocumentNotFound>;

/// Why a document could not be written or deleted.
#[derive(Debug, thiserror::Error)]
pub enum WriteDocumentError {
    /// The record exists, and the writer did not name the revision to replace.
    #[error("the record exists, so the revision to replace is required")]
    RevisionRequired,
    /// The record does not have the revision that the writer expects. The record's revision; `None` if there is no
    /// record.
    #[error("the record has another revision than the writer expects")]
    Mismatch(Option<Revision>),
    /// The table could not be written. The write may have happened.
    #[error(transparent)]
    Table(#[from] TableError),
}

/// One profile, or the settings of one application, in one request.
#[derive(Debug)]
pub struct RecordHandle<'a> {
    op: &'a Op,
    key: Key,
}

impl Op {
    /// The profile of a user, or the settings of an application.
    pub fn record(&self, key: &impl DocumentKey) -> RecordHandle<'_> {
        RecordHandle { op: self, key: key.encode() }
    }
}

impl RecordHandle<'_> {
    /// The document. Unless the read is consistent, it may return a document that was replaced a moment ago; a write
    /// under that document's revision then fails.
    pub async fn get(&self, consistent: bool) -> Result<StoredDocument, GetDocumentError> {
        let not_found = || GetDocumentError::NotFound(DocumentNotFound { key: self.key.clone() });
        let found = self.op.table.read(self.key.clone(), consistent).await?.ok_or_else(not_found)?;
        self.op.table.meter().items(1);
        Ok(StoredDocument::decode(&found).map_err(TableError::from)?)
    }

    /// Creates the document, or replaces the revision that the precondition names. Returns the new revision, and
    /// whether the document was created.
    pub async fn put(
        &self,
        document: &Document,
        precondition: Precondition,
    ) -> Result<(Revision, bool), WriteDocumentError> {
        let known = precondition.revision();
        let revision = known.map_or_else(|| self.op.first_revision(), Revision::next);
        let stored = StoredDocument { revision, document: document.clone() };
        let item = stored.encode(self.key.clone(), entropy_u64(self.op.ambient()));
        check(put_revised(&self.op.table, &item, known).await?, precondition)?;
        Ok((revision, known.is_none()))
    }

    /// Deletes the document if it has the revision that the precondition names. A missing document counts as deleted.
    pub async fn delete(&self, precondition: Precondition) -> Result<(), WriteDocumentError> {
        let deleted = delete_revised(&self.op.table, self.key.clone(), precondition.revision()).await?;
        check(deleted, precondition)
    }
}

/// Checks that a write was applied. The stored item says why it was refused.
fn check(write: Guarded, precondition: Precondition) -> Result<(), WriteDocumentError> {
    match write {
        Guarded::Written => Ok(()),
        Guarded::Stale(Some(_)) if precondition == Precondition::None => {
            Err(WriteDocumentError::RevisionRequired)
        }
        Guarded::Stale(there) => {
            let revision = there.map(|there| there.get(REVISION)).transpose().map_err(TableError::from)?;
            Err(WriteDocumentError::Mismatch(revision))
        }
        Guarded::Unknown => {
            let error = "an attempt may have been applied, and another write came since";
            Err(TableError::unavailable(error).into())
        }
    }
}
