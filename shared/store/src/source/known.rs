//! The part of a source's item that a process remembers.

use std::sync::Arc;

use lately_keys::Coverage;

#[derive(Clone, Debug)]
pub(crate) struct KnownSource {
    pub(super) coverage: Arc<Coverage>,
    /// True if the source has an item.
    pub(super) is_stored: bool,
}
