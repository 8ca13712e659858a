//! The walk through a topic's directory: the buckets that hold anything that is wanted, in order.

use std::collections::VecDeque;

use lately_keys::{BucketWidth, EventId, EventType, Order, Topic};

use crate::call::{Operation, TableError};
use crate::directory::{DirectoryRange, Entry};
use crate::latest::span::{IdRange, Span};
use crate::latest::wave::bucket_end;
use crate::limits::DIRECTORY_QUERIES_PER_PAGE;
use crate::store::Store;

/// A bucket to read, and which of its ids are wanted.
#[derive(Clone, Debug)]
pub(super) struct Stop {
    pub(super) entry: Entry,
    pub(super) ids: IdRange,
}

#[derive(Debug)]
pub(super) struct Walk {
    span: Span,
    event_type: Option<EventType>,
    consistent: bool,
    /// Read, and not visited yet.
    ahead: VecDeque<Stop>,
    /// Not read yet.
    unread: Option<DirectoryRange>,
    queries: u32,
    /// The last id of the last bucket that was looked at.
    pub(super) at: Option<EventId>,
}

impl Walk {
    pub(super) fn new(
        topic: &Topic,
        width: BucketWidth,
        span: Span,
        event_type: Option<EventType>,
        consistent: bool,
    ) -> Self {
        let unread = span.ids.map(|IdRange { oldest, newest }| {
            DirectoryRange::between(topic.clone(), width, span.order, oldest.at(), newest.at())
        });
        Self { span, event_type, consistent, ahead: VecDeque::new(), unread, queries: 0, at: None }
    }

    /// The next bucket to read, without going there; none at the end, or when the walk may go no further.
    pub(super) async fn peek(
        &mut self,
        store: &Store,
        operation: &Operation<'_>,
    ) -> Result<Option<&Stop>, TableError> {
        while self.ahead.is_empty() && !self.is_spent() {
            let Some(range) = self.unread.take() else { break };
            self.queries += 1;
            let page = match self.consistent {
                true => store.read_directory(&range, operation).await?,
                false => store.recent_directory(&range, operation).await?,
            };
            let entries = &page.value.entries;
            self.unread = match (page.value.more, entries.last()) {
                (true, Some(last)) => range.behind(last.bucket),
                _ => None,
            };
            let stops = entries.iter().filter_map(|entry| self.stop(entry)).collect();
            self.ahead = stops;
            if self.ahead.is_empty() {
                self.at = entries.last().map(|last| bucket_end(last.bucket, self.span.order)).or(self.at);
            }
        }
        Ok(self.ahead.front())
    }

    /// Goes to the bucket that was peeked at.
    pub(super) fn advance(&mut self) {
        if let Some(Stop { entry, .. }) = self.ahead.pop_front() {
            self.at = Some(bucket_end(entry.bucket, self.span.order));
        }
    }

    /// Whether there may be a bucket ahead.
    pub(super) fn has_more(&self) -> bool {
        !self.ahead.is_empty() || self.unread.is_some()
    }

    const fn is_spent(&self) -> bool {
        self.queries >= DIRECTORY_QUERIES_PER_PAGE
    }

    /// A bucket, if anything in it may be wanted.
    fn stop(&self, entry: &Entry) -> Option<Stop> {
        let wanted = self.event_type.as_ref().is_none_or(|event_type| entry.types.may_hold(event_type));
        let kept = self.span.ids?.within(entry.oldest_kept(self.span.now), entry.bucket.last());
        let ids = kept?.within(entry.bucket.first(), entry.bucket.last())?;
        wanted.then(|| Stop { entry: entry.clone(), ids })
    }
}

impl Walk {
    pub(super) const fn order(&self) -> Order {
        self.span.order
    }
}
