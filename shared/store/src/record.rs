//! Documents under a key, changed under a revision: profiles and settings.
//!
//! ```text
//! USER#{user} / PROFILE
//! SETTINGS#{app} / same
//!   d S (the document, the client's own text), revision N, w N (random bits of the write)
//! ```
//!
//! A read and a write are one call each. Nothing is overwritten that the writer has not seen, and a write that fails
//! says why in the same call: DynamoDB answers a failed condition with the item. The bits `w` tell our own write from
//! another's of the same text, which for a counter would be an increment lost.

use std::fmt::Debug;

use lately_keys::table::{ProfileKey, SettingsKey};
use lately_keys::{Key, Place, TableKey};
use lately_model::{Document, Precondition, Revision};

use crate::ambient::entropy_u64;
use crate::call::Operation;
use crate::cost::Cost;
use crate::error::{FindError, TableError};
use crate::item::{Corrupt, Fields, Item, keyed, number, text};
use crate::revision::{Guarded, REVISION, Rounds, revision_of};
use crate::store::Store;

/// A key that a document is kept under.
pub trait DocumentKey: TableKey + Debug + Sync {}

impl DocumentKey for ProfileKey {}
impl DocumentKey for SettingsKey {}

/// A document as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredDocument {
    /// Which state of the record it is.
    pub revision: Revision,
    /// What was sent.
    pub document: Document,
}

/// The record has no document: it was never written, or was deleted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no record under the key")]
pub struct DocumentNotFound {
    /// The record that was asked for.
    pub key: Key,
}

/// Why a document could not be read.
pub type GetDocumentError = FindError<DocumentNotFound>;

/// Why a document could not be written or deleted.
#[derive(Debug, thiserror::Error)]
pub enum WriteDocumentError {
    /// The record exists, and the writer did not say which revision to replace.
    #[error("the record exists, so the revision to replace is required")]
    RevisionRequired,
    /// The record differs from what the writer has seen. The record's revision; none if there is no record.
    #[error("the record has another revision than the writer expects")]
    Mismatch(Option<Revision>),
    /// The table could not be written. What was asked for may be done or not.
    #[error(transparent)]
    Table(#[from] TableError),
}

impl Store {
    /// A document. Unless `consistent`, it may be one that was replaced a moment ago; who then writes under its revision
    /// is refused.
    ///
    /// # Errors
    /// See [`GetDocumentError`].
    pub async fn document(
        &self,
        key: &impl DocumentKey,
        consistent: bool,
    ) -> Result<(StoredDocument, Cost), GetDocumentError> {
        let operation = self.operation();
        let found = self.find_document(key, consistent, &operation).await?;
        let found =
            found.ok_or_else(|| GetDocumentError::NotFound(DocumentNotFound { key: key.encode() }))?;
        operation.meter.items(1);
        Ok((found, operation.meter.total()))
    }

    /// Creates a document, or replaces the one of the revision that the precondition names. The new revision, and
    /// whether it was created.
    ///
    /// # Errors
    /// See [`WriteDocumentError`].
    pub async fn put_document(
        &self,
        key: &impl DocumentKey,
        document: &Document,
        precondition: Precondition,
    ) -> Result<(Revision, bool, Cost), WriteDocumentError> {
        let operation = self.operation();
        let known = precondition.revision();
        let (revision, item) = self.next_item(key, document, known);
        match self.put_revised(&item, known, &operation).await? {
            Guarded::Written => Ok((revision, known.is_none(), operation.meter.total())),
            Guarded::Stale(there) => Err(refusal(precondition, there.as_ref())?),
            Guarded::Unknown => Err(unknown().into()),
        }
    }

    /// Deletes the document of the revision that the precondition names. If there is none, that is as good.
    ///
    /// # Errors
    /// See [`WriteDocumentError`].
    pub async fn delete_document(
        &self,
        key: &impl DocumentKey,
        precondition: Precondition,
    ) -> Result<Cost, WriteDocumentError> {
        let operation = self.operation();
        let item_key = keyed(Place::Table, key.encode());
        match self.delete_revised(&item_key, precondition.revision(), &operation).await? {
            Guarded::Written => Ok(operation.meter.total()),
            Guarded::Stale(there) => Err(refusal(precondition, there.as_ref())?),
            Guarded::Unknown => Err(unknown().into()),
        }
    }

    /// Reads a document, lets `update` say what is to be there, and writes it; again, from what is there then, if
    /// another writer came in between, up to [`CONFLICTS`](crate::limits::CONFLICTS) times. `None` from `update` leaves
    /// all as it is. What is there in the end: if it was written, it follows directly on what `update` was shown last.
    ///
    /// # Errors
    /// If the table could not be read or written, or other writers kept coming first. As after any write that failed, what
    /// was asked for may be done or not.
    pub async fn update_with_retry(
        &self,
        key: &impl DocumentKey,
        mut update: impl FnMut(Option<&Document>) -> Option<Document>,
    ) -> Result<(Option<StoredDocument>, Cost), TableError> {
        let operation = self.operation();
        let mut known = self.find_document(key, true, &operation).await?;
        let mut rounds = Rounds::new(&operation);
        loop {
            let Some(document) = update(known.as_ref().map(|known| &known.document)) else {
                return Ok((known, operation.meter.total()));
            };
            let replaced = known.as_ref().map(|known| known.revision);
            let (revision, item) = self.next_item(key, &document, replaced);
            match self.put_revised(&item, replaced, &operation).await? {
                Guarded::Written => {
                    return Ok((Some(StoredDocument { revision, document }), operation.meter.total()));
                }
                // Told by the failed write: no need to read it.
                Guarded::Stale(there) => known = there.as_ref().map(decode).transpose()?,
                // To reconcile with what may be our own write could do the same twice.
                Guarded::Unknown => return Err(unknown()),
            }
            rounds.lose().await?;
        }
    }

    async fn find_document(
        &self,
        key: &impl DocumentKey,
        consistent: bool,
        operation: &Operation<'_>,
    ) -> Result<Option<StoredDocument>, TableError> {
        let item = self.read_item(keyed(Place::Table, key.encode()), consistent, operation).await?;
        Ok(item.as_ref().map(decode).transpose()?)
    }

    /// The item that is to follow the known revision, or to be the first, and its revision.
    fn next_item(
        &self,
        key: &impl DocumentKey,
        document: &Document,
        known: Option<Revision>,
    ) -> (Revision, Item) {
        let revision = known.map_or_else(|| self.first_revision(), Revision::next);
        let mut item = keyed(Place::Table, key.encode());
        item.insert("d".to_owned(), text(document.as_str()));
        item.insert(REVISION.to_owned(), number(revision.get()));
        item.insert("w".to_owned(), number(entropy_u64(self.ambient())));
        (revision, item)
    }
}

fn decode(item: &Item) -> Result<StoredDocument, Corrupt> {
    let fields = Fields(item);
    let document = Document::from_stored(fields.text("d")?.to_owned()).map_err(|_| fields.corrupt("d"))?;
    Ok(StoredDocument { revision: revision_of(item)?, document })
}

/// Why a write was refused, by what is there.
fn refusal(precondition: Precondition, there: Option<&Item>) -> Result<WriteDocumentError, TableError> {
    Ok(match (precondition, there) {
        (Precondition::None, Some(_)) => WriteDocumentError::RevisionRequired,
        (_, there) => WriteDocumentError::Mismatch(there.map(revision_of).transpose()?),
    })
}

fn unknown() -> TableError {
    TableError::unavailable("an attempt may have been applied, and another write came since")
}
