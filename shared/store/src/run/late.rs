//! The late events that a run reports: the late log names them, and no file of an earlier run has them.
//!
//! The run's item says which items of the topic's late log the run reads. An event after the beginning of the run's own
//! range is stored already, so this range holds it, or a later one. An event before it *may* have been stored too late.
//! The file of the run that covers the event decides, and never changes.
//!
//! An event may be named again weeks later, because the stream delivers a record again. Then the covering run's file does
//! not have the event, although a later run has reported it. So a run also stores, beside the covering run, which of its
//! events it reports, before it reports them. The lists expire when no record can come again.
//!
//! All of this follows from items and files that never change. So every attempt of a run reports the same events.

use std::collections::{BTreeMap, BTreeSet};

use lately_items::{INCARNATION, LatePlace, ReportedLate, ReportedLateKey, Run};
use lately_keys::EventId;
use lately_table::{Condition, Query, TableError};

use crate::handle::RunHandle;
use crate::limits::LATE_LOG_SECONDS;
use crate::run::cover::Covering;

/// Late events on one page of a list: 32 KB, a twelfth of the largest item.
const LATE_PER_PAGE: usize = 2_000;

// 16 bytes for each id, and room for a key.
const _: () = assert!(LATE_PER_PAGE * 16 + 1024 <= 400 * 1000);

/// Looks into the files of runs.
///
/// This is a trait, so that its future can be sent between threads and can borrow.
pub trait LookUp: Send {
    /// Why a file, or the table, could not be read.
    type Error: From<TableError> + Send;

    /// For each of some ascending ids, whether the file of a committed run contains it.
    fn look_up(
        &mut self,
        run: &Run,
        ids: &[EventId],
    ) -> impl Future<Output = Result<Vec<bool>, Self::Error>> + Send;
}

impl RunHandle<'_> {
    /// The late events that a run reports, oldest first: the same for each of its attempts. `files` looks into the
    /// files of the consumer's earlier runs.
    ///
    /// Each step has the time of one operation.
    pub async fn late_ids<L: LookUp>(self, files: &mut L) -> Result<Vec<EventId>, L::Error> {
        let mut reported = Vec::new();
        for (covering, ids) in self.by_run(self.named_by_log().await?).await? {
            let known = files.look_up(&covering, &ids).await?;
            let listed = self.reported_by_others(covering.to).await?;
            let mut new = Vec::new();
            for (id, is_known) in ids.into_iter().zip(known) {
                if !is_known && !listed.contains(&id) {
                    new.push(id);
                }
            }
            self.list(covering.to, &new).await?;
            reported.extend(new);
        }
        reported.sort_unstable();
        Ok(reported)
    }

    /// The events before the run's range that the run's items of the late log name.
    async fn named_by_log(self) -> Result<BTreeSet<EventId>, TableError> {
        let Run { consumer, from, log_from, log_to, .. } = self.run;
        let mut ids = BTreeSet::new();
        let mut place = LatePlace::after(*log_from);
        while place.number < *log_to {
            let op = self.op.step();
            for batch in op.late_log(&consumer.topic).read(place, *log_to).await? {
                ids.extend(batch.ids.into_iter().filter(|id| id <= from));
                place = LatePlace::after(batch.number);
            }
        }
        Ok(ids)
    }

    /// Ids by the run that covers them. No run covers an id before the consumer's start, and the consumer does not get it.
    async fn by_run(self, ids: BTreeSet<EventId>) -> Result<Vec<(Run, Vec<EventId>)>, TableError> {
        let mut covering = Covering::default();
        let mut by_run: BTreeMap<EventId, (Run, Vec<EventId>)> = BTreeMap::new();
        for id in ids {
            let Some(run) = covering.run_of(&self.op.step(), self.run, id).await? else { continue };
            let (_, ids) = by_run.entry(run.to).or_insert_with(|| (run.clone(), Vec::new()));
            ids.push(id);
        }
        Ok(by_run.into_values().collect())
    }

    /// The events of an earlier run's range that later runs reported, except this one.
    async fn reported_by_others(self, covering: EventId) -> Result<BTreeSet<EventId>, TableError> {
        let query = Query::partition(self.run.consumer.to_string())
            .begins_with(ReportedLateKey::prefix_of(covering))
            .consistent(true);
        let step = self.op.step();
        let mut ids = BTreeSet::new();
        for page in step.table.query_all(query).await? {
            let page = ReportedLate::decode(&page)?;
            if page.to != self.run.to && page.incarnation == self.run.incarnation {
                ids.extend(page.ids);
            }
        }
        Ok(ids)
    }

    /// Stores which events of an earlier run's range this run reports. A page of an earlier consumer of the same name is
    /// replaced, and one of a later consumer stays.
    async fn list(self, covering: EventId, ids: &[EventId]) -> Result<(), TableError> {
        let Run { consumer, to, incarnation, .. } = self.run;
        let op = self.op.step();
        let expires_at = op.now().get() / 1000 + LATE_LOG_SECONDS;
        for (page, ids) in (0..).zip(ids.chunks(LATE_PER_PAGE)) {
            let key = ReportedLateKey { consumer: consumer.clone(), covering, to: *to, page };
            let is_ours = Condition::no_item().or(Condition::at_most(INCARNATION, incarnation.get()));
            op.table.put_if(&key.item(*incarnation, ids, expires_at), &is_ours).await?;
        }
        Ok(())
    }
}
