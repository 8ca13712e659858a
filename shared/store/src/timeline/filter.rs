//! The filter of a page, or of a live follower: the events that a client wants and may see. Pure.

use std::sync::Arc;

use lately_items::TimelineEntry;
use lately_keys::{EventType, Topic, UnixMillis};

use crate::op::Op;

/// The events that a client wants and may see. The default is all events.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    pub(crate) event_type: Option<EventType>,
    pub(crate) topic: Option<Topic>,
    /// The topics that the client may read; `None` if it may read all.
    pub(crate) topics: Option<Arc<[Topic]>>,
}

impl Filter {
    /// All events that the caller of a request may see.
    pub(crate) fn seen_by_caller(op: &Op) -> Self {
        Self { topics: op.topics.clone(), ..Self::default() }
    }

    /// True if the filter drops more than expired entries.
    pub(crate) const fn is_narrow(&self) -> bool {
        self.event_type.is_some() || self.topic.is_some() || self.topics.is_some()
    }

    pub(crate) fn takes(&self, topic: &Topic, event_type: &EventType) -> bool {
        self.event_type.as_ref().is_none_or(|wanted| wanted == event_type)
            && self.topic.as_ref().is_none_or(|wanted| wanted == topic)
            && self.topics.as_ref().is_none_or(|allowed| allowed.contains(topic))
    }

    /// True if the filter takes an entry's event. DynamoDB may not have removed an expired entry yet.
    pub(crate) fn takes_entry(&self, entry: &TimelineEntry, now: UnixMillis) -> bool {
        self.takes(&entry.topic, &entry.event_type)
            && entry.expires_at.is_none_or(|seconds| seconds > now.get() / 1000)
    }
}
