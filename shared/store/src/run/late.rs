//! The late events that a run reports: they landed behind earlier runs, and are in none of their files.
//!
//! A candidate is in the ledger because it *may* have landed too late. The file of the run that covers it decides, and
//! never changes: a candidate that is in the file is settled at once; this run reports the others.
//!
//! The list is stored before any of its events is reported, in pages that are only ever created. A process that finds a
//! page takes it as it is and continues after it. So all attempts of a run report the same events, whatever the ledger
//! held when each of them looked. The counters that were read when the run was announced decide whether the run has a
//! list at all.
//!
//! No id is on two pages of a run, or on pages of two runs: the next run is announced only when all entries of this one
//! are settled.

use std::collections::{BTreeMap, BTreeSet};

use lately_items::{LatePage, LatePageKey, Run};
use lately_keys::EventId;
use lately_table::{Condition, Corrupt, Item, Query, TableError};

use crate::handle::{Incarnation, RunHandle};
use crate::limits::LATE_PER_RUN;
use crate::run::cover::Covering;

/// Late events on one page of a run's list: 32 KB, a twelfth of the largest item.
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

/// The pages of a run's list that are written so far.
#[derive(Debug, Default)]
pub(super) struct Pages {
    pub(super) ids: BTreeSet<EventId>,
    written: u32,
    /// True if the last page is written, so that the list is complete.
    pub(super) complete: bool,
}

impl Pages {
    /// Takes the next page.
    fn take(&mut self, page: &Item) -> Result<(), Corrupt> {
        let LatePage { page: number, ids, last } = LatePage::decode(page)?;
        if number != self.written {
            return Err(page.corrupt("a page of late events is missing"));
        }
        self.ids.extend(ids);
        self.written += 1;
        self.complete = last;
        Ok(())
    }

    /// The ids that are on no page yet.
    fn without_written(&self, mut ids: Vec<EventId>) -> Vec<EventId> {
        ids.retain(|id| !self.ids.contains(id));
        ids
    }
}

impl RunHandle<'_> {
    /// The late events that a run reports, oldest first: the same for each of its attempts. `files` looks into the
    /// files of the consumer's earlier runs.
    ///
    /// Each step has the time of one operation.
    pub async fn late_ids<L: LookUp>(self, files: &mut L) -> Result<Vec<EventId>, L::Error> {
        let run = self.run;
        let mut pages = self.late_pages().await?;
        let mut covering = Covering::default();
        let mut pending = Vec::new();
        for shard in run.touched() {
            let mut after = None;
            while !pages.complete && pages.ids.len() + pending.len() < LATE_PER_RUN {
                // Those that lie before the run's range.
                let op = self.op.step();
                let candidates = Incarnation::of_run(&op, run).unsettled(shard, after, run.from).await?;
                let ids = pages.without_written(candidates.ids);
                for (covering, ids) in self.by_run(&mut covering, ids).await? {
                    let Some(covering) = covering else {
                        pending.extend(ids);
                        continue;
                    };
                    let known = files.look_up(&covering, &ids).await?;
                    let mut reported = Vec::new();
                    for (id, known) in ids.into_iter().zip(known) {
                        if known { reported.push(id) } else { pending.push(id) }
                    }
                    self.settle_by(&reported, covering.to).await?;
                }
                pending.truncate(LATE_PER_RUN.saturating_sub(pages.ids.len()));
                while !pages.complete && pending.len() > LATE_PER_PAGE {
                    pending = self.write_page(&mut pages, pending).await?;
                }
                after = candidates.last;
                if after.is_none() {
                    break;
                }
            }
        }
        while !pages.complete {
            pending = self.write_page(&mut pages, pending).await?;
        }
        Ok(pages.ids.into_iter().collect())
    }

    /// The pages of a run's list that are written. A run that looks at no partition has no pages, and its list is
    /// complete.
    pub(super) async fn late_pages(self) -> Result<Pages, TableError> {
        let mut pages = Pages { complete: self.run.touched().is_empty(), ..Pages::default() };
        if pages.complete {
            return Ok(pages);
        }
        let query = Query::partition(self.run.consumer.to_string())
            .begins_with(LatePageKey::prefix_of(self.run.to))
            .consistent(true);
        let step = self.op.step();
        let read = step.table.query_all(query).await?;
        step.table.meter().items(read.len());
        read.iter().try_for_each(|page| pages.take(page))?;
        Ok(pages)
    }

    /// Writes the next page of the events to report, or takes the page that is there. Returns the ids that are left.
    async fn write_page(
        self,
        pages: &mut Pages,
        mut pending: Vec<EventId>,
    ) -> Result<Vec<EventId>, TableError> {
        let rest = pending.split_off(pending.len().min(LATE_PER_PAGE));
        let Run { consumer, to, incarnation, .. } = self.run;
        let key = LatePageKey { consumer: consumer.clone(), to: *to, page: pages.written };
        let item = key.item(*incarnation, &pending, rest.is_empty());
        let there = self.op.step().table.put_if(&item, &Condition::no_item()).await?;
        pages.take(there.as_ref().unwrap_or(&item))?;
        pending.extend(rest);
        Ok(pages.without_written(pending))
    }

    /// Ids by the run that covers them; `None` for those that no run covers.
    async fn by_run(
        self,
        covering: &mut Covering,
        ids: Vec<EventId>,
    ) -> Result<Vec<(Option<Run>, Vec<EventId>)>, TableError> {
        let mut by_run: BTreeMap<Option<EventId>, (Option<Run>, Vec<EventId>)> = BTreeMap::new();
        for id in ids {
            let found = covering.run_of(Incarnation::of_run(&self.op.step(), self.run), id).await?;
            let group = by_run.entry(found.map(|found| found.to));
            group.or_insert_with(|| (found.cloned(), Vec::new())).1.push(id);
        }
        Ok(by_run.into_values().collect())
    }

    /// Marks entries as settled by the run that ends at an id.
    pub(super) async fn settle_by(self, ids: &[EventId], to: EventId) -> Result<(), TableError> {
        for ids in ids.chunks(LATE_PER_PAGE) {
            Incarnation::of_run(&self.op.step(), self.run).settle(ids, &to.to_string()).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use lately_items::ConsumerKey;
    use lately_keys::UnixMillis;
    use lately_model::Revision;

    use super::*;

    #[test]
    fn pages_are_taken_in_order_without_gaps() {
        let consumer = ConsumerKey { topic: "billing".parse().unwrap(), name: "nightly".parse().unwrap() };
        let to = EventId::last_of(UnixMillis::new(8).unwrap());
        let id = |n| EventId::new(to.tick(), 0.into(), n);
        let item = |number, id, last| {
            LatePageKey { consumer: consumer.clone(), to, page: number }.item(Revision::new(7), &[id], last)
        };
        let mut pages = Pages::default();
        pages.take(&item(0, id(2), false)).unwrap();
        pages.take(&item(2, id(9), true)).unwrap_err();
        assert!(!pages.complete);
        pages.take(&item(1, id(1), true)).unwrap();
        assert!(pages.complete);
        assert_eq!(pages.ids, [id(1), id(2)].into());
        assert_eq!(pages.without_written(vec![id(1), id(3)]), [id(3)]);
    }
}
