//! Puts placed events: one alone, many in batches, or those of an unfinished request that are missing.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::join;
use lately_items::{DeletedEventKey, EventKey, TimelineEntry};
use lately_keys::{ShardCount, TableKey, User};
use lately_model::Event;
use lately_table::limits::{BATCH_ITEMS, BATCHES_AT_ONCE};
use lately_table::{Attempts, Condition, Fault, Item, TableError, Transacted, Transaction};

use crate::at_once::complete_all;
use crate::coverage::CoverageKeeper;
use crate::handle::EventWriter;
use crate::limits::OWN_ENTRY_SECONDS;
use crate::write::error::WriteError;
use crate::write::place::{PlacedEvent, PlacedEvents};

/// The time for the last look for events of a batch that was written in part. By then the request has used up its own
/// time; the function's time ends some seconds later.
const LAST_LOOK: Duration = Duration::from_secs(2);

/// A shard from before the last doubling shows that there are too few shards only after an event was refused there this
/// often. The waits between this many attempts are some 50 ms in all, on average.
const OLD_SHARD_ATTEMPTS: u32 = 3;

/// The puts that failed: the index of each event, and its error.
type FailedPuts = Vec<(usize, TableError)>;

impl PlacedEvents<'_> {
    /// Puts the events. Returns them if all are written.
    pub(super) async fn put(self) -> Result<Vec<Event>, WriteError> {
        let failed = self.put_each().await;
        self.outcome(failed).await
    }

    /// Puts the events, and renews the spread that they are in.
    pub(crate) async fn put_each(&self) -> FailedPuts {
        let look_after = async {
            if let Some(PlacedEvent { entry, .. }) = self.events.last() {
                self.writer.bucket(entry).look_after(&entry.coverage, self.writer.op.now()).await;
            }
        };
        join(self.put_all(), look_after).await.0
    }

    /// Puts the events of an unfinished request that are missing and were not deleted. Costs four write units and one call
    /// for each event, but is rare.
    pub(super) async fn put_missing(self) -> Result<Vec<Event>, WriteError> {
        let failed = self.put_some(0..self.events.len(), true).await;
        self.outcome(failed).await
    }

    /// Puts batches of 25 events, and alone the events that their calls left unprocessed: the error of a single put has a
    /// reason.
    async fn put_all(&self) -> FailedPuts {
        if self.events.len() == 1 {
            return self.put_some([0], false).await;
        }
        let batches = self.events.chunks(BATCH_ITEMS).enumerate().map(async |(n, batch)| {
            let items: Vec<&Item> = batch.iter().map(|placed| &placed.item).collect();
            let first = n * BATCH_ITEMS;
            match self.writer.op.table.put_many(&items).await {
                Ok(rest) => self.put_some(rest.into_iter().map(|index| first + index), false).await,
                Err(error) => (first..first + batch.len()).map(|index| (index, error.clone())).collect(),
            }
        });
        complete_all(BATCHES_AT_ONCE, batches).await.concat()
    }

    /// Puts some of the events, each with a call of its own: all of them, or those that are missing.
    async fn put_some(&self, indices: impl IntoIterator<Item = usize>, is_retry: bool) -> FailedPuts {
        let puts = indices.into_iter().map(async |index| {
            let placed = &self.events[index];
            let put = match is_retry {
                true => self.put_if_missing(placed).await,
                false => self.put_one(placed).await.map(|()| true),
            };
            if matches!(put, Ok(true)) && self.events.len() == 1 {
                self.put_in_own_feed(placed).await;
            }
            put.err().map(|error| (index, error))
        });
        complete_all(BATCH_ITEMS, puts).await.into_iter().flatten().collect()
    }

    async fn put_one(&self, placed: &PlacedEvent) -> Result<(), TableError> {
        let mut attempts = Attempts::of(&self.writer.op.table);
        while let Some(refusal) = attempts.put(&placed.item).await? {
            if refusal.is_range_hot {
                self.grow_around(placed, attempts.made()).await;
            }
            attempts.pause(refusal).await?;
        }
        Ok(())
    }

    /// Puts an event unless it is there or was deleted. Returns whether the event was put.
    async fn put_if_missing(&self, placed: &PlacedEvent) -> Result<bool, TableError> {
        let EventWriter { op, topic, .. } = self.writer;
        let deletion = DeletedEventKey { topic: topic.clone(), id: placed.event.id };
        let transaction = Transaction::new(op.ambient())
            .put_if(placed.item.clone(), Condition::no_item())
            .check(deletion.encode(), Condition::no_item());
        let is_hot = |faults: &[Fault]| faults.first() == Some(&Fault::Throttled);
        Ok(self.commit(placed, &transaction, is_hot).await?.is_none())
    }

    /// Commits a transaction that puts an event, and gives the event's bucket more shards if the faults say that its key
    /// range is hot. Returns the faults if a condition does not hold; `None` if the transaction is committed.
    pub(crate) async fn commit(
        &self,
        placed: &PlacedEvent,
        transaction: &Transaction,
        is_hot: impl Fn(&[Fault]) -> bool,
    ) -> Result<Option<Vec<Fault>>, TableError> {
        let table = &self.writer.op.table;
        let mut attempts = Attempts::of(table);
        loop {
            attempts.start_round();
            let Transacted::Cancelled { faults, .. } = transaction.commit(table).await? else {
                return Ok(None);
            };
            if faults.iter().any(Fault::is_condition) {
                return Ok(Some(faults));
            }
            if is_hot(&faults) {
                self.grow_around(placed, attempts.made()).await;
            }
            let busy = || TableError::unavailable("an event, or an item that is put with it, is too busy");
            attempts.pause_or(busy).await?;
        }
    }

    /// Puts an event's entry into the feed of its own actor, so that the author sees the post at once.
    ///
    /// This is tried once, because fan-out puts the permanent entry anyway. However late this entry lands, it shows no
    /// event that was deleted meanwhile, it replaces no other item, and it expires after a day.
    pub(crate) async fn put_in_own_feed(&self, placed: &PlacedEvent) {
        let EventWriter { op, topic, stored } = self.writer;
        let width = stored.settings.bucket;
        let PlacedEvent { event, item, .. } = placed;
        let key = EventKey::new(topic.clone(), width, event.id);
        let listed = TimelineEntry::of(&key, item).ok().flatten();
        let Some(entry) = listed.filter(TimelineEntry::is_for_feeds) else { return };
        let until = op.now().get() / 1000 + OWN_ENTRY_SECONDS;
        let user = User::from(&event.actor);
        let own = entry.before_fan_out(width, &user, op.store.feeds.retention, until);
        // Fan-out may have been faster; then its entry stays.
        if let Err(error) = op.table.once().put_if(&own, &Condition::no_item()).await {
            tracing::warn!(%error, "an own post is not in its feed yet");
        }
    }

    /// Gives later events of a bucket twice the shards, because an event's own key range is hot.
    ///
    /// If the shard is one of the last doubling, one refusal is enough. An older shard still takes the retries of
    /// events that were placed before the doubling, and more shards do not cool these. A refusal there counts only if
    /// the event was placed after the doubling and has been refused some times ([`OLD_SHARD_ATTEMPTS`]). So many writers
    /// that are refused together double the shards only once, and a bucket with slightly too few shards still grows
    /// before its writers give up.
    async fn grow_around(&self, placed: &PlacedEvent, attempts: u32) {
        let PlacedEvent { event, entry, .. } = placed;
        let shards = entry.coverage.shards_at(event.at());
        let is_old = shards > ShardCount::ONE && shards.halved().covers(event.id.shard());
        if is_old && attempts < OLD_SHARD_ATTEMPTS {
            return;
        }
        self.writer.bucket(entry).grow(event.id, shards).await;
    }

    /// The outcome of a request: its events if all of them are written.
    ///
    /// An event whose write failed may be in the table nevertheless, for example if the response was lost. A client
    /// without a key sends rejected events again, so a last read looks for the failed events, and only events that it
    /// does not find are rejected. If that read fails too, these events are neither accepted nor rejected.
    async fn outcome(self, failed: Vec<(usize, TableError)>) -> Result<Vec<Event>, WriteError> {
        let Self { writer, events: placed } = self;
        let (mut unknown, mut errors): (BTreeSet<usize>, Vec<_>) = failed.into_iter().unzip();
        let Some(error) = errors.pop() else {
            return Ok(placed.into_iter().map(|placed| placed.event).collect());
        };
        if placed.len() == 1 {
            return Err(error.into());
        }
        tracing::warn!(%error, failed = unknown.len(), "events of a batch could not be written");
        let op = writer.op.step_within(LAST_LOOK);
        let keys: Result<Vec<_>, _> = unknown.iter().map(|index| placed[*index].item.key()).collect();
        let keys = keys.map_err(TableError::from)?;
        let look = tokio::time::timeout(LAST_LOOK, op.table.existing(&keys));
        let mut rejected = Vec::new();
        if let Ok(Ok(there)) = look.await {
            let absent = unknown.into_iter().zip(&keys).filter(|(_, key)| !there.contains(key));
            unknown = absent.map(|(index, _)| index).collect();
            rejected = unknown.iter().copied().collect();
        }
        if unknown.is_empty() {
            return Ok(placed.into_iter().map(|placed| placed.event).collect());
        }
        if unknown.len() == placed.len() {
            return Err(error.into());
        }
        let accepted = placed.iter().enumerate().filter(|(index, _)| !unknown.contains(index));
        let accepted = accepted.map(|(index, placed)| (index, placed.event.id)).collect();
        Err(WriteError::Partly { accepted, rejected })
    }
}
