//! The limits of stored items, each with its reason.

use lately_keys::limits::{NAME_BYTES, SUBJECT_BYTES};

/// Largest entry of a source's timeline or a feed: one write unit.
pub const ENTRY_BYTES: usize = 1024;

/// The longest key of an entry, with the names of its attributes: a subject's timeline, and an inverted id.
pub(crate) const ENTRY_KEY_BYTES: usize =
    "pk".len() + "SOURCE#subject:#SHARD63".len() + SUBJECT_BYTES + "sk".len() + SORT_KEY_TEXT_BYTES;

/// An inverted id as text.
const SORT_KEY_TEXT_BYTES: usize = 36;

const _: () = assert!("FEED#".len() + NAME_BYTES <= "SOURCE#subject:".len() + SUBJECT_BYTES);
