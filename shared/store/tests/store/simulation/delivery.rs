//! The delivery of a story's records to fan-out: lane by lane, in batches of any size, some of them twice, and old ones
//! again.

use std::time::Duration;

use futures_util::future::join_all;
use lately_engine::stream::{Record as Change, SequenceNumber};
use lately_items::{AnyKey, BacklogItem};
use lately_keys::EventId;
use lately_store::Record;

use crate::scene::key;
use crate::simulation::knobs::ANSWERED_WITHIN;
use crate::simulation::story::Story;
use crate::support::{TABLE, pass};

/// A part of a shard's items, whose records are delivered in order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StoryLane {
    shard: u16,
    number: u16,
    /// The number of lanes of the shard.
    of: u16,
}

impl StoryLane {
    const fn whole(shard: u16) -> Self {
        Self { shard, number: 0, of: 1 }
    }
}

impl Story {
    /// The lanes of all shards. One lane keeps the order of a shard. Several keep the order of an item only, as Lambda
    /// does.
    pub(super) fn lanes(&self) -> Vec<StoryLane> {
        let of = if self.seed.is_multiple_of(4) { 1 } else { 3 };
        self.shards().flat_map(|shard| (0..of).map(move |number| StoryLane { shard, number, of })).collect()
    }

    fn shards(&self) -> std::ops::Range<u16> {
        0..self.engine.stream(TABLE).unwrap().shards()
    }

    /// The last record of a lane that was handled.
    fn handled(&self, lane: StoryLane) -> SequenceNumber {
        self.state.borrow().handled.get(&lane).copied().unwrap_or(SequenceNumber::START)
    }

    fn set_handled(&self, lane: StoryLane, handled: SequenceNumber) {
        self.state.borrow_mut().handled.insert(lane, handled);
    }

    fn is_behind(&self, lane: StoryLane) -> bool {
        self.handled(lane) < self.engine.stream(TABLE).unwrap().latest(lane.shard)
    }

    /// Delivers records of a lane behind a position. Returns the position up to which they were handled.
    async fn deliver(
        &self,
        lane: StoryLane,
        after: SequenceNumber,
        records: usize,
        faulty: bool,
    ) -> SequenceNumber {
        let stream = self.engine.stream(TABLE).unwrap();
        let read = stream.read(lane.shard, after, usize::MAX, u64::MAX);
        let mut batch = read.records;
        batch.retain(|record| stream.item_hash(record) % u64::from(lane.of) == u64::from(lane.number));
        if batch.is_empty() {
            return read.next;
        }
        let next = batch.get(records).map_or(read.next, |_| batch[records - 1].sequence);
        batch.truncate(records);
        let (client, store) = self.process(faulty);
        let seconds = if faulty { self.one(&[1, 3, 30]) } else { 60 };
        let parsed = Record::batch(stream.lambda_event(&batch).as_bytes()).unwrap();
        let asked = tokio::time::Instant::now();
        let outcome = client.run(store.op_within(Duration::from_secs(seconds)).fan_out(&parsed)).await;
        let is_held_up = !faulty && self.has_hot_partitions() && asked.elapsed() > ANSWERED_WITHIN;
        assert!(!is_held_up, "a batch was answered after {:?}", asked.elapsed());
        let now = stream.all().last().map_or(0, |record| record.sequence.0);
        let pushed = batch.iter().flat_map(|record| self.pushed_by(record)).map(|id| (id, now));
        self.state.borrow_mut().pushed.extend(pushed);
        let Some(outcome) = outcome else { return after };
        let Some(failed) = outcome.failed else { return next };
        let failed: SequenceNumber = failed.parse().unwrap();
        let before = batch.iter().map(|record| record.sequence);
        before.take_while(|sequence| *sequence < failed).last().unwrap_or(after)
    }

    /// The events that the handling of a record may push. For a backlog, these are all events that it ever had.
    fn pushed_by(&self, record: &Change) -> Vec<EventId> {
        match key(&record.keys()) {
            AnyKey::Event(key) => vec![key.id()],
            AnyKey::Job(key) => vec![key.job.id],
            AnyKey::Backlog(ours) => {
                let all = self.engine.stream(TABLE).unwrap().all();
                let of_ours = all.iter().filter_map(|record| match key(&record.keys()) {
                    AnyKey::Backlog(other) if other.backlog == ours.backlog => record.new_image(),
                    _ => None,
                });
                let events = of_ours.flat_map(|item| BacklogItem::decode(&item.into()).unwrap().events);
                events.map(|event| event.id).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Delivers one lane's records, batch by batch. Sometimes a batch is delivered twice.
    pub(super) async fn lane(&self, lane: StoryLane) {
        if self.shard_behind() == Some(lane.shard) {
            return;
        }
        while self.goes_on() {
            if self.is_behind(lane) {
                let (records, faulty) = (self.draw(|random| random.usize(1..=20)), self.once_in(2));
                let handled = self.deliver(lane, self.handled(lane), records, faulty).await;
                if !self.once_in(8) {
                    self.set_handled(lane, handled);
                }
            }
            pass(Duration::from_millis(self.one(&[1, 5, 20, 200]))).await;
        }
    }

    /// Delivers old records again while everything else goes on, as a redrive from the failure destination does.
    pub(super) async fn redrive(&self) {
        while self.goes_on() {
            let shard = self.draw(|random| random.u16(self.shards()));
            let stream = self.engine.stream(TABLE).unwrap();
            let all = stream.read(shard, SequenceNumber::START, usize::MAX, u64::MAX).records;
            let lanes = self.lanes().into_iter().filter(|lane| lane.shard == shard);
            let handled = lanes.map(|lane| self.handled(lane)).max();
            let old = all.iter().map(|record| record.sequence).filter(|old| Some(*old) < handled);
            let old: Vec<_> = old.collect();
            if !old.is_empty() {
                let (after, records) = (self.one(&old), self.one(&[1, 3, 5]));
                self.deliver(StoryLane::whole(shard), after, records, false).await;
            }
            pass(Duration::from_millis(self.one(&[5, 500, 30_000]))).await;
        }
    }

    /// Delivers all remaining records without faults.
    pub(super) async fn settle(&self) {
        self.settle_lanes(self.lanes()).await;
    }

    /// Delivers all remaining records without faults, but for those of the shard that is behind.
    pub(super) async fn settle_others(&self) {
        let held_back = self.shard_behind();
        let others = self.lanes().into_iter().filter(|lane| Some(lane.shard) != held_back);
        self.settle_lanes(others.collect()).await;
    }

    async fn settle_lanes(&self, lanes: Vec<StoryLane>) {
        for _ in 0..500 {
            let behind: Vec<_> = lanes.iter().copied().filter(|lane| self.is_behind(*lane)).collect();
            if behind.is_empty() {
                return;
            }
            let deliveries = behind.iter().map(|lane| self.deliver(*lane, self.handled(*lane), 50, false));
            let handled = join_all(deliveries.collect::<Vec<_>>()).await;
            for (lane, handled) in behind.into_iter().zip(handled) {
                self.set_handled(lane, handled);
            }
            self.expire();
        }
        panic!("the table has not settled after 500 rounds");
    }

    /// Delivers all records once more, as a redrive does.
    pub(super) async fn deliver_again(&self) {
        for shard in self.shards() {
            self.deliver(StoryLane::whole(shard), SequenceNumber::START, usize::MAX, false).await;
        }
        self.settle().await;
    }
}
