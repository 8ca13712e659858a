//! The outcome of a batch of records.

use std::sync::{Mutex, PoisonError};

use lately_keys::UnixMillis;
use lately_table::Cost;

use crate::at_once::lock;
use crate::live::watch::LateEntries;

/// The outcome of a batch of records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FanOutOutcome {
    /// The sequence number of the first record that was not handled. This record and all later ones must be delivered
    /// again.
    pub failed: Option<String>,
    /// The number of records that failed, without those for which there was no time.
    pub failures: usize,
    /// The time of the oldest change of the batch, those in backlogs included: in whole seconds, rounded down.
    pub oldest: Option<UnixMillis>,
    /// Copies of events that were written into feeds.
    pub deliveries: u64,
    /// Events that were added to a late log.
    pub late: u64,
    /// Jobs that were begun.
    pub jobs: u64,
    /// Pages of jobs that were gone when their records came, because they had expired. Their work remains undone.
    pub expired: u64,
    /// Promotions that were begun.
    pub promotions: u64,
    /// Events whose work was deferred to a backlog.
    pub deferred: u64,
    /// Steps, pages of jobs and changes that were put away, because a busy key range refused them.
    pub put_away: u64,
    /// Batched calls that wrote entries and markers.
    pub write_calls: u64,
    /// Items that these calls wrote.
    pub written_items: u64,
    /// The cost of the whole batch.
    pub cost: Cost,
}

impl FanOutOutcome {
    /// True if no work of the batch remains undone. Only then may a batch be removed that fan-out had given up on.
    pub const fn is_complete(&self) -> bool {
        self.failed.is_none() && self.expired == 0
    }
}

/// The work of a batch that is done so far.
#[derive(Debug, Default)]
pub(super) struct Done {
    outcome: Mutex<FanOutOutcome>,
    /// The entries that were written late. Their notes are put after all entries are written.
    pub(super) late_entries: LateEntries,
}

impl Done {
    /// Adds to the figures of the batch.
    pub(super) fn add(&self, add: impl FnOnce(&mut FanOutOutcome)) {
        add(&mut lock(&self.outcome));
    }

    pub(super) fn into_outcome(self) -> FanOutOutcome {
        self.outcome.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
