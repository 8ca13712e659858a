//! Late events: an event that is stored behind the position that a consumer has announced is recorded in the consumer's
//! ledger. If the topic is followed live, its followers get a note of events that are stored seconds after their time
//! (`live/watch.rs`). The watch of the followers comes with the announcements, at no further price.
//!
//! This holds for every new event, whatever views its topic keeps. A batch reads the announcements of a topic once,
//! after the batch was received, and so after all of its events were inserted. An event at or before an announced position is
//! a candidate. For a consumer that produces reports, the event is no candidate if it was inserted so long before the
//! announcement of the run that covers the event that the run has read it. The stream record says when the event
//! was inserted, so the result is the same whenever the record is handled.
//!
//! With the announcements come the markers of a running deletion or retention change (`ending/`): events that are stored
//! in a deleted topic are deleted, and events that are stored with an earlier retention get the new expiry, as do the
//! directory's entries for them.
//!
//! An attempt to write an event may time out and be carried out later, after another attempt and a deletion. So the deletion
//! of a young event is noted, and an event that is stored late although its deletion was noted is deleted again. The order
//! of an item's records makes this certain.
//!
//! Events of erased actors are deleted (`kinds/erasure/inserted.rs`). The list of erasures is read once for the batch.
//!
//! These rules must hold. An entry is put before its partition is counted. A partition is counted also if the entry was
//! there already and still waits, because the process that put it may have died before it counted. A record is handled
//! when both writes are durable.

use std::collections::{BTreeMap, BTreeSet};

use lately_items::{Announcement, DeletedEventKey, DirectoryKey, EndingMark, EventKey, LateEventKey};
use lately_keys::{EventId, TableKey, Topic};
use lately_table::TableError;
use tokio::sync::OnceCell;

use crate::at_once::{collect_all, complete_all, run_each};
use crate::erasure::actors::ErasedActors;
use crate::fan_out::batch::FanOut;
use crate::fan_out::kinds::erasure::erase_event;
use crate::fan_out::kinds::retention::stamp_event;
use crate::fan_out::plan;
use crate::fan_out::record::{InsertedEvent, Record, TopicNews};
use crate::limits::{CLOCKS_APART_MILLIS, NOTED_AFTER_MILLIS, RAILS_AT_ONCE, WRITE_MILLIS, WRITES_AT_ONCE};
use crate::run::cover::Covering;
use crate::work::delete_each;

impl FanOut<'_> {
    /// Notes the late events of some records. Returns the indexes of the records that must come again: those of events that
    /// could not be noted for a consumer; or, if something else fails in a topic, all records with news of the topic.
    pub(super) async fn note_late(self, records: &[Record]) -> BTreeSet<usize> {
        let mut by_topic: BTreeMap<&Topic, Vec<(usize, &TopicNews)>> = BTreeMap::new();
        for (index, record) in records.iter().enumerate() {
            if let Some(news) = &record.news {
                by_topic.entry(news.topic()).or_default().push((index, news));
            }
        }
        let erased = OnceCell::new();
        let topics = by_topic.into_iter().map(async |(topic, mut news)| {
            let noted = self.note_in_topic(topic, &news, &erased).await;
            let noted =
                noted.inspect_err(|error| tracing::warn!(%error, %topic, "late events were not noted"));
            news.retain(|(_, news)| match (&noted, news) {
                (Ok(unnoted), TopicNews::Inserted(event)) => unnoted.contains(&event.key.id()),
                (noted, _) => noted.is_err(),
            });
            news
        });
        let failed = complete_all(RAILS_AT_ONCE, topics).await.into_iter().flatten();
        failed.map(|(index, _)| index).collect()
    }

    /// Notes the late events of one topic. Returns those that could not be noted for a consumer.
    async fn note_in_topic(
        self,
        topic: &Topic,
        news: &[(usize, &TopicNews)],
        erased: &OnceCell<ErasedActors>,
    ) -> Result<BTreeSet<EventId>, TableError> {
        let (mut inserted, mut opened, mut deletions) = (Vec::new(), Vec::new(), Vec::new());
        for (_, news) in news {
            match news {
                TopicNews::Inserted(event) => inserted.push(event),
                TopicNews::Opened(key) => opened.push(key),
                TopicNews::Deleted(key) => deletions.push(self.op.event(topic, key.id()).note_deletion()),
            }
        }
        run_each(WRITES_AT_ONCE, deletions).await?;
        if inserted.is_empty() && opened.is_empty() {
            return Ok(BTreeSet::new());
        }
        let erased = match inserted.is_empty() {
            true => &ErasedActors::default(),
            false => erased.get_or_try_init(|| self.op.erasures().erased_actors()).await?,
        };
        let announced = self.op.consumers(topic).announced().await?;
        for mark in &announced.marks {
            self.apply_mark(mark, &inserted, &opened).await?;
        }
        if announced.marks.iter().any(|mark| matches!(mark, EndingMark::Deletion { .. })) {
            return Ok(BTreeSet::new());
        }
        let is_erased = |inserted: &&InsertedEvent| {
            inserted.actor.as_ref().is_some_and(|actor| erased.cover(actor, inserted.key.id().at()))
        };
        let (gone, inserted): (Vec<_>, Vec<_>) = inserted.into_iter().partition(is_erased);
        for inserted in gone {
            erase_event(self.op, &inserted.key).await?;
        }
        self.delete_again(topic, &inserted).await?;
        if announced.is_watched {
            // The time of the insert is rounded down to a second, so an event that was inserted two seconds after its time
            // is always noted. Followers recognise some earlier ones.
            let late = inserted.iter().filter(|inserted| inserted.is_later_than(NOTED_AFTER_MILLIS));
            let late = late.map(|inserted| inserted.key.id()).collect();
            self.op.live_notes().put_in_topic(topic, &late).await;
        }
        let mut unnoted = BTreeSet::new();
        for announcement in announced.consumers {
            let (mut covering, mut candidates) = (Covering::default(), Vec::new());
            for inserted in &inserted {
                if self.is_candidate(&announcement, inserted, &mut covering).await? {
                    candidates.push(inserted.key.id());
                }
            }
            if let Err(error) = self.note_for(&announcement, &candidates).await {
                tracing::warn!(%error, %topic, "late events were not noted for a consumer");
                unnoted.extend(candidates);
            }
        }
        Ok(unnoted)
    }

    /// Deletes what was inserted into a deleted topic, or gives it the expiry of another retention, because its writer
    /// did not know of the change. A new entry of the directory then stays at least as long as its events.
    async fn apply_mark(
        self,
        mark: &EndingMark,
        inserted: &[&InsertedEvent],
        opened: &[&DirectoryKey],
    ) -> Result<(), TableError> {
        match mark {
            EndingMark::Deletion { begun, is_done } => {
                // The walk finds and counts earlier events. The stream's clock and that of the process that began
                // the deletion may differ.
                let is_later =
                    |inserted: &&&InsertedEvent| inserted.at.saturating_add(CLOCKS_APART_MILLIS) >= *begun;
                let events = inserted.iter().filter(is_later).map(|inserted| inserted.key.encode());
                // While the walk goes on, it needs the entries, and deletes them.
                let opened = opened.iter().filter(|_| *is_done).map(|key| key.encode());
                delete_each(self.op, events.chain(opened).collect()).await
            }
            EndingMark::Retention(days) => {
                let stamp = |InsertedEvent { key, expires_at, .. }: &_| {
                    stamp_event(self.op, key.encode(), *expires_at, key.id(), *days)
                };
                run_each(WRITES_AT_ONCE, inserted.iter().copied().map(stamp)).await?;
                // A reader shows no event for longer than the bucket's entry says.
                let keep = async |key: &&DirectoryKey| {
                    let directory = self.op.directory(&key.topic);
                    match directory.stored_entry(key.bucket).await?.filter(|entry| !entry.outlives(*days)) {
                        Some(entry) => directory.keep(&entry, *days).await.map(drop),
                        None => Ok(()),
                    }
                };
                run_each(WRITES_AT_ONCE, opened.iter().map(keep)).await
            }
        }
    }

    /// Deletes the events that were stored late although their deletion was noted.
    async fn delete_again(self, topic: &Topic, inserted: &[&InsertedEvent]) -> Result<(), TableError> {
        // The time of the insert is rounded down to a second, and an attempt takes seconds to time out.
        let is_late = |inserted: &InsertedEvent| {
            let at = inserted.key.id().at();
            inserted.is_later_than(NOTED_AFTER_MILLIS) && inserted.at <= at.saturating_add(WRITE_MILLIS)
        };
        let late: Vec<_> = inserted.iter().filter(|inserted| is_late(inserted)).collect();
        let note = |key: &EventKey| DeletedEventKey { topic: topic.clone(), id: key.id() }.encode();
        let notes: Vec<_> = late.iter().map(|late| note(&late.key)).collect();
        let noted = self.op.table.existing(&notes).await?;
        let deleted = late.iter().zip(&notes).filter(|(_, note)| noted.contains(note));
        delete_each(self.op, deleted.map(|(late, _)| late.key.encode()).collect()).await
    }

    /// Notes the candidates of one consumer, and then counts them. If the consumer was deleted meanwhile, they are dropped.
    async fn note_for(self, announced: &Announcement, candidates: &[EventId]) -> Result<(), TableError> {
        let Announcement { consumer, incarnation, .. } = announced;
        let ledger = self.op.incarnation(consumer, *incarnation);
        let notes = candidates.iter().map(async |id| ledger.note(*id).await);
        let waits = collect_all(WRITES_AT_ONCE, notes).await?;
        let noted = candidates.iter().zip(waits).filter(|(_, waits)| *waits);
        let noted: Vec<_> = noted.map(|(id, _)| *id).collect();
        if noted.is_empty() {
            return Ok(());
        }
        let shards: BTreeSet<u8> = noted.iter().map(|id| LateEventKey::shard(*id)).collect();
        match ledger.count(&shards.into_iter().collect::<Vec<_>>()).await? {
            true => self.done.add(|all| all.late += noted.len() as u64),
            false => ledger.drop(&noted).await?,
        }
        Ok(())
    }

    /// True if a consumer may have read past an event's position before the event was inserted.
    async fn is_candidate(
        self,
        announced: &Announcement,
        inserted: &InsertedEvent,
        covering: &mut Covering,
    ) -> Result<bool, TableError> {
        let Announcement { consumer, incarnation, start, to, run, .. } = announced;
        let id = inserted.key.id();
        if id <= *start || id > *to {
            return Ok(false);
        }
        let Some((from, at)) = run else { return Ok(true) };
        if id > *from {
            return Ok(plan::may_be_missed(inserted.at, *at));
        }
        let consumer = self.op.incarnation(consumer, *incarnation);
        let run = covering.run_of(consumer, id).await?;
        Ok(run.is_none_or(|run| plan::may_be_missed(inserted.at, run.announced_at)))
    }
}

impl InsertedEvent {
    /// True if the event was inserted this long after its time, or later.
    fn is_later_than(&self, millis: u64) -> bool {
        self.at >= self.key.id().at().saturating_add(millis)
    }
}
