//! A walk through a timeline: which events, which way, and where it stands. Pure.

use std::num::NonZeroU32;

use crate::keys::{PublishedError, WriteKey};
use jiff::{SignedDuration, Timestamp};
use lately_keys::Order;

use crate::design::Design;
use crate::stop::{Lane, Stop};

const ONE: SignedDuration = SignedDuration::from_nanos(1);

/// A walk through the events after one time and up to another. Times are those that the keys tell: a design that
/// rounds them down has all events of a second at its beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walk {
    /// Which way.
    pub order: Order,
    /// Events of this time and before it are none of the walk. It bounds the partitions that are visited.
    pub after: Timestamp,
    /// The last time.
    pub to: Timestamp,
    /// Where an earlier read ended; none at the beginning.
    pub position: Option<Position>,
    /// Events of one read, at most.
    pub limit: NonZeroU32,
    /// Whether each read sees what was acknowledged before it, at twice the price.
    pub consistent: bool,
}

/// Where a walk stands.
///
/// It is a value of the design: the sort key of the last event is what each of them goes on behind, in every shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Position {
    /// Just behind this event.
    Behind(WriteKey),
    /// At this time, which comes next.
    At(Timestamp),
}

impl Walk {
    /// From the newest event on.
    #[must_use]
    pub const fn newest_first(after: Timestamp, to: Timestamp, limit: NonZeroU32) -> Self {
        Self { order: Order::NewestFirst, after, to, position: None, limit, consistent: false }
    }

    /// From the oldest event on: what came since `after`, where a report ended.
    #[must_use]
    pub const fn oldest_first(after: Timestamp, to: Timestamp, limit: NonZeroU32) -> Self {
        Self { order: Order::OldestFirst, after, to, position: None, limit, consistent: false }
    }
}

/// What of a walk is not begun yet.
#[derive(Debug)]
pub(crate) struct Span<'a> {
    design: &'a Design,
    order: Order,
    /// The times that are left, both included.
    left: Option<(Timestamp, Timestamp)>,
    /// The event that the first stop goes on behind, and its partition's place among those of its time.
    behind: Option<(WriteKey, usize)>,
    /// Where the walk stands before all that is left.
    pub(crate) position: Position,
}

impl<'a> Span<'a> {
    pub(crate) fn new(design: &'a Design, walk: &Walk) -> Result<Self, PublishedError> {
        let Walk { order, after, to, .. } = *walk;
        // No design has keys before 1970, nor partitions to visit there.
        let mut first = next(after).max(Timestamp::UNIX_EPOCH);
        let mut last = to;
        let mut behind = None;
        let at = match &walk.position {
            None => None,
            Some(Position::At(at)) => Some(*at),
            Some(Position::Behind(key)) => {
                let at = design.time_of(&key.sk)?;
                let lane = design.partitions(at).iter().position(|pk| *pk == key.pk);
                let lane = lane.ok_or(PublishedError::Key)?;
                behind = (first <= at && at <= last).then(|| (key.clone(), lane));
                Some(at)
            }
        };
        match (order, at) {
            (_, None) => {}
            (Order::NewestFirst, Some(at)) => last = last.min(at),
            (Order::OldestFirst, Some(at)) => first = first.max(at),
        }
        let start = Position::At(match order {
            Order::NewestFirst => last,
            Order::OldestFirst => first,
        });
        let position = walk.position.clone().unwrap_or(start);
        Ok(Self { design, order, left: (first <= last).then_some((first, last)), behind, position })
    }

    pub(crate) const fn is_over(&self) -> bool {
        self.left.is_none()
    }

    /// The next partitions to visit: those that share a time.
    pub(crate) fn next_stop(&mut self) -> Option<Stop> {
        let (first, last) = self.left?;
        let at = match self.order {
            Order::NewestFirst => last,
            Order::OldestFirst => first,
        };
        let window = self.design.window(at);
        let (oldest, newest) = (first.max(window.first), last.min(window.last));
        let (end, left) = match self.order {
            Order::NewestFirst => (before(oldest), (first < oldest).then(|| (first, before(oldest)))),
            Order::OldestFirst => (next(newest), (newest < last).then(|| (next(newest), last))),
        };
        self.left = left;
        let lanes = match self.design.sort_keys(oldest, newest) {
            // Between two ticks there is nothing.
            None => Vec::new(),
            Some(keys) => {
                let partitions = self.design.partitions(at).into_iter();
                partitions.map(|partition| Lane::new(partition, keys.clone())).collect()
            }
        };
        let mut stop = Stop::new(self.order, self.design.natural_order(), lanes, Position::At(end));
        if let Some((key, lane)) = self.behind.take() {
            stop.go_on_behind(&key.sk, lane);
        }
        Some(stop)
    }
}

fn next(at: Timestamp) -> Timestamp {
    at.checked_add(ONE).unwrap_or(Timestamp::MAX)
}

fn before(at: Timestamp) -> Timestamp {
    at.checked_sub(ONE).unwrap_or(Timestamp::MIN)
}

#[cfg(test)]
mod tests;
