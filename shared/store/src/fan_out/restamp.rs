//! An event that got another expiry: so do its entries.

use std::collections::BTreeSet;

use lately_items::{EventKey, JobKind, JobStep, TimelineEntry};
use lately_keys::{UnixMillis, User};
use lately_table::TableError;

use crate::fan_out::audience::few_or_jobs;
use crate::fan_out::batch::FanOut;
use crate::fan_out::entries::{restamp, restamp_copies};

/// Gives an event's entries the event's expiry. Entries that do not exist are not written.
pub(super) async fn restamp_entries(
    fan_out: FanOut<'_>,
    key: &EventKey,
    entry: &TimelineEntry,
    at: UnixMillis,
) -> Result<(), TableError> {
    let FanOut { op, reads, .. } = fan_out;
    let mut pages = Vec::new();
    for source in entry.sources() {
        let keys = op.source(&source).places(entry.id).await?;
        restamp(op, &keys, entry.expires_at).await?;
        if entry.fans_out {
            let task = JobKind::Restamp(entry.topic.clone(), key.partition().bucket.width());
            let shards = reads.stored(op, &source).await?.shards;
            let first = JobStep::first(task, entry.id, source, at);
            pages.extend(few_or_jobs(fan_out, &first, shards, false).await?);
        }
    }
    let own = entry.fans_out.then(|| User::from(&entry.actor));
    let users: BTreeSet<&User> = pages.iter().flat_map(|page| page.users()).chain(&own).collect();
    restamp_copies(op, entry, users.into_iter()).await
}
