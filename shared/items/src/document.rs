//! A document under a key: a user's profile, or an application's settings.
//!
//! ```text
//! table   pk  USER#{user}      sk  PROFILE
//!         pk  SETTINGS#{app}   sk  the same
//!   d S (the document, the client's own text), revision N, w N (random bits of the write)
//! ```
//!
//! The keys are in `profile.rs` and `settings.rs`. The bits differ in every write, so that a writer recognises its own.

use lately_keys::TableKey;
use lately_model::{Document, Revision};

use crate::item::Item;
use crate::record::{Record, record};

record! {
    /// A document as it is stored.
    pub struct StoredDocument {
        /// The record's revision.
        pub revision: Revision = required("revision"),
        /// The document, as the client sent it.
        pub document: Document = required("d"),
    }
}

impl StoredDocument {
    /// The document's item, with the bits of its write.
    pub fn encode<K: TableKey>(&self, key: &K, write: u64) -> Item {
        self.add_to(Item::at(key)).with("w", write)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::ProfileKey;

    #[test]
    fn golden_bytes() {
        let document = Document::from_stored(r#"{"n":1.10}"#.to_owned()).unwrap();
        let stored = StoredDocument { revision: Revision::new(7), document };
        let item = Item::from([("pk", "USER#ada"), ("sk", "PROFILE"), ("d", r#"{"n":1.10}"#)])
            .with("revision", 7_u64)
            .with("w", 9_u64);
        assert_eq!(stored.encode(&ProfileKey { user: "ada".parse().unwrap() }, 9), item);
        assert_eq!(StoredDocument::decode(&item), Ok(stored));
        StoredDocument::decode(&item.with("d", "{")).unwrap_err();
    }
}
