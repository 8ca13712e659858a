//! A stop of a walk: the partitions that share a time, merged. Pure.
//!
//! A stop is one partition, or all shards of a day. Each partition is a lane, which is read a page at a time. An event
//! is given once no lane can still hold an event that comes before it. Shards may hold equal sort keys. Then the
//! shard's number decides, so the order is total, and the last given event decides where each lane continues.

use std::cmp::Ordering;
use std::collections::VecDeque;

use crate::keys::{KeyValue, SortKeys};
use lately_keys::Order;

use crate::key::Event;
use crate::walk::Position;

/// Partitions that share a time.
#[derive(Debug)]
pub(crate) struct Stop {
    order: Order,
    natural: Order,
    lanes: Vec<Lane>,
    /// The position of the walk after all events of the stop.
    pub(crate) end: Position,
}

/// A partition that is being read.
#[derive(Debug)]
pub(crate) struct Lane {
    pub(crate) partition: KeyValue,
    /// The sort keys to read.
    pub(crate) keys: SortKeys,
    /// The next query continues behind this sort key.
    pub(crate) behind: Option<KeyValue>,
    unread: bool,
    /// The events that are read, and not given yet.
    events: VecDeque<Event>,
}

/// The answer to a query.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) events: VecDeque<Event>,
    /// The last sort key that was looked at, if the query ended before its range did.
    pub(crate) stopped_at: Option<KeyValue>,
}

impl Lane {
    pub(crate) const fn new(partition: KeyValue, keys: SortKeys) -> Self {
        Self { partition, keys, behind: None, unread: true, events: VecDeque::new() }
    }
}

impl Stop {
    pub(crate) const fn new(order: Order, natural: Order, lanes: Vec<Lane>, end: Position) -> Self {
        Self { order, natural, lanes, end }
    }

    pub(crate) fn lanes(&self) -> usize {
        self.lanes.len()
    }

    /// Continues behind an event of a lane.
    pub(crate) fn go_on_behind(&mut self, sk: &KeyValue, lane: usize) {
        for n in 0..self.lanes.len() {
            let is_given = self.compare((sk, n), (sk, lane)) != Ordering::Greater;
            let forward = self.is_forward();
            let Lane { keys, behind, .. } = &mut self.lanes[n];
            let edge = if forward { &mut keys.least } else { &mut keys.greatest };
            edge.clone_from(sk);
            *behind = is_given.then(|| sk.clone());
        }
    }

    /// True if the queries read in DynamoDB's own order.
    pub(crate) fn is_forward(&self) -> bool {
        self.order == self.natural
    }

    /// The lanes that must be read before the next event can be given.
    pub(crate) fn hungry(&self) -> impl Iterator<Item = (usize, &Lane)> {
        self.lanes.iter().enumerate().filter(|(_, lane)| lane.unread && lane.events.is_empty())
    }

    pub(crate) fn absorb(&mut self, lane: usize, answer: Answer) {
        let lane = &mut self.lanes[lane];
        lane.unread = answer.stopped_at.is_some();
        lane.behind = answer.stopped_at;
        lane.events = answer.events;
    }

    /// The next event. No lane may be hungry.
    pub(crate) fn give(&mut self) -> Option<Event> {
        let heads = self.lanes.iter().enumerate();
        let heads = heads.filter_map(|(n, lane)| Some((&lane.events.front()?.key.sk, n)));
        let (_, lane) = heads.min_by(|a, b| self.compare(*a, *b))?;
        self.lanes[lane].events.pop_front()
    }

    /// True if there may be more events.
    pub(crate) fn has_more(&self) -> bool {
        self.lanes.iter().any(|lane| lane.unread || !lane.events.is_empty())
    }

    fn compare(&self, (a, a_lane): (&KeyValue, usize), (b, b_lane): (&KeyValue, usize)) -> Ordering {
        let natural = a.partial_cmp(b).expect("the sort keys of a design are of one type");
        let newest_first = match self.natural {
            Order::NewestFirst => natural,
            Order::OldestFirst => natural.reverse(),
        };
        let newest_first = newest_first.then(a_lane.cmp(&b_lane));
        match self.order {
            Order::NewestFirst => newest_first,
            Order::OldestFirst => newest_first.reverse(),
        }
    }
}
