//! A walk through a timeline: its times, its order and its position. Pure.

use std::num::NonZeroU32;

use crate::keys::{PublishedError, WriteKey};
use jiff::{SignedDuration, Timestamp};
use lately_keys::Order;

use crate::design::Design;
use crate::stop::{Lane, Stop};

const ONE: SignedDuration = SignedDuration::from_nanos(1);

/// A walk through the events after one time and up to another. The time in an event's key counts: if a design rounds
/// times down to the second, all events of a second have the time of its beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walk {
    /// The order of the walk.
    pub order: Order,
    /// The walk excludes events of this time or before. This also bounds the partitions that are visited.
    pub after: Timestamp,
    /// The last time of the walk.
    pub to: Timestamp,
    /// The position at which an earlier read ended; `None` at the beginning.
    pub position: Option<Position>,
    /// The most events of one read.
    pub limit: NonZeroU32,
    /// True if each read sees everything that was acknowledged before it, at twice the price.
    pub consistent: bool,
}

/// The position of a walk.
///
/// A position belongs to a design: every shard continues behind the sort key of the last event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Position {
    /// Behind this event.
    Behind(WriteKey),
    /// At this time, whose events come next.
    At(Timestamp),
}

impl Walk {
    /// A walk from the newest event on.
    pub const fn newest_first(after: Timestamp, to: Timestamp, limit: NonZeroU32) -> Self {
        Self { order: Order::NewestFirst, after, to, position: None, limit, consistent: false }
    }

    /// A walk from the oldest event on: the events since `after`, for example since the end of a report.
    pub const fn oldest_first(after: Timestamp, to: Timestamp, limit: NonZeroU32) -> Self {
        Self { order: Order::OldestFirst, after, to, position: None, limit, consistent: false }
    }
}

/// The part of a walk that is not begun yet.
#[derive(Debug)]
pub(crate) struct Span<'a> {
    design: &'a Design,
    order: Order,
    /// The remaining times, both included.
    remaining: Option<(Timestamp, Timestamp)>,
    /// The event behind which the first stop continues, and the index of its partition among the partitions of its
    /// time.
    behind: Option<(WriteKey, usize)>,
    /// The position of the walk before the remaining times.
    pub(crate) position: Position,
}

impl<'a> Span<'a> {
    pub(crate) fn new(design: &'a Design, walk: &Walk) -> Result<Self, PublishedError> {
        let Walk { order, after, to, .. } = *walk;
        // No design has keys or partitions before 1970.
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
        Ok(Self { design, order, remaining: (first <= last).then_some((first, last)), behind, position })
    }

    pub(crate) const fn is_over(&self) -> bool {
        self.remaining.is_none()
    }

    /// The next partitions to visit: all that share a time.
    pub(crate) fn next_stop(&mut self) -> Option<Stop> {
        let (first, last) = self.remaining?;
        let at = match self.order {
            Order::NewestFirst => last,
            Order::OldestFirst => first,
        };
        let window = self.design.window(at);
        let (oldest, newest) = (first.max(window.first), last.min(window.last));
        let (end, remaining) = match self.order {
            Order::NewestFirst => (before(oldest), (first < oldest).then(|| (first, before(oldest)))),
            Order::OldestFirst => (next(newest), (newest < last).then(|| (next(newest), last))),
        };
        self.remaining = remaining;
        let lanes = match self.design.sort_keys(oldest, newest) {
            // No event lies between two ticks.
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
