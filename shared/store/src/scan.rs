//! The scan of a topic: finds the buckets of the directory that may hold wanted events, in order.
//!
//! Pages and ranges scan a topic for what they read of it. The steps of a deletion, of another retention and of an erasure
//! begin again with each step at the newest bucket that remains ([`DirectoryHandle::remaining`]), and go through its shards
//! ([`partitions`]), page by page ([`rest_of`]).

use std::collections::VecDeque;
use std::sync::Arc;

use lately_items::{BEFORE_ENTRIES, DirectoryEntry, StoredTopic};
use lately_keys::{Bucket, Coverage, EventId, EventType, Order, Shard, Topic, UnixMillis};
use lately_table::{Query, TableError};

use crate::directory::range::DirectoryRange;
use crate::op::Op;
use crate::span::{IdRange, bucket_end};

/// Directory queries of one page: 2,048 buckets looked at, even if most of them hold no wanted event.
const DIRECTORY_QUERIES_PER_PAGE: u32 = 64;

/// A bucket to read, and the range of its ids to read.
#[derive(Clone, Debug)]
pub(crate) struct ScannedBucket {
    pub(crate) bucket: Bucket,
    pub(crate) coverage: Arc<Coverage>,
    /// The shards that may hold wanted events.
    pub(crate) shards: Vec<Shard>,
    /// True if the bucket keeps the `type` view.
    pub(crate) has_types: bool,
    pub(crate) ids: IdRange,
}

/// The buckets of a topic that may hold wanted events.
#[derive(Debug)]
pub(crate) struct TopicScan {
    pub(crate) order: Order,
    now: UnixMillis,
    ids: Option<IdRange>,
    event_type: Option<EventType>,
    consistent: bool,
    /// The buckets that are listed and not visited yet.
    ahead: VecDeque<ScannedBucket>,
    /// The part of the directory that is not read yet.
    unread: Option<DirectoryRange>,
    queries: u32,
    /// The last id of the last bucket that was looked at.
    pub(crate) at: Option<EventId>,
}

impl TopicScan {
    /// A scan for the ids of a range, as far as the topic's retention shows them.
    pub(crate) fn new(
        topic: &Topic,
        stored: &StoredTopic,
        order: Order,
        ids: Option<IdRange>,
        now: UnixMillis,
    ) -> Self {
        // A retention hides at once, and an entry of the directory outlives its events.
        let ids = ids.and_then(|ids| ids.within(stored.oldest_kept(now), UnixMillis::MAX));
        let unread = ids.map(|IdRange { oldest, newest }| {
            DirectoryRange::between(topic.clone(), stored.settings.bucket, order, oldest.at(), newest.at())
        });
        let (ahead, queries, at) = (VecDeque::new(), 0, None);
        Self { order, now, ids, event_type: None, consistent: true, ahead, unread, queries, at }
    }

    /// The same scan, for events of one type alone, or from directory pages that may be a little older.
    pub(crate) fn of(self, event_type: Option<EventType>, consistent: bool) -> Self {
        Self { event_type, consistent, ..self }
    }

    /// Lets the scan of a range, which ends only with the directory, continue in another step of the request.
    pub(crate) const fn begin_step(&mut self) {
        self.queries = 0;
    }

    /// The next bucket to read; the scan does not advance. `None` at the end, or if the request may read no more of the
    /// directory.
    pub(crate) async fn peek(&mut self, op: &Op) -> Result<Option<&ScannedBucket>, TableError> {
        while self.ahead.is_empty() && !self.is_spent(op) {
            let Some(range) = self.unread.take() else { break };
            self.queries += 1;
            let page = op.directory(&range.topic).read(&range, self.consistent).await;
            let page = page.inspect_err(|_| self.unread = Some(range.clone()))?;
            let entries = &page.value.entries;
            self.unread = match (page.value.more, entries.last()) {
                (true, Some(last)) => range.behind(last.bucket),
                _ => None,
            };
            self.ahead = entries.iter().filter_map(|entry| self.bucket(entry)).collect();
            if self.ahead.is_empty() {
                self.at = entries.last().map(|last| bucket_end(last.bucket, self.order)).or(self.at);
            }
        }
        Ok(self.ahead.front())
    }

    /// Advances behind the bucket that `peek` returned.
    pub(crate) fn advance(&mut self) {
        if let Some(ScannedBucket { bucket, .. }) = self.ahead.pop_front() {
            self.at = Some(bucket_end(bucket, self.order));
        }
    }

    /// True if there may be a bucket ahead.
    pub(crate) fn has_more(&self) -> bool {
        !self.ahead.is_empty() || self.unread.is_some()
    }

    /// True if the next bucket is known without another query.
    pub(crate) fn is_listed(&self) -> bool {
        !self.ahead.is_empty()
    }

    fn is_spent(&self, op: &Op) -> bool {
        self.queries >= DIRECTORY_QUERIES_PER_PAGE || (self.queries > 0 && op.table.is_spent())
    }

    /// The part of a bucket to read; `None` if the bucket cannot hold a wanted event.
    fn bucket(&self, entry: &DirectoryEntry) -> Option<ScannedBucket> {
        let wanted = self.event_type.as_ref().is_none_or(|event_type| entry.types.may_hold(event_type));
        let DirectoryEntry { bucket, ref coverage, ref types, .. } = *entry;
        let oldest = bucket.first().max(entry.oldest_kept(self.now));
        let ids = self.ids?.within(oldest, bucket.last())?;
        let shards = coverage.shards_within(ids.oldest.at(), ids.newest.at());
        let coverage = Arc::clone(coverage);
        wanted.then_some(ScannedBucket { bucket, coverage, shards, has_types: types.are_kept(), ids })
    }
}

/// The partitions of some buckets, in their order: of the bucket `from`, only those of this shard and the shards after it.
pub(crate) fn partitions(
    entries: &[DirectoryEntry],
    from: Option<(Bucket, Shard)>,
) -> impl Iterator<Item = (&DirectoryEntry, Shard)> {
    entries.iter().flat_map(move |entry| {
        let first = from.filter(|(bucket, _)| *bucket == entry.bucket).map(|(_, shard)| shard);
        let shards =
            entry.shards().into_iter().filter(move |shard| first.is_none_or(|first| *shard >= first));
        shards.map(move |shard| (entry, shard))
    })
}

/// The query for the entries of a partition behind one of them, newest first.
pub(crate) fn rest_of(partition: String, behind: Option<EventId>, limit: impl TryInto<i32>) -> Query {
    let after = behind.map_or(BEFORE_ENTRIES.to_owned(), |behind| behind.sort_key().to_string());
    Query::partition(partition).after(after).limit(limit).consistent(true)
}
