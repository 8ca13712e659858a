//! The lanes' progress: the position up to which each lane is settled, and counts per shard.

use std::time::Duration;

use tokio::sync::watch;

use crate::checkpoint::Checkpoints;
use lately_engine::stream::{SequenceNumber, Stream};

/// The counts of a shard since the pump was created.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ShardStatistics {
    /// Records that the function did.
    pub delivered: u64,
    /// Records that the filter excluded from the function.
    pub filtered: u64,
    /// Invocations of the function.
    pub invocations: u64,
    /// Invocations that failed with an error, or whose response reported failures.
    pub failures: u64,
    /// Retries of a batch or of its remaining records.
    pub retries: u64,
    /// Batches that were split instead of retried.
    pub bisects: u64,
    /// Records that were given up and put into the destination.
    pub in_destination: u64,
    /// Records that were given up and dropped, because there is no destination.
    pub dropped: u64,
    /// Occasions on which retention had trimmed records before a lane had done them.
    pub trimmed: u64,
    /// Invocations under way now.
    pub in_flight: u64,
    /// The age of the oldest record that is not settled. Zero if all are settled.
    pub iterator_age: Duration,
}

/// The progress by shard. Its receivers are woken whenever a lane's settled position changes.
#[derive(Debug)]
pub(crate) struct Progress(watch::Sender<Vec<ShardProgress>>);

#[derive(Debug)]
pub(crate) struct ShardProgress {
    counts: ShardStatistics,
    lanes: Vec<LanePosition>,
}

#[derive(Debug, Clone, Copy)]
struct LanePosition {
    /// The position up to which the lane has settled its records.
    settled: SequenceNumber,
    /// The time of the oldest record in the lane's batch, if it has one.
    at_hand_micros: Option<u64>,
}

impl Progress {
    /// The progress of lanes that are settled up to these positions, by shard and lane.
    pub(crate) fn new(positions: Vec<Vec<SequenceNumber>>) -> Self {
        let lane = |settled| LanePosition { settled, at_hand_micros: None };
        let shard = |lanes: Vec<SequenceNumber>| ShardProgress {
            counts: ShardStatistics::default(),
            lanes: lanes.into_iter().map(lane).collect(),
        };
        Self(watch::Sender::new(positions.into_iter().map(shard).collect()))
    }

    /// Changes the counts of a shard.
    pub(crate) fn count(&self, shard: u16, count: impl FnOnce(&mut ShardStatistics)) {
        self.0.send_if_modified(|shards| {
            count(&mut shards[usize::from(shard)].counts);
            false
        });
    }

    /// Notes the time of the oldest record in a lane's batch. `None`: the lane has no batch.
    pub(crate) fn at_hand(&self, shard: u16, lane: u16, micros: Option<u64>) {
        self.0.send_if_modified(|shards| {
            shards[usize::from(shard)].lanes[usize::from(lane)].at_hand_micros = micros;
            false
        });
    }

    /// Notes that a lane is settled up to a position.
    pub(crate) fn settle(&self, shard: u16, lane: u16, up_to: SequenceNumber) {
        self.0.send_if_modified(|shards| {
            let settled = &mut shards[usize::from(shard)].lanes[usize::from(lane)].settled;
            std::mem::replace(settled, up_to) != up_to
        });
    }

    /// A receiver that is woken whenever a lane's settled position changes.
    pub(crate) fn changes(&self) -> watch::Receiver<Vec<ShardProgress>> {
        self.0.subscribe()
    }

    /// Every lane: its shard, its number, and the position up to which it is settled.
    pub(crate) fn lanes(&self) -> Vec<(u16, u16, SequenceNumber)> {
        let mut lanes = Vec::new();
        for (shard, state) in (0..).zip(self.0.borrow().iter()) {
            lanes.extend((0..).zip(&state.lanes).map(|(lane, position)| (shard, lane, position.settled)));
        }
        lanes
    }

    /// True if every record that the stream holds is settled.
    pub(crate) fn is_idle(&self, stream: &Stream) -> bool {
        let shards = self.0.borrow();
        (0u16..).zip(shards.iter()).all(|(number, shard)| {
            let latest = stream.latest(number);
            shard.lanes.iter().all(|lane| lane.settled >= latest)
        })
    }

    pub(crate) fn checkpoints(&self, stream: &Stream) -> Checkpoints {
        let lanes = |shard: &ShardProgress| shard.lanes.iter().map(|lane| lane.settled).collect();
        Checkpoints::new(stream.arn(), self.0.borrow().iter().map(lanes).collect())
    }

    /// The counts of each shard, with the age of its oldest unsettled record.
    pub(crate) fn statistics(&self, stream: &Stream) -> Vec<ShardStatistics> {
        let now = stream.now_micros();
        let shards = self.0.borrow();
        let statistics = |(number, shard): (u16, &ShardProgress)| {
            let oldest = shard.lanes.iter().filter_map(|lane| lane.oldest_micros(stream, number)).min();
            let age = oldest.map_or(0, |micros| now.saturating_sub(micros));
            ShardStatistics { iterator_age: Duration::from_micros(age), ..shard.counts }
        };
        (0u16..).zip(shards.iter()).map(statistics).collect()
    }
}

impl LanePosition {
    /// The time of the lane's oldest unsettled record. A lane without a batch assumes that the shard's next record
    /// belongs to it.
    fn oldest_micros(&self, stream: &Stream, shard: u16) -> Option<u64> {
        self.at_hand_micros.or_else(|| {
            let next = stream.read(shard, self.settled, 1, u64::MAX);
            next.records.first().map(|record| record.at_micros)
        })
    }
}
