//! The ids that a page may hold, and the direction in which the page goes through them. Pure.

use lately_keys::{Bucket, Coverage, EventId, Fingerprint, Order, Tick, UnixMillis};
use lately_model::limits::FUTURE_SECONDS;
use lately_model::{EventQuery, WaitSeconds};

use crate::error::TimelineError;
use crate::limits::ASCENDING_LAG_MILLIS;
use crate::list::start;

/// The place of an id in a walk: an id that the walk reaches earlier has a lower rank.
pub(crate) fn rank(id: EventId, order: Order) -> u128 {
    let bits = id.as_uuid().as_u128();
    order.pick(!bits, bits)
}

/// The id just before this one, in the order of a walk.
pub(crate) fn ahead(id: EventId, order: Order) -> Option<EventId> {
    order.pick(id.just_after(), id.just_before())
}

/// The id just behind this one, in the order of a walk.
pub(crate) fn behind(id: EventId, order: Order) -> Option<EventId> {
    order.pick(id.just_before(), id.just_after())
}

/// The last id that a walk comes to in a bucket.
pub(crate) fn bucket_end(bucket: Bucket, order: Order) -> EventId {
    order.pick(EventId::first_of(bucket.first()), EventId::last_of(bucket.last()))
}

/// The ids of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) order: Order,
    /// The wanted ids; `None` if there can be none.
    pub(crate) ids: Option<IdRange>,
    /// The position of the page's cursor; `None` at the start of the walk.
    pub(crate) position: Option<EventId>,
    pub(crate) now: UnixMillis,
}

/// A range of ids, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IdRange {
    pub(crate) oldest: EventId,
    pub(crate) newest: EventId,
}

impl IdRange {
    pub(crate) fn new(oldest: EventId, newest: EventId) -> Option<Self> {
        (oldest <= newest).then_some(Self { oldest, newest })
    }

    /// The part of the range that lies between two times, both included.
    pub(crate) fn within(self, first: UnixMillis, last: UnixMillis) -> Option<Self> {
        Self::new(self.oldest.max(EventId::first_of(first)), self.newest.min(EventId::last_of(last)))
    }

    /// The first and the last id in the order of a walk.
    pub(crate) fn ends(self, order: Order) -> (EventId, EventId) {
        order.pick((self.newest, self.oldest), (self.oldest, self.newest))
    }

    /// The part of the range in which a reader looks for events of a coverage. Later events are looked for when their
    /// time has come.
    pub(crate) fn in_sight(self, coverage: &Coverage, now: UnixMillis, consistent: bool) -> Option<Self> {
        let sight = match consistent {
            true => Tick::first_of(now.saturating_add(FUTURE_SECONDS * 1000)),
            false => Tick::first_of(now).after(coverage.shards_at(now).slice_ticks()),
        };
        Self::new(self.oldest, self.newest.min(EventId::last_at(sight)))
    }

    /// The range of a walk from one id to another.
    pub(crate) fn walked(first: EventId, last: EventId, order: Order) -> Option<Self> {
        let (oldest, newest) = order.pick((last, first), (first, last));
        Self::new(oldest, newest)
    }
}

impl Span {
    pub(crate) fn new(
        query: &EventQuery,
        fingerprint: Fingerprint,
        now: UnixMillis,
    ) -> Result<Self, TimelineError> {
        let (order, position) = start(query.cursor.as_deref(), fingerprint, query.order)?;
        if order == Order::NewestFirst && query.wait != WaitSeconds::default() {
            return Err(TimelineError::NewestFirstWait);
        }
        Ok(Self { order, ids: ids(query, order, position, now), position, now })
    }
}

/// The newest id that is older than a number of milliseconds. After [`ASCENDING_LAG_MILLIS`], events with older ids have
/// landed, so an oldest-first page may end there.
pub(crate) const fn settled_before(now: UnixMillis, millis: u64) -> EventId {
    EventId::last_of(now.saturating_sub(millis + 1))
}

fn ids(query: &EventQuery, order: Order, position: Option<EventId>, now: UnixMillis) -> Option<IdRange> {
    let oldest = EventId::first_of(query.range.from.unwrap_or(UnixMillis::MIN));
    let newest = match query.range.to {
        None => EventId::MAX,
        Some(to) => EventId::first_of(to).just_before()?,
    };
    let settled = settled_before(now, ASCENDING_LAG_MILLIS);
    let range = IdRange::new(oldest, order.pick(newest, newest.min(settled)))?;
    let Some(position) = position else { return Some(range) };
    let IdRange { oldest, newest } = range;
    let next = behind(position, order)?;
    let (oldest, newest) = order.pick((oldest, newest.min(next)), (oldest.max(next), newest));
    IdRange::new(oldest, newest)
}
