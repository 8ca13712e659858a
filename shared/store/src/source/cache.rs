//! The sources that a process remembers.

use std::sync::Arc;

use lately_keys::{Coverage, Source};
use quick_cache::sync::Cache;
use tokio::sync::Mutex;

use crate::limits::{CACHED_ENTRIES, CACHED_TOPICS};
use crate::moments::{Aged, Moments};

#[derive(Debug)]
pub(crate) struct SourceCache {
    pub(super) known: Cache<Source, Arc<Aged<KnownSource>>>,
    /// The sources that could not be grown.
    pub(super) not_grown: Moments<Source>,
    /// The lock that is held while a source grows.
    pub(super) growing: Mutex<()>,
}

impl SourceCache {
    pub(crate) fn new() -> Self {
        let (known, not_grown) = (Cache::new(CACHED_ENTRIES), Moments::new(CACHED_TOPICS));
        Self { known, not_grown, growing: Mutex::new(()) }
    }
}

/// The part of a source's item that a process remembers.
#[derive(Clone, Debug)]
pub(super) struct KnownSource {
    pub(super) coverage: Arc<Coverage>,
    /// True if the source has an item.
    pub(super) is_stored: bool,
}
