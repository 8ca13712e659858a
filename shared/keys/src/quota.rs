//! The kinds of requests that quotas count.

use crate::words;

words! {
    /// The requests that a quota counts.
    pub enum QuotaKind {
        /// Requests that write. A batch counts each of its events.
        Writes = "writes",
        /// Requests that read.
        Reads = "reads",
        /// Streams that are open.
        Streams = "streams",
    }
}
