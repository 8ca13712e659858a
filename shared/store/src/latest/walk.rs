//! The walk through a topic's directory: finds the buckets that may hold wanted events, in order.

use std::collections::VecDeque;
use std::sync::Arc;

use lately_items::{DirectoryEntry, StoredTopic};
use lately_keys::{Bucket, Coverage, EventId, EventType, Order, Shard, Topic, UnixMillis};
use lately_table::TableError;

use crate::directory::Directory;
use crate::directory::range::DirectoryRange;
use crate::latest::span::{IdRange, Span};
use crate::latest::wave::bucket_end;
use crate::op::Op;

/// Directory queries of one page: 2,048 buckets looked at, even if most of them hold no wanted event.
const DIRECTORY_QUERIES_PER_PAGE: u32 = 64;

/// A bucket to read, and the range of its ids to read.
#[derive(Clone, Debug)]
pub(super) struct DirectoryStop {
    pub(super) bucket: Bucket,
    pub(super) coverage: Arc<Coverage>,
    /// The shards that may hold wanted events.
    pub(super) shards: Vec<Shard>,
    /// True if the bucket keeps the `type` view.
    pub(super) has_types: bool,
    pub(super) ids: IdRange,
}

#[derive(Debug)]
pub(super) struct DirectoryWalk {
    span: Span,
    event_type: Option<EventType>,
    consistent: bool,
    /// The buckets that are listed and not visited yet.
    ahead: VecDeque<DirectoryStop>,
    /// The part of the directory that is not read yet.
    unread: Option<DirectoryRange>,
    queries: u32,
    /// The last id of the last bucket that was looked at.
    pub(super) at: Option<EventId>,
}

impl DirectoryWalk {
    pub(super) fn new(
        topic: &Topic,
        stored: &StoredTopic,
        span: Span,
        event_type: Option<EventType>,
        consistent: bool,
    ) -> Self {
        // A retention hides at once, and an entry of the directory outlives its events.
        let ids = span.ids.and_then(|ids| ids.within(stored.oldest_kept(span.now), UnixMillis::MAX));
        let span = Span { ids, ..span };
        let unread = ids.map(|IdRange { oldest, newest }| {
            DirectoryRange::between(
                topic.clone(),
                stored.settings.bucket,
                span.order,
                oldest.at(),
                newest.at(),
            )
        });
        Self { span, event_type, consistent, ahead: VecDeque::new(), unread, queries: 0, at: None }
    }

    /// The next bucket to read; the walk does not advance. `None` at the end, or if the walk may read no more of the
    /// directory.
    pub(super) async fn peek(&mut self, op: &Op) -> Result<Option<DirectoryStop>, TableError> {
        while self.ahead.is_empty() && !self.is_spent(op) {
            let Some(range) = self.unread.take() else { break };
            self.queries += 1;
            let page = match self.consistent {
                true => Directory::of(op, range.topic()).read(&range).await?,
                false => Directory::of(op, range.topic()).recent(&range).await?,
            };
            let entries = &page.value.entries;
            self.unread = match (page.value.more, entries.last()) {
                (true, Some(last)) => range.behind(last.bucket),
                _ => None,
            };
            self.ahead = entries.iter().filter_map(|entry| self.stop(entry)).collect();
            if self.ahead.is_empty() {
                self.at = entries.last().map(|last| bucket_end(last.bucket, self.span.order)).or(self.at);
            }
        }
        Ok(self.ahead.front().cloned())
    }

    /// Advances to the bucket that `peek` returned.
    pub(super) fn advance(&mut self) {
        if let Some(DirectoryStop { bucket, .. }) = self.ahead.pop_front() {
            self.at = Some(bucket_end(bucket, self.span.order));
        }
    }

    pub(super) const fn order(&self) -> Order {
        self.span.order
    }

    /// True if there may be a bucket ahead.
    pub(super) fn has_more(&self) -> bool {
        !self.ahead.is_empty() || self.unread.is_some()
    }

    fn is_spent(&self, op: &Op) -> bool {
        self.queries >= DIRECTORY_QUERIES_PER_PAGE || (self.queries > 0 && op.table.is_spent())
    }

    /// The stop at a bucket; `None` if the bucket cannot hold a wanted event.
    fn stop(&self, entry: &DirectoryEntry) -> Option<DirectoryStop> {
        let wanted = self.event_type.as_ref().is_none_or(|event_type| entry.types.may_hold(event_type));
        let DirectoryEntry { bucket, ref coverage, ref types, .. } = *entry;
        let oldest = bucket.first().max(entry.oldest_kept(self.span.now));
        let ids = self.span.ids?.within(oldest, bucket.last())?;
        let shards = coverage.shards_within(ids.oldest.at(), ids.newest.at());
        let coverage = Arc::clone(coverage);
        wanted.then_some(DirectoryStop { bucket, coverage, shards, has_types: types.are_kept(), ids })
    }
}
