//! The progress of opening a directory, for a program that shows its user why the start takes long.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The progress of opening a directory. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct OpenProgress(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    journal_bytes: AtomicU64,
    bytes_read: AtomicU64,
}

impl OpenProgress {
    pub(crate) fn journal(&self, bytes: u64) {
        self.0.journal_bytes.fetch_add(bytes, Relaxed);
    }

    pub(crate) fn read(&self, bytes: usize) {
        self.0.bytes_read.fetch_add(bytes as u64, Relaxed);
    }
}

impl fmt::Display for OpenProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let megabytes = |bytes: &AtomicU64| bytes.load(Relaxed).div_ceil(1_000_000);
        let (read, all) = (megabytes(&self.0.bytes_read), megabytes(&self.0.journal_bytes));
        write!(f, "{read} of {all} MB of the stream are read")
    }
}
