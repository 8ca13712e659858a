//! The sources that a process remembers.

use std::sync::Arc;

use lately_keys::{Coverage, Source};
use quick_cache::sync::Cache;
use tokio::sync::Mutex;

use crate::limits::CACHED_ENTRIES;
use crate::moments::Aged;

#[derive(Debug)]
pub(crate) struct SourceCache {
    pub(super) known: Cache<Source, Arc<Aged<KnownSource>>>,
    /// The lock that is held while a source grows.
    pub(crate) growing: Mutex<()>,
}

impl SourceCache {
    pub(crate) fn new() -> Self {
        Self { known: Cache::new(CACHED_ENTRIES), growing: Mutex::new(()) }
    }
}

/// The part of a source's item that a process remembers.
#[derive(Clone, Debug)]
pub(super) struct KnownSource {
    pub(super) coverage: Arc<Coverage>,
    /// True if the source has an item.
    pub(super) is_stored: bool,
}
