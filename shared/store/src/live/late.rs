//! The late events of a live timeline: their ids wait here until they are looked up and sent.
//!
//! The late log of a topic names its late events, and notes name those of a source's timeline or a feed (`watch.rs`). A
//! reader takes ids only while its queue has room, and goes on from its place later. So an import of millions costs a
//! stream no more memory than a small one.

use std::collections::{BTreeMap, BTreeSet};

use lately_items::{LatePlace, Timeline};
use lately_keys::{EventId, Topic};
use lately_table::TableError;

use crate::op::Op;

/// The ids that a queue takes before its reader stops for a while: 2 MB.
const QUEUED_IDS: usize = 65_536;

/// Late events that one call reads: 6.4 MB at most.
const LATE_PER_CALL: usize = 25;

/// The ids of late events that are to be looked up, by the timelines for which they were named.
#[derive(Debug, Default)]
pub(super) struct LateQueue {
    ids: BTreeMap<Timeline, BTreeSet<EventId>>,
    len: usize,
}

impl LateQueue {
    /// True if the reader may take more ids.
    pub(super) const fn has_room(&self) -> bool {
        self.len < QUEUED_IDS
    }

    pub(super) fn add(&mut self, timeline: &Timeline, ids: impl IntoIterator<Item = EventId>) {
        if !self.ids.contains_key(timeline) {
            self.ids.insert(timeline.clone(), BTreeSet::new());
        }
        let queued = self.ids.get_mut(timeline).expect("the timeline has just been inserted");
        for id in ids {
            self.len += usize::from(queued.insert(id));
        }
    }

    /// The next ids to look up: those of one timeline, up to a settled position. A later event is not late: it waits,
    /// until a look at the timeline has found it, or the position has passed it.
    pub(super) fn due(&self, settled: EventId) -> Option<(&Timeline, Vec<EventId>)> {
        for (timeline, ids) in &self.ids {
            let due: Vec<EventId> = ids.range(..=settled).take(LATE_PER_CALL).copied().collect();
            if !due.is_empty() {
                return Some((timeline, due));
            }
        }
        None
    }

    /// Removes ids that were looked up.
    pub(super) fn remove(&mut self, timeline: &Timeline, ids: &[EventId]) {
        let Some(queued) = self.ids.get_mut(timeline) else { return };
        for id in ids {
            self.len -= usize::from(queued.remove(id));
        }
        if queued.is_empty() {
            self.ids.remove(timeline);
        }
    }
}

/// A reader of the late log of a topic, up to the item `end`.
#[derive(Clone, Debug)]
pub(super) struct LogReader {
    pub(super) topic: Topic,
    pub(super) place: LatePlace,
    pub(super) end: u64,
}

impl LogReader {
    /// Takes ids while the queue has room. Returns whether there are no more.
    pub(super) async fn read(&mut self, op: &Op, queue: &mut LateQueue) -> Result<bool, TableError> {
        let timeline = Timeline::Topic(self.topic.clone());
        while self.place.number < self.end {
            if !queue.has_room() {
                return Ok(false);
            }
            for batch in op.late_log(&self.topic).read(self.place, self.end).await? {
                queue.add(&timeline, batch.ids);
                self.place = LatePlace::after(batch.number);
            }
        }
        Ok(true)
    }
}

/// The places from which the names of late events are still to be read.
#[derive(Clone, Debug)]
pub(super) enum LateSource {
    /// In the late log of a topic.
    Log(LogReader),
    /// In the notes of a source's timeline or a feed, after one.
    Notes { timeline: Timeline, after: EventId },
}

impl LateSource {
    /// Takes ids while the queue has room. Returns whether there are no more.
    pub(super) async fn read(&mut self, op: &Op, queue: &mut LateQueue) -> Result<bool, TableError> {
        match self {
            Self::Log(log) => log.read(op, queue).await,
            Self::Notes { timeline, after } => loop {
                if !queue.has_room() {
                    return Ok(false);
                }
                let (notes, has_more) = op.live_notes().after(timeline, *after).await?;
                for note in notes {
                    queue.add(timeline, note.events);
                    *after = note.id;
                }
                if !has_more {
                    return Ok(true);
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use lately_keys::UnixMillis;

    use super::*;

    fn id(millis: u64) -> EventId {
        EventId::first_of(UnixMillis::new(millis).unwrap())
    }

    #[test]
    fn ids_are_due_once_the_settled_position_has_passed_them() {
        let mut queue = LateQueue::default();
        let posts = Timeline::Topic("posts".parse().unwrap());
        let ada = Timeline::Source("actor:ada".parse().unwrap());
        queue.add(&posts, [id(5), id(9), id(5)]);
        queue.add(&ada, [id(7)]);
        assert_eq!((queue.len, queue.due(id(4))), (3, None));
        let (timeline, due) = queue.due(id(8)).unwrap();
        assert_eq!((timeline, due), (&posts, vec![id(5)]));
        queue.remove(&posts, &[id(5)]);
        assert_eq!(queue.due(id(8)), Some((&ada, vec![id(7)])));
        queue.remove(&ada, &[id(7)]);
        assert_eq!((queue.len, queue.due(id(8))), (1, None));
        assert_eq!(queue.due(id(9)), Some((&posts, vec![id(9)])));
    }

    #[test]
    fn a_full_queue_takes_no_more_until_ids_are_looked_up() {
        let mut queue = LateQueue::default();
        let posts = Timeline::Topic("posts".parse().unwrap());
        queue.add(&posts, (0..QUEUED_IDS as u64).map(id));
        assert!(!queue.has_room());
        let (_, due) = queue.due(EventId::MAX).unwrap();
        assert_eq!(due.len(), LATE_PER_CALL);
        queue.remove(&posts, &due);
        assert!(queue.has_room());
    }
}
