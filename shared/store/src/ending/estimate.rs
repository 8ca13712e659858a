//! The estimate of a topic's deletion, and of its price: counted by the directory and a sample.

use lately_keys::table::EventPartition;
use lately_keys::{Bucket, EventId, Shard, UnixMillis};
use lately_model::DeletionEstimate;
use lately_table::{Item, Query, TableError};

use crate::directory::{Directory, Entry};
use crate::event::decode;
use crate::limits::{
    ENDING_EVENTS_PER_STEP, ESTIMATE_BUCKETS, ESTIMATE_DIRECTORY_ENTRIES, ESTIMATE_DIRECTORY_QUERIES,
    ESTIMATE_EVENTS,
};
use crate::topic::{TopicError, TopicHandle};

/// A partition of which the newest events were read.
struct SampledPartition {
    /// The number of events in the partition, as far as the events that were read tell.
    events: u64,
    /// The events that were read, and the write units and 4-KB units of these.
    read: u64,
    write_units: u64,
    bytes: u64,
}

impl TopicHandle<'_> {
    /// Counts what a deletion of the topic would delete. The directory is read, and of some partitions the newest
    /// events. Copies in feeds are not counted: their number is known only when they are looked for.
    ///
    /// # Errors
    /// See [`TopicError`].
    pub async fn estimate_deletion(self) -> Result<DeletionEstimate, TopicError> {
        let (topic, stored) = (self.topic, self.stored().await?);
        let entries = self.entries().await?;
        let consumers = self.announcements().await?.len() as u64;
        let shards = |entry: &Entry| {
            entry.coverage.shards_within(entry.bucket.first(), entry.bucket.last()).len() as u64
        };
        let partitions: u64 = entries.iter().map(shards).sum();
        let every = entries.len().div_ceil(ESTIMATE_BUCKETS).max(1);
        let (mut sampled, mut of_sample, mut in_sample) = (Vec::new(), 0, 0);
        for entry in entries.iter().step_by(every) {
            let partition = self.sample(entry.bucket, stored.oldest_kept(self.op.now())).await?;
            of_sample += shards(entry);
            in_sample += partition.events * shards(entry);
            sampled.push(partition);
        }
        let sum = |of: fn(&SampledPartition) -> u64| sampled.iter().map(of).sum::<u64>();
        let events = (in_sample * partitions).checked_div(of_sample).unwrap_or_default();
        let read = sum(|partition| partition.read).max(1);
        let sources = u64::from(stored.settings.views.actor) + u64::from(stored.settings.views.subject);
        let steps = events / ENDING_EVENTS_PER_STEP as u64 + 1;
        let ids = 1 + 16 * ENDING_EVENTS_PER_STEP as u64 / 1024;
        let write_units = (events * sum(|partition| partition.write_units)).div_ceil(read)
            + events * sources
            + entries.len() as u64
            + steps * ids;
        let read_units = (events * sum(|partition| partition.bytes)).div_ceil(read * 4096) + partitions;
        Ok(DeletionEstimate {
            topic: topic.clone(),
            buckets: entries.len() as u64,
            partitions,
            sampled: sampled.len() as u64,
            events,
            consumers,
            read_units,
            write_units,
        })
    }

    /// The entries of the directory, newest first: all, unless there are very many.
    async fn entries(self) -> Result<Vec<Entry>, TableError> {
        let directory = Directory::of(self.op, self.topic);
        let (mut entries, mut newest) = (Vec::new(), None);
        for _ in 0..ESTIMATE_DIRECTORY_QUERIES {
            let page = directory.remaining(newest, ESTIMATE_DIRECTORY_ENTRIES).await?;
            entries.extend(page.entries);
            newest = entries.last().and_then(|last: &Entry| last.bucket.previous());
            if !page.more || newest.is_none() {
                break;
            }
        }
        Ok(entries)
    }

    /// Reads the newest events of the first partition of a bucket.
    async fn sample(self, bucket: Bucket, oldest: UnixMillis) -> Result<SampledPartition, TableError> {
        let partition = EventPartition { topic: self.topic.clone(), bucket, shard: Shard::from(0) };
        let query = Query::partition(partition.to_string()).limit(ESTIMATE_EVENTS);
        let page = self.op.table.query(&query).await?;
        self.op.table.meter().items(page.read);
        let ids: Vec<EventId> =
            page.items.iter().map(|item| decode(item).map(|event| event.id)).collect::<Result<_, _>>()?;
        let sizes = page.items.iter().map(Item::stored_bytes);
        let read = ids.len() as u64;
        // The rest of the bucket is taken to be as full as the part that was read.
        let events = match (page.next, ids.first(), ids.last()) {
            (Some(_), Some(first), Some(last)) => {
                let millis = |from: UnixMillis, to: UnixMillis| to.get().saturating_sub(from.get()).max(1);
                let seen = millis(last.at(), first.at());
                let whole = millis(bucket.first().max(oldest), first.at());
                read * whole / seen
            }
            _ => read,
        };
        Ok(SampledPartition {
            events,
            read,
            write_units: sizes.clone().map(|bytes| bytes.div_ceil(1024) as u64).sum(),
            bytes: sizes.map(|bytes| bytes as u64).sum(),
        })
    }
}
