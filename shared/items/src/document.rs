//! A document under a key: a user's profile, or an application's settings.
//!
//! ```text
//! table   pk  USER#{user}      sk  PROFILE
//!         pk  SETTINGS#{app}   sk  the same
//!   d S (the document, the client's own text), revision N, w N (random bits of the write)
//! ```
//!
//! The profile shares a partition with the user's follow edges ([`FollowKey`](crate::FollowKey)). The bits differ in every
//! write, so that a writer recognises its own.

use lately_keys::{App, Key, User};
use lately_model::{Document, Revision};

use crate::item::Item;
use crate::key::key;
use crate::record::{Record, record};

key! {
    /// The item that holds a user's profile.
    pub struct ProfileKey {
        /// The user.
        pub user: User,
    }
    Table: pk "USER#{user}" sk "PROFILE"
    fn partition(user: &User)
}

impl From<User> for ProfileKey {
    fn from(user: User) -> Self {
        Self { user }
    }
}

key! {
    /// The item that holds an application's settings.
    pub struct SettingsKey {
        /// The application.
        pub app: App,
    }
    Table: pk "SETTINGS#{app}" sk "SETTINGS#{app}"
}

impl From<App> for SettingsKey {
    fn from(app: App) -> Self {
        Self { app }
    }
}

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
    pub fn encode(&self, key: Key, write: u64) -> Item {
        self.add_to(Item::under(key)).with("w", write)
    }
}

#[cfg(test)]
mod tests {
    use lately_keys::TableKey;

    use super::*;

    #[test]
    fn golden_bytes() {
        let document = Document::from_stored(r#"{"n":1.10}"#.to_owned()).unwrap();
        let stored = StoredDocument { revision: Revision::new(7), document };
        let item = Item::from([("pk", "USER#ada"), ("sk", "PROFILE"), ("d", r#"{"n":1.10}"#)])
            .with("revision", 7_u64)
            .with("w", 9_u64);
        assert_eq!(stored.encode(ProfileKey { user: "ada".parse().unwrap() }.encode(), 9), item);
        assert_eq!(StoredDocument::decode(&item), Ok(stored));
        StoredDocument::decode(&item.with("d", "{")).unwrap_err();
    }
}
