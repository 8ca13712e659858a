//! The part of the directory that a process remembers.

use std::sync::Arc;

use lately_items::DirectoryEntry;
use lately_keys::Topic;
use quick_cache::sync::Cache;
use tokio::sync::Mutex;

use crate::directory::range::{DirectoryPage, DirectoryRange, EntryName};
use crate::limits::CACHED_ENTRIES;
use crate::moments::Aged;

/// Directory pages that a process remembers: a few hundred bytes each.
const CACHED_DIRECTORY_PAGES: usize = 512;

#[derive(Debug)]
pub(crate) struct DirectoryCache {
    pub(crate) entries: Cache<EntryName, Arc<DirectoryEntry>>,
    pub(super) pages: Cache<DirectoryRange, Arc<Aged<DirectoryPage>>>,
    /// The lock that is held while a bucket grows.
    pub(crate) growing: Mutex<()>,
}

impl DirectoryCache {
    pub(crate) fn new() -> Self {
        let (entries, pages) = (Cache::new(CACHED_ENTRIES), Cache::new(CACHED_DIRECTORY_PAGES));
        Self { entries, pages, growing: Mutex::new(()) }
    }

    /// Drops a topic's directory.
    pub(crate) fn forget(&self, topic: &Topic) {
        self.entries.retain(|(of, _), _| of != topic);
        self.forget_pages(topic);
    }

    /// Drops a topic's directory pages, so that the process sees its own writes at once.
    pub(crate) fn forget_pages(&self, topic: &Topic) {
        self.pages.retain(|range, _| range.topic != *topic);
    }
}
