//! Late events: those that land behind the position that a consumer has announced are noted in the consumer's ledger.
//! If the topic is followed live, its followers get a note of events that land seconds after their time
//! (`live/watch.rs`). The watch of the followers comes with the announcements, at no further price.
//!
//! This holds for every new event, whatever views its topic keeps. A batch reads the announcements of a topic once,
//! after the batch was received, and so after all of its events landed. An event at or before an announced position is
//! a candidate. For a consumer that produces reports, the event is no candidate if it landed so long before the
//! announcement of the run that covers the event that the run has read it. The stream record says when the event
//! landed, so the result is the same whenever the record is handled.
//!
//! These rules must hold. An entry is put before its partition is counted. A partition is counted also if the entry was
//! there already and still waits, because the process that put it may have died before it counted. A record is handled
//! when both writes are durable.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::stream::{self, StreamExt};
use lately_keys::table::{LateEventKey, Timeline};
use lately_keys::{EventId, Topic};
use lately_table::TableError;

use crate::consumer::announcement::Announcement;
use crate::consumer::ledger::Ledger;
use crate::consumer::ledger::LedgerHandle;
use crate::fan_out::record::{Landed, Record};
use crate::fan_out::{Done, count, plan};
use crate::limits::{RAILS_AT_ONCE, WRITES_AT_ONCE};
use crate::op::Op;
use crate::run::cover::Covering;

/// A record's place in the batch, and the record's event.
type Placed<'a> = (usize, &'a Landed);

/// Notes late events for one batch of records.
#[derive(Clone, Copy)]
pub(super) struct LateNotes<'a> {
    pub(super) op: &'a Op,
    pub(super) done: &'a Done,
}

impl LateNotes<'_> {
    /// Notes the late events of some records. Returns the places of the records for which this failed.
    pub(super) async fn note(&self, records: &[Record]) -> BTreeSet<usize> {
        let mut by_topic: BTreeMap<&Topic, Vec<Placed<'_>>> = BTreeMap::new();
        for (place, record) in records.iter().enumerate() {
            if let Some(landed) = &record.landed {
                by_topic.entry(&landed.topic).or_default().push((place, landed));
            }
        }
        let topics: Vec<_> =
            by_topic.into_iter().map(|(topic, landed)| self.note_in_topic(topic, landed)).collect();
        let failed = stream::iter(topics).buffer_unordered(RAILS_AT_ONCE).collect::<Vec<_>>().await;
        failed.into_iter().flatten().collect()
    }

    async fn note_in_topic(&self, topic: &Topic, landed: Vec<Placed<'_>>) -> BTreeSet<usize> {
        let (announced, is_watched) = match self.op.topic(topic).announced().await {
            Ok(announced) => announced,
            Err(error) => return failed(landed.into_iter().map(|(place, _)| place), &error),
        };
        let mut unnoted = BTreeSet::new();
        if is_watched {
            // The time of landing is rounded down to a second, so an event that landed two seconds after its own time
            // is always noted, and some earlier ones are, too. Followers recognise these.
            let (places, ids): (Vec<_>, Vec<_>) = landed
                .iter()
                .filter(|(_, landed)| landed.at > landed.id.at())
                .map(|(place, landed)| (*place, landed.id))
                .unzip();
            if let Err(error) = self.op.tell_followers(&Timeline::Topic(topic.clone()), &ids).await {
                unnoted.extend(failed(places, &error));
            }
        }
        for announcement in announced {
            unnoted.extend(self.note_for(&announcement, &landed).await);
        }
        unnoted
    }

    /// Notes the candidates of one consumer, and then counts them.
    async fn note_for(&self, announced: &Announcement, landed: &[Placed<'_>]) -> BTreeSet<usize> {
        let Announcement { consumer, incarnation, .. } = announced;
        let ledger = Ledger { consumer, incarnation: *incarnation };
        let mut unnoted = BTreeSet::new();
        let mut covering = Covering::default();
        let mut candidates = Vec::new();
        for (place, landed) in landed {
            match self.is_candidate(announced, landed, &mut covering).await {
                Ok(true) => candidates.push((*place, landed.id)),
                Ok(false) => {}
                Err(error) => unnoted.extend(failed([*place], &error)),
            }
        }
        let puts: Vec<_> = candidates
            .into_iter()
            .map(async |(place, id)| (place, id, LedgerHandle::of(self.op, ledger).note(id).await))
            .collect();
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
        ledger: Ledger<'_>,
        shards: &[u8],
        noted: &[(usize, EventId)],
    ) -> Result<usize, TableError> {
        let ledger = LedgerHandle::of(self.op, ledger);
        if ledger.count(shards).await? {
            return Ok(noted.len());
        }
        let ids: Vec<_> = noted.iter().map(|(_, id)| *id).collect();
        ledger.drop(&ids).await?;
        Ok(0)
    }

    /// True if a consumer may have read past an event's position before the event landed.
    async fn is_candidate(
        &self,
        announced: &Announcement,
        landed: &Landed,
        covering: &mut Covering,
    ) -> Result<bool, TableError> {
        let Announcement { consumer, incarnation, start, to, run, .. } = announced;
        if landed.id <= *start || landed.id > *to {
            return Ok(false);
        }
        let Some((from, at)) = run else { return Ok(true) };
        if landed.id > *from {
            return Ok(plan::may_be_missed(landed.at, *at));
        }
        let run = covering.run_of(self.op, consumer, *incarnation, landed.id).await?;
        Ok(run.is_none_or(|run| plan::may_be_missed(landed.at, run.announced_at)))
    }
}

fn failed(places: impl IntoIterator<Item = usize>, error: &TableError) -> BTreeSet<usize> {
    tracing::warn!(%error, "late events were not noted");
    places.into_iter().collect()
}
