//! A source: the shards of its timeline and of its followers, and whether its events are pushed or pulled.
//!
//! Four rules hold:
//! - A spread is durable before an entry is written to one of its shards, and the coverage only grows. So a writer may
//!   remember it for ever, and a reader that reads the item consistently finds every entry that was there.
//! - A number of follower shards is durable before a follower is written to any of them, and only grows. So a reader that reads
//!   the item consistently, and then all its shards, finds every follower that was there when the item was read.
//! - A source goes from push through promoting to pull (`fan_out/kinds/promotion.rs`), and never back.
//! - Events with ids below `pull_from` are pushed and all others are pulled, whenever they are handled.
//!
//! An erasure leaves no entry and no follower of its actor, so the item may expire then ([`SourceHandle::expire`]). No
//! process remembers an expiring item, and none remembers any coverage for longer than [`SOURCE_AGE`]. So after the
//! item is gone, no process writes to a spread that only the item named.

pub(crate) mod known;
mod shards;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;
use lately_items::limits::ENDING_MARK_SECONDS;
use lately_items::{
    EXPIRES_AT, SourceEntryKey, SourceItemKey, StoredSource, TimelineEntry, places_at_source,
};
use lately_keys::{Coverage, EventId, Key, Order, ShardCount, TableKey};
use lately_table::{Condition, Corrupt, Item, TableError, Update};

use crate::handle::SourceHandle;
use crate::lane::{LanePage, LaneRange};
use crate::limits::FOLLOWER_SHARDS;
use crate::moments::{Aged, Sent};
use crate::source::known::KnownSource;
use crate::span::IdRange;

/// A process uses its knowledge of a source's shards for this long. An item of an erased actor lasts longer
/// ([`ENDING_MARK_SECONDS`]).
const SOURCE_AGE: Duration = Duration::from_secs(24 * 60 * 60);

impl SourceHandle<'_> {
    fn key(self) -> SourceItemKey {
        SourceItemKey { source: self.source.clone() }
    }

    /// A change of the item, which then does not expire.
    pub(crate) fn change(self) -> Update {
        Update::of(&self.key()).remove(EXPIRES_AT)
    }

    /// Lets the item expire. The source has no followers and no entries.
    pub(crate) async fn expire(self) -> Result<(), TableError> {
        let expires_at = self.op.now().get() / 1000 + ENDING_MARK_SECONDS;
        let update = Update::of(&self.key()).set(EXPIRES_AT, expires_at).only_if(Condition::any_item());
        self.op.table.update(&update).await.map(drop)
    }

    /// The source, read consistently. A source without an item is pushed, and its timeline and its followers have one
    /// shard each.
    pub(crate) async fn stored(self) -> Result<StoredSource, TableError> {
        let sent = Sent::now(self.op.ambient());
        let item = self.op.table.get(self.key().encode()).await?;
        self.learn(item.as_ref(), sent)?;
        Ok(item.as_ref().map(StoredSource::decode).transpose()?.unwrap_or_default())
    }

    /// The coverage that an item holds, and that this process remembers from now on. A read that was not consistent may
    /// have missed spreads that the process knows.
    fn learn(self, item: Option<&Item>, sent: Sent) -> Result<Arc<Coverage>, Corrupt> {
        let mut coverage =
            item.map(StoredSource::coverage_of).transpose()?.unwrap_or_else(Coverage::of_source);
        if item.is_some_and(|item| item.has(EXPIRES_AT)) {
            return Ok(Arc::new(coverage));
        }
        if let Some(known) = self.known() {
            coverage.join(&known.value.coverage);
        }
        let coverage = Arc::new(coverage);
        let value = KnownSource { coverage: Arc::clone(&coverage), is_stored: item.is_some() };
        self.op.memory().sources.insert(self.source.clone(), Aged { value, sent });
        Ok(coverage)
    }

    fn known(self) -> Option<Aged<KnownSource>> {
        let known = self.op.memory().sources.get(self.source);
        known.filter(|known| known.sent.is_within(SOURCE_AGE, self.op.ambient()))
    }

    /// The coverage that this process knows.
    pub(crate) fn known_coverage(self) -> Arc<Coverage> {
        let known = self.known();
        known.map_or_else(|| Arc::new(Coverage::of_source()), |known| known.value.coverage)
    }

    /// The coverage for a read. It is at most as old as the request's directory pages; a consistent read asks for the
    /// present one.
    pub(crate) async fn coverage(self, consistent: bool) -> Result<Arc<Coverage>, TableError> {
        if consistent {
            return Ok(self.stored().await?.coverage);
        }
        if let Some(coverage) = self.recent_coverage() {
            return Ok(coverage);
        }
        let sent = Sent::now(self.op.ambient());
        let items = self.op.table.get_many(&[self.key().encode()], false).await?;
        Ok(self.learn(items.first(), sent)?)
    }

    /// The coverage, if this process has read it within the age of the request's directory pages.
    pub(crate) fn recent_coverage(self) -> Option<Arc<Coverage>> {
        let recent =
            self.known().filter(|known| known.sent.is_within(self.op.directory_age, self.op.ambient()));
        recent.map(|known| known.value.coverage)
    }

    /// The coverage, and the first entries of a range that begins with the newest possible entry, with one query: the
    /// source's item comes before the entries of the first shard.
    pub(crate) async fn start(
        self,
        range: &LaneRange<'_>,
        wanted: u32,
    ) -> Result<(Arc<Coverage>, LanePage<TimelineEntry>), TableError> {
        let sent = Sent::now(self.op.ambient());
        let is_expected = self.known().is_none_or(|known| known.value.is_stored);
        let first = LanePage::read_first(self.op, range, wanted, is_expected.into(), TimelineEntry::decode);
        let (item, entries) = first.await?;
        Ok((self.learn(item.first(), sent)?, entries))
    }

    /// The partitions of the timeline that may hold entries of a range, each with its part of the range.
    pub(crate) async fn partitions(
        self,
        ids: IdRange,
        consistent: bool,
    ) -> Result<Vec<(String, IdRange)>, TableError> {
        let coverage = self.coverage(consistent).await?;
        let shards = coverage.shards_within(ids.oldest.at(), ids.newest.at()).into_iter();
        Ok(shards.map(|shard| (SourceEntryKey::partition(self.source, shard), ids)).collect())
    }

    /// The newest entries of a range of the timeline, read consistently. If a shard has more entries than one query
    /// reads, the entries end there, so that none is left out; then the last one that was read is returned, too.
    pub(crate) async fn newest(
        self,
        coverage: &Coverage,
        ids: IdRange,
        limit: u32,
    ) -> Result<(Vec<TimelineEntry>, Option<EventId>), TableError> {
        let shards = coverage.shards_within(ids.oldest.at(), ids.newest.at());
        let each = limit.div_ceil(u32::try_from(shards.len()).unwrap_or(u32::MAX).max(1));
        let pages = shards.into_iter().map(async |shard| {
            let partition = SourceEntryKey::partition(self.source, shard);
            let range = LaneRange { partition: &partition, ids, order: Order::NewestFirst, consistent: true };
            LanePage::read(self.op, &range.query().limit(each), TimelineEntry::decode).await
        });
        let pages = try_join_all(pages).await?;
        let stopped_at = pages.iter().filter_map(|page| page.stopped_at).max();
        let mut entries: Vec<_> = pages.into_iter().flat_map(|page| page.items).collect();
        entries.retain(|entry| stopped_at.is_none_or(|stopped_at| stopped_at <= entry.id));
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.id));
        entries.dedup_by_key(|entry| entry.id);
        Ok((entries, stopped_at))
    }

    /// The keys under which the source may list an event.
    pub async fn places(self, id: EventId) -> Result<Vec<Key>, TableError> {
        let coverage = self.stored().await?.coverage;
        Ok(places_at_source(id, self.source, &coverage))
    }

    /// Doubles a source's follower shards, unless there are already more than the number that was too low. Returns the
    /// number of shards afterwards.
    pub(crate) async fn double_followers(self, under: ShardCount) -> Result<ShardCount, TableError> {
        let doubled = under.doubled(FOLLOWER_SHARDS);
        if doubled == under {
            return Ok(under);
        }
        let update = self.change().set(StoredSource::SHARDS, doubled.get()).only_if(has_shards(under));
        match self.op.table.update(&update).await? {
            true => Ok(doubled),
            false => Ok(self.stored().await?.shards),
        }
    }
}

/// The condition that a source has this number of shards.
pub(crate) fn has_shards(shards: ShardCount) -> Condition {
    let is_stored = Condition::equals(StoredSource::SHARDS, shards.get());
    if shards == ShardCount::ONE { is_stored.or(Condition::absent(StoredSource::SHARDS)) } else { is_stored }
}
