//! The note that an event was deleted which came with an `Idempotency-Key`.
//!
//! ```text
//! table   pk  DELETED#{topic}#{id}    sk  the same
//! ```
//!
//! A client may repeat its request for a day, and a repetition finishes unfinished writes. An absent event was either
//! never written or deleted since; only this note distinguishes the two.

use crate::id::EventId;
use crate::key::{Key, Place, TableKey};
use crate::name::Topic;
use crate::text::{canonical, segments};

/// The item that notes an event's deletion.
///
/// ```
/// use lately_keys::TableKey;
/// use lately_keys::table::DeletedEventKey;
///
/// let id = "0190a4cd-d3e7-7222-9f99-fdb74feee752".parse()?;
/// let key = DeletedEventKey { topic: "posts".parse()?, id }.encode();
/// assert_eq!(key.pk, "DELETED#posts#0190a4cd-d3e7-7222-9f99-fdb74feee752");
/// assert_eq!(key.sk, key.pk);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DeletedEventKey {
    /// The event's topic.
    pub topic: Topic,
    /// The event's id.
    pub id: EventId,
}

impl TableKey for DeletedEventKey {
    const PLACE: Place = Place::Table;

    fn encode(&self) -> Key {
        Key::same(format!("DELETED#{}#{}", self.topic, self.id))
    }

    fn decode(pk: &str, sk: &str) -> Option<Self> {
        let ["DELETED", topic, id] = segments(pk)? else { return None };
        (pk == sk).then_some(Self { topic: topic.parse().ok()?, id: canonical(id)? })
    }
}
