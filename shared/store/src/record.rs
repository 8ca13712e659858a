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
use crate::error::{FindError, TableError};
use crate::item::{Corrupt, Fields, Item, keyed, number, text};
use crate::op::Op;
use crate::revision::{Guarded, REVISION, Rounds, revision_of};

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

/// One profile, or the settings of one application, in one request.
#[derive(Debug)]
pub struct RecordHandle<'a, K> {
    pub(crate) op: &'a Op,
    pub(crate) key: &'a K,
}

impl<K> Clone for RecordHandle<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for RecordHandle<'_, K> {}

impl<K: DocumentKey> RecordHandle<'_, K> {
    /// A document. Unless `consistent`, it may be one that was replaced a moment ago; who then writes under its revision
    /// is refused.
    ///
    /// # Errors
    /// See [`GetDocumentError`].
    pub async fn get(self, consistent: bool) -> Result<StoredDocument, GetDocumentError> {
        let key = self.key;
        let found = self.find(consistent).await?;
        let found =
            found.ok_or_else(|| GetDocumentError::NotFound(DocumentNotFound { key: key.encode() }))?;
        self.op.table.meter.items(1);
        Ok(found)
    }

    /// Creates a document, or replaces the one of the revision that the precondition names. The new revision, and
    /// whether it was created.
    ///
    /// # Errors
    /// See [`WriteDocumentError`].
    pub async fn put(
        self,
        document: &Document,
        precondition: Precondition,
    ) -> Result<(Revision, bool), WriteDocumentError> {
        let known = precondition.revision();
        let (revision, item) = self.next_item(document, known);
        match self.op.table.put_revised(&item, known).await? {
            Guarded::Written => Ok((revision, known.is_none())),
            Guarded::Stale(there) => Err(refusal(precondition, there.as_ref())?),
            Guarded::Unknown => Err(unknown().into()),
        }
    }

    /// Deletes the document of the revision that the precondition names. If there is none, that is as good.
    ///
    /// # Errors
    /// See [`WriteDocumentError`].
    pub async fn delete(self, precondition: Precondition) -> Result<(), WriteDocumentError> {
        let key = self.key;
        let item_key = keyed(Place::Table, key.encode());
        match self.op.table.delete_revised(&item_key, precondition.revision()).await? {
            Guarded::Written => Ok(()),
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
        self,
        mut update: impl FnMut(Option<&Document>) -> Option<Document>,
    ) -> Result<Option<StoredDocument>, TableError> {
        let mut known = self.find(true).await?;
        let mut rounds = Rounds::new(&self.op.table);
        loop {
            let Some(document) = update(known.as_ref().map(|known| &known.document)) else {
                return Ok(known);
            };
            let replaced = known.as_ref().map(|known| known.revision);
            let (revision, item) = self.next_item(&document, replaced);
            match self.op.table.put_revised(&item, replaced).await? {
                Guarded::Written => {
                    return Ok(Some(StoredDocument { revision, document }));
                }
                // Told by the failed write: no need to read it.
                Guarded::Stale(there) => known = there.as_ref().map(decode).transpose()?,
                // To reconcile with what may be our own write could do the same twice.
                Guarded::Unknown => return Err(unknown()),
            }
            rounds.lose().await?;
        }
    }

    async fn find(self, consistent: bool) -> Result<Option<StoredDocument>, TableError> {
        let key = self.key;
        let item = self.op.table.read_item(keyed(Place::Table, key.encode()), consistent).await?;
        Ok(item.as_ref().map(decode).transpose()?)
    }

    /// The item that is to follow the known revision, or to be the first, and its revision.
    fn next_item(self, document: &Document, known: Option<Revision>) -> (Revision, Item) {
        let key = self.key;
        let revision = known.map_or_else(|| self.op.first_revision(), Revision::next);
        let mut item = keyed(Place::Table, key.encode());
        item.insert("d".to_owned(), text(document.as_str()));
        item.insert(REVISION.to_owned(), number(revision.get()));
        item.insert("w".to_owned(), number(entropy_u64(self.op.ambient())));
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
