//! The filter of a page: the entries of a timeline that the page shows. Pure.

use lately_keys::{EventType, Topic, UnixMillis};

use lately_items::TimelineEntry;
use lately_model::EventQuery;

use crate::op::Op;

/// The entries that a client wants and may see.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filter<'a> {
    pub(crate) event_type: Option<&'a EventType>,
    pub(crate) topic: Option<&'a Topic>,
    /// The topics that the client may read; `None` if it may read all.
    pub(crate) topics: Option<&'a [Topic]>,
    pub(crate) now: UnixMillis,
}

impl<'a> Filter<'a> {
    /// The entries that a request's query wants.
    pub(crate) fn of(op: &'a Op, query: &'a EventQuery, topic: Option<&'a Topic>) -> Self {
        Self { event_type: query.event_type.as_ref(), topic, ..Self::seen_by(op.allowed_topics(), op.now()) }
    }

    /// All entries that a client may see.
    pub(crate) const fn seen_by(topics: Option<&'a [Topic]>, now: UnixMillis) -> Self {
        Self { event_type: None, topic: None, topics, now }
    }

    /// True if the filter drops more than expired entries.
    pub(crate) const fn is_narrow(&self) -> bool {
        self.event_type.is_some() || self.topic.is_some() || self.topics.is_some()
    }

    pub(crate) fn takes(&self, entry: &TimelineEntry) -> bool {
        let TimelineEntry { event_type, topic, expires_at, .. } = entry;
        self.event_type.is_none_or(|wanted| wanted == event_type)
            && self.topic.is_none_or(|wanted| wanted == topic)
            && self.topics.is_none_or(|allowed| allowed.contains(topic))
            // DynamoDB may not have removed an expired entry yet.
            && expires_at.is_none_or(|seconds| seconds > self.now.get() / 1000)
    }
}
