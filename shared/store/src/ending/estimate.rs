//! The estimate of a topic's deletion, and of its price: counted by the directory and a sample.

use lately_keys::table::EventPartition;
use lately_keys::{Bucket, EventId, Shard, SortKey, UnixMillis};
use lately_model::DeletionEstimate;
use lately_table::{Item, Page as QueryPage, Query, TableError};

use crate::directory::{Directory, Entry};
use crate::limits::{
    ENDING_EVENTS_PER_STEP, ESTIMATE_BUCKETS, ESTIMATE_DIRECTORY_ENTRIES, ESTIMATE_DIRECTORY_QUERIES,
    ESTIMATE_EVENTS, ESTIMATE_PROBES,
};
use crate::topic::{TopicError, TopicHandle};

/// A partition of which some events were read.
#[derive(Default)]
struct SampledPartition {
    /// The number of events in the partition, as far as the events that were read tell.
    events: u64,
    /// The number of events that were read, the write units that they took, and their bytes.
    read: u64,
    write_units: u64,
    bytes: u64,
}

impl TopicHandle<'_> {
    /// Counts what a deletion of the topic would delete. The directory is read, and some events of some partitions.
    /// Copies in feeds are not counted: their number is known only when they are looked for.
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
            let partition = self.sample(entry.bucket).await?;
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

    /// Reads some events of the first partition of a bucket: the newest if these are all, else some at even distances.
    async fn sample(self, bucket: Bucket) -> Result<SampledPartition, TableError> {
        let partition =
            EventPartition { topic: self.topic.clone(), bucket, shard: Shard::from(0) }.to_string();
        let newest = self.probe(&partition, bucket.last()).await?;
        let mut sampled = SampledPartition::default();
        let (Some(_), Some(last)) = (&newest.next, newest.items.first()) else {
            sampled.add(&newest.items);
            sampled.events = sampled.read;
            return Ok(sampled);
        };
        let (newest_at, oldest) = (id_of(last)?.at(), self.oldest(&partition).await?);
        let whole = newest_at.get().saturating_sub(oldest.get());
        let mut seen = 0;
        for probe in 0..ESTIMATE_PROBES {
            let at = newest_at.saturating_sub(whole * (2 * probe + 1) / (2 * ESTIMATE_PROBES));
            let page = self.probe(&partition, at).await?;
            sampled.add(&page.items);
            seen += match (page.next, page.items.last()) {
                (Some(_), Some(last)) => at.get().saturating_sub(id_of(last)?.at().get()),
                _ => at.get().saturating_sub(oldest.get()),
            };
        }
        // The rest of the partition is taken to be as full as the parts that were read.
        let events = u128::from(sampled.read) * u128::from(whole) / u128::from(seen.max(1));
        sampled.events = u64::try_from(events).unwrap_or(u64::MAX).max(sampled.read);
        Ok(sampled)
    }

    /// The events of a partition from a moment back.
    async fn probe(self, partition: &str, from: UnixMillis) -> Result<QueryPage, TableError> {
        let after = EventId::last_of(from).sort_key().to_string();
        let query = Query::partition(partition).after(after).limit(ESTIMATE_EVENTS);
        let page = self.op.table.query(&query).await?;
        self.op.table.meter().items(page.read);
        Ok(page)
    }

    /// The time of the oldest event of a partition.
    async fn oldest(self, partition: &str) -> Result<UnixMillis, TableError> {
        let query = Query::partition(partition).backward(true).limit(1_u16);
        let page = self.op.table.query(&query).await?;
        let oldest = page.items.first().map(id_of).transpose()?;
        Ok(oldest.map_or(UnixMillis::MIN, EventId::at))
    }
}

impl SampledPartition {
    fn add(&mut self, items: &[Item]) {
        let sizes = items.iter().map(|item| item.stored_bytes() as u64);
        self.read += items.len() as u64;
        self.write_units += sizes.clone().map(|bytes| bytes.div_ceil(1024)).sum::<u64>();
        self.bytes += sizes.sum::<u64>();
    }
}

fn id_of(item: &Item) -> Result<EventId, TableError> {
    Ok(item.parsed::<SortKey>("sk")?.id())
}
