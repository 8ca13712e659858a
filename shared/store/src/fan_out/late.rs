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
//! in a deleted topic are deleted, and events that are stored with an earlier retention get the new expiry.
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

use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::{self, StreamExt};
use lately_items::{Announcement, DeletedEventKey, DirectoryKey, EndingMark, LateEventKey};
use lately_keys::{EventId, TableKey, Topic};
use lately_table::TableError;

use crate::consumer::Incarnation;
use crate::erasure::actors::ErasedActors;
use crate::fan_out::batch::{Done, count};
use crate::fan_out::kinds::erasure::erase_event;
use crate::fan_out::kinds::retention::stamp_event;
use crate::fan_out::plan;
use crate::fan_out::record::{InsertedEvent, Record};
use crate::limits::{CLOCKS_APART_MILLIS, NOTED_AFTER_MILLIS, RAILS_AT_ONCE, WRITE_MILLIS, WRITES_AT_ONCE};
use crate::op::Op;
use crate::run::cover::Covering;

/// A record's place in the batch, and the record's event.
type Insertion<'a> = (usize, &'a InsertedEvent);

/// The news of one topic.
#[derive(Default)]
struct NewInTopic<'a> {
    inserted: Vec<Insertion<'a>>,
    /// Entries of the directory, with the places of their records.
    opened: Vec<(usize, &'a DirectoryKey)>,
}

impl NewInTopic<'_> {
    /// The places of all records.
    fn places(&self) -> impl Iterator<Item = usize> {
        let opened = self.opened.iter().map(|(place, _)| *place);
        self.inserted.iter().map(|(place, _)| *place).chain(opened)
    }
}

/// Notes late events for one batch of records.
#[derive(Clone, Copy)]
pub(super) struct LateNotes<'a> {
    pub(super) op: &'a Op,
    pub(super) done: &'a Done,
}

impl LateNotes<'_> {
    /// Notes the late events of some records. Returns the places of the records for which this failed.
    pub(super) async fn note(&self, records: &[Record]) -> BTreeSet<usize> {
        let mut by_topic: BTreeMap<&Topic, NewInTopic<'_>> = BTreeMap::new();
        for (place, record) in records.iter().enumerate() {
            if let Some(inserted) = &record.inserted {
                let topic = &inserted.key.partition().topic;
                by_topic.entry(topic).or_default().inserted.push((place, inserted));
            }
            if let Some(opened) = &record.opened {
                by_topic.entry(&opened.topic).or_default().opened.push((place, opened));
            }
        }
        let mut unnoted = self.note_deletions(records).await;
        let erased = match records.iter().any(|record| record.inserted.is_some()) {
            true => self.op.erasures().erased_actors().await,
            false => Ok(ErasedActors::default()),
        };
        let erased = match erased {
            Ok(erased) => erased,
            // A new entry of a directory may be one of a deleted topic. So its record is delivered again, too.
            Err(error) => {
                unnoted.extend(failed(by_topic.values().flat_map(NewInTopic::places), &error));
                return unnoted;
            }
        };
        let topics = by_topic.into_iter().map(|(topic, new)| self.note_in_topic(topic, new, &erased));
        let topics: Vec<_> = topics.collect();
        let failed = stream::iter(topics).buffer_unordered(RAILS_AT_ONCE).collect::<Vec<_>>().await;
        unnoted.extend(failed.into_iter().flatten());
        unnoted
    }

    /// Notes the deletions of young events. Returns the places of the records for which this failed.
    async fn note_deletions(&self, records: &[Record]) -> BTreeSet<usize> {
        let deleted =
            records.iter().enumerate().filter_map(|(place, record)| Some((place, record.deleted.as_ref()?)));
        let notes: Vec<_> = deleted
            .map(async |(place, key)| {
                let noted = self.op.topic(&key.partition().topic).note_deletion(key.id()).await;
                noted.err().map(|error| failed([place], &error))
            })
            .collect();
        let unnoted = stream::iter(notes).buffer_unordered(WRITES_AT_ONCE).collect::<Vec<_>>().await;
        unnoted.into_iter().flatten().flatten().collect()
    }

    /// Deletes the events that were stored late although their deletion was noted. Returns the places of the records for
    /// which this failed.
    async fn delete_again(&self, topic: &Topic, inserted: &[Insertion<'_>]) -> BTreeSet<usize> {
        // The time of the insert is rounded down to a second, and an attempt takes seconds to time out.
        let is_late = |inserted: &InsertedEvent| {
            let at = inserted.key.id().at();
            let late = at.saturating_add(NOTED_AFTER_MILLIS)..=at.saturating_add(WRITE_MILLIS);
            late.contains(&inserted.at)
        };
        let late: Vec<_> = inserted.iter().filter(|(_, inserted)| is_late(inserted)).collect();
        let note = |id| DeletedEventKey { topic: topic.clone(), id }.encode();
        let notes: Vec<_> = late.iter().map(|(_, inserted)| note(inserted.key.id())).collect();
        let noted = match self.op.table.existing(&notes).await {
            Ok(noted) => noted,
            Err(error) => return failed(late.iter().map(|(place, _)| *place), &error),
        };
        let mut undeleted = BTreeSet::new();
        for (place, inserted) in late {
            if noted.contains(&note(inserted.key.id()))
                && let Err(error) = self.op.table.delete(inserted.key.encode()).await
            {
                undeleted.extend(failed([*place], &error));
            }
        }
        undeleted
    }

    async fn note_in_topic(
        &self,
        topic: &Topic,
        new: NewInTopic<'_>,
        erased: &ErasedActors,
    ) -> BTreeSet<usize> {
        let announced = match self.op.topic(topic).announced().await {
            Ok(announced) => announced,
            Err(error) => return failed(new.places(), &error),
        };
        let NewInTopic { inserted, opened } = new;
        let mut unnoted = BTreeSet::new();
        for mark in &announced.marks {
            unnoted.extend(self.apply_mark(mark, &inserted, &opened).await);
        }
        if announced.marks.iter().any(|mark| matches!(mark, EndingMark::Deletion { .. })) {
            return unnoted;
        }
        let (inserted, failures) = self.keep_unerased(erased, inserted).await;
        unnoted.extend(failures);
        unnoted.extend(self.delete_again(topic, &inserted).await);
        if announced.is_watched {
            // The time of the insert is rounded down to a second, so an event that was inserted two seconds after its time
            // is always noted. Followers recognise some earlier ones.
            let is_late = |inserted: &InsertedEvent| {
                inserted.at >= inserted.key.id().at().saturating_add(NOTED_AFTER_MILLIS)
            };
            let late = inserted.iter().filter(|(_, inserted)| is_late(inserted));
            let late = late.map(|(_, inserted)| inserted.key.id()).collect();
            self.op.live_notes().put_in_topic(topic, &late).await;
        }
        for announcement in announced.consumers {
            unnoted.extend(self.note_for(&announcement, &inserted).await);
        }
        unnoted
    }

    /// Deletes the events of erased actors. Returns all other events, and the places of the records for which this
    /// failed.
    async fn keep_unerased<'l>(
        &self,
        erased: &ErasedActors,
        inserted: Vec<Insertion<'l>>,
    ) -> (Vec<Insertion<'l>>, BTreeSet<usize>) {
        let is_erased = |(_, inserted): &Insertion<'_>| {
            inserted.actor.as_ref().is_some_and(|actor| erased.cover(actor, inserted.key.id().at()))
        };
        let (gone, kept): (Vec<_>, Vec<_>) = inserted.into_iter().partition(is_erased);
        let mut unerased = BTreeSet::new();
        for (place, inserted) in gone {
            if let Err(error) = erase_event(self.op, &inserted.key).await {
                unerased.extend(failed([place], &error));
            }
        }
        (kept, unerased)
    }

    /// Deletes what was inserted into a deleted topic, or gives it the expiry of another retention, because its writer
    /// did not know of the change. Returns the places of the records for which this failed.
    async fn apply_mark(
        &self,
        mark: &EndingMark,
        inserted: &[Insertion<'_>],
        opened: &[(usize, &DirectoryKey)],
    ) -> BTreeSet<usize> {
        let changes: Vec<(usize, BoxFuture<'_, Result<(), TableError>>)> = match mark {
            EndingMark::Deletion { begun, is_done } => {
                // The walk finds and counts earlier events. The stream's clock and that of the process that began
                // the deletion may differ.
                let is_later =
                    |inserted: &InsertedEvent| inserted.at.saturating_add(CLOCKS_APART_MILLIS) >= *begun;
                let events = inserted
                    .iter()
                    .filter(|(_, inserted)| is_later(inserted))
                    .map(|(place, inserted)| (*place, inserted.key.encode()));
                // While the walk goes on, it needs the entries, and deletes them.
                let opened = opened.iter().filter(|_| *is_done).map(|(place, key)| (*place, key.encode()));
                let delete = |(place, key)| (place, self.op.table.delete(key).boxed());
                events.chain(opened).map(delete).collect()
            }
            EndingMark::Retention(days) => {
                let stamp = |(place, inserted): &Insertion<'_>| {
                    (
                        *place,
                        stamp_event(
                            self.op,
                            inserted.key.encode(),
                            inserted.expires_at,
                            inserted.key.id(),
                            *days,
                        )
                        .boxed(),
                    )
                };
                inserted.iter().map(stamp).collect()
            }
        };
        let changes: Vec<_> =
            changes.into_iter().map(async |(place, change)| (place, change.await)).collect();
        let changed = stream::iter(changes).buffer_unordered(WRITES_AT_ONCE).collect::<Vec<_>>().await;
        let unchanged = changed.into_iter().filter_map(|(place, changed)| Some((place, changed.err()?)));
        unchanged.flat_map(|(place, error)| failed([place], &error)).collect()
    }

    /// Notes the candidates of one consumer, and then counts them.
    async fn note_for(&self, announced: &Announcement, inserted: &[Insertion<'_>]) -> BTreeSet<usize> {
        let Announcement { consumer, incarnation, .. } = announced;
        let ledger = Incarnation { op: self.op, consumer, incarnation: *incarnation };
        let mut unnoted = BTreeSet::new();
        let mut covering = Covering::default();
        let mut candidates = Vec::new();
        for (place, inserted) in inserted {
            match self.is_candidate(announced, inserted, &mut covering).await {
                Ok(true) => candidates.push((*place, inserted.key.id())),
                Ok(false) => {}
                Err(error) => unnoted.extend(failed([*place], &error)),
            }
        }
        let puts: Vec<_> =
            candidates.into_iter().map(async |(place, id)| (place, id, ledger.note(id).await)).collect();
        let noted = stream::iter(puts).buffer_unordered(WRITES_AT_ONCE).collect::<Vec<_>>().await;
        let mut waiting: Vec<(usize, EventId)> = Vec::new();
        for (place, id, noted) in noted {
            match noted {
                Ok(true) => waiting.push((place, id)),
                Ok(false) => {}
                Err(error) => unnoted.extend(failed([place], &error)),
            }
        }
        let shards: BTreeSet<u8> = waiting.iter().map(|(_, id)| LateEventKey::shard(*id)).collect();
        if !shards.is_empty() {
            let shards: Vec<_> = shards.into_iter().collect();
            match self.count_or_drop(ledger, &shards, &waiting).await {
                Ok(counted) => count(&self.done.late, counted),
                Err(error) => unnoted.extend(failed(waiting.into_iter().map(|(place, _)| place), &error)),
            }
        }
        unnoted
    }

    /// Counts entries that were noted, and returns their number. If the consumer was deleted meanwhile, the entries are
    /// dropped and the number is 0.
    async fn count_or_drop(
        &self,
        ledger: Incarnation<'_>,
        shards: &[u8],
        noted: &[(usize, EventId)],
    ) -> Result<usize, TableError> {
        if ledger.count(shards).await? {
            return Ok(noted.len());
        }
        let ids: Vec<_> = noted.iter().map(|(_, id)| *id).collect();
        ledger.drop(&ids).await?;
        Ok(0)
    }

    /// True if a consumer may have read past an event's position before the event was inserted.
    async fn is_candidate(
        &self,
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
        let run = covering.run_of(self.op, consumer, *incarnation, id).await?;
        Ok(run.is_none_or(|run| plan::may_be_missed(inserted.at, run.announced_at)))
    }
}

fn failed(places: impl IntoIterator<Item = usize>, error: &TableError) -> BTreeSet<usize> {
    tracing::warn!(%error, "late events were not noted");
    places.into_iter().collect()
}
