//! The lanes' progress: the position up to which each lane is settled, and counts per shard.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use crate::checkpoint::Checkpoints;
use lately_engine::stream::{SequenceNumber, Stream};

/// The counts of a shard since the pump was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ShardStatistics {
    /// Records that the function did.
    pub delivered: u64,
    /// Records that the filter kept from it.
    pub filtered: u64,
    /// Invocations of the function.
    pub invocations: u64,
    /// Failed invocations: by an error, or by the response.
    pub failures: u64,
    /// Retries of a batch, or of its rest.
    pub retries: u64,
    /// Batches that were split instead.
    pub bisects: u64,
    /// Records that were given up and are in the destination.
    pub in_destination: u64,
    /// Records that were given up and had no destination.
    pub dropped: u64,
    /// Times that a lane found records trimmed by retention before it had done them.
    pub trimmed: u64,
    /// Invocations at work now.
    pub in_flight: u64,
    /// The age of the oldest record that is not settled; zero when all are.
    pub iterator_age: Duration,
}

#[derive(Debug)]
pub(crate) struct Progress {
    shards: Mutex<Vec<ShardProgress>>,
    settled: watch::Sender<()>,
}

#[derive(Debug)]
struct ShardProgress {
    counts: ShardStatistics,
    lanes: Vec<LanePosition>,
}

#[derive(Debug, Clone, Copy)]
struct LanePosition {
    /// Everything of the lane up to here is done.
    settled: SequenceNumber,
    /// When the oldest record that it has at hand was made.
    at_hand_micros: Option<u64>,
}

impl Progress {
    /// Lanes that are settled up to these positions.
    pub(crate) fn new(positions: Vec<Vec<SequenceNumber>>) -> Self {
        let place = |settled| LanePosition { settled, at_hand_micros: None };
        let shard = |lanes: Vec<SequenceNumber>| ShardProgress {
            counts: ShardStatistics::default(),
            lanes: lanes.into_iter().map(place).collect(),
        };
        Self {
            shards: Mutex::new(positions.into_iter().map(shard).collect()),
            settled: watch::Sender::new(()),
        }
    }

    fn shards(&self) -> MutexGuard<'_, Vec<ShardProgress>> {
        self.shards.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts something.
    pub(crate) fn count(&self, shard: u16, count: impl FnOnce(&mut ShardStatistics)) {
        count(&mut self.shards()[usize::from(shard)].counts);
    }

    /// A lane has records at hand, the oldest made at that time; or none.
    pub(crate) fn at_hand(&self, shard: u16, lane: u16, micros: Option<u64>) {
        self.shards()[usize::from(shard)].lanes[usize::from(lane)].at_hand_micros = micros;
    }

    /// A lane is settled up to there.
    pub(crate) fn settle(&self, shard: u16, lane: u16, up_to: SequenceNumber) {
        let mut shards = self.shards();
        let settled = &mut shards[usize::from(shard)].lanes[usize::from(lane)].settled;
        if *settled != up_to {
            *settled = up_to;
            self.settled.send_replace(());
        }
    }

    /// Changes whenever a lane gets further.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.settled.subscribe()
    }

    /// Every lane, by shard and number, with where it is.
    pub(crate) fn lanes(&self) -> Vec<(u16, u16, SequenceNumber)> {
        let mut lanes = Vec::new();
        for (shard, state) in (0..).zip(self.shards().iter()) {
            lanes.extend((0..).zip(&state.lanes).map(|(lane, place)| (shard, lane, place.settled)));
        }
        lanes
    }

    /// True if every record that the stream holds is settled.
    pub(crate) fn is_idle(&self, stream: &Stream) -> bool {
        let shards = self.shards();
        (0u16..).zip(shards.iter()).all(|(number, shard)| {
            let latest = stream.latest(number);
            shard.lanes.iter().all(|lane| lane.settled >= latest)
        })
    }

    pub(crate) fn checkpoints(&self, stream: &Stream) -> Checkpoints {
        let lanes = |shard: &ShardProgress| shard.lanes.iter().map(|lane| lane.settled).collect();
        Checkpoints { stream: stream.arn().to_owned(), lanes: self.shards().iter().map(lanes).collect() }
    }

    /// The counts of each shard, and how old its iterators are.
    pub(crate) fn statistics(&self, stream: &Stream) -> Vec<ShardStatistics> {
        let now = stream.now_micros();
        let shards = self.shards();
        let statistics = |(number, shard): (u16, &ShardProgress)| {
            let oldest = shard.lanes.iter().filter_map(|lane| lane.oldest_micros(stream, number)).min();
            let age = oldest.map_or(0, |micros| now.saturating_sub(micros));
            ShardStatistics { iterator_age: Duration::from_micros(age), ..shard.counts }
        };
        (0u16..).zip(shards.iter()).map(statistics).collect()
    }
}

impl LanePosition {
    /// When the oldest record was made that is not settled. A lane that has read nothing yet takes the
    /// shard's next record for its own.
    fn oldest_micros(&self, stream: &Stream, shard: u16) -> Option<u64> {
        self.at_hand_micros.or_else(|| {
            let next = stream.read(shard, self.settled, 1, u64::MAX);
            next.records.first().map(|record| record.at_micros())
        })
    }
}
