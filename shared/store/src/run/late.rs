//! What landed behind the earlier runs and is in none of their files: the late events that a run reports.
//!
//! ```text
//! CONSUMER#{topic}#{name} / LATE#{to}#{page}
//!   incarnation N, ids B? (16 bytes each), last BOOL? (there is no page behind it)
//! ```
//!
//! A candidate is in the ledger because it *may* have landed too late. Whether it did, the file of the run that covers it
//! says, which never changes: an event that is in it is settled at once; one that is not is this run's to report.
//!
//! The list is written down before anything of it is reported, in pages that are only ever created. Whoever finds a page
//! takes it as it is and goes on behind it: so all attempts of a run report the same, whatever the ledger held when each
//! of them looked. Whether there is a list at all, the counters say that were read when the run was announced.
//!
//! What must hold: no id is on two pages of a run, and none is on those of two runs: the next run is announced when all of
//! this one's are settled.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_dynamodb::types::AttributeValue;
use lately_keys::table::LatePageKey;
use lately_keys::{EventId, Place, TableKey};

use crate::consumer::checkpoint::{decode_ids, encode_ids};
use crate::consumer::ledger::LedgerHandle;
use crate::consumer::ledger::{Ledger, Unsettled};
use crate::error::TableError;
use crate::item::{Corrupt, Fields, Item, keyed, number, text};
use crate::limits::{LATE_PER_PAGE, LATE_PER_RUN};
use crate::run::Run;
use crate::run::RunHandle;
use crate::run::cover::Covering;

/// Why a run's late events could not be told.
#[derive(Debug, thiserror::Error)]
pub enum LateError<E> {
    /// A run's file could not be looked into.
    #[error("a run's file could not be looked into")]
    LookUp(#[source] E),
    /// The table could not be read or written.
    #[error(transparent)]
    Table(#[from] TableError),
}

/// Looks into the files of runs.
///
/// A trait, so that what it does may be moved between threads, and borrow what it needs.
pub trait LookUp: Send {
    /// Why a file could not be looked into.
    type Error: Send;

    /// Which of some ids, ascending, are in the file of a run, which is committed.
    fn look_up(
        &mut self,
        run: &Run,
        ids: &[EventId],
    ) -> impl Future<Output = Result<Vec<bool>, Self::Error>> + Send;
}

/// The pages of a run's list, as far as they are written.
#[derive(Debug, Default)]
pub(super) struct Pages {
    pub(super) ids: BTreeSet<EventId>,
    written: u32,
    /// The last one is there: the list is complete.
    pub(super) complete: bool,
}

impl Pages {
    /// Takes the next page.
    fn take(&mut self, page: &Item) -> Result<(), Corrupt> {
        let fields = Fields(page);
        let key = LatePageKey::decode(fields.text("pk")?, fields.text("sk")?);
        if key.is_none_or(|key| key.page() != self.written) {
            return Err(fields.corrupt("a page of late events is missing"));
        }
        if page.contains_key("ids") {
            self.ids.extend(decode_ids(fields, "ids")?);
        }
        self.written += 1;
        self.complete = fields.flag("last");
        Ok(())
    }

    /// What of some ids is on no page yet.
    fn without_written(&self, mut ids: Vec<EventId>) -> Vec<EventId> {
        ids.retain(|id| !self.ids.contains(id));
        ids
    }
}

/// The item of a page.
fn page(run: &Run, number_of_page: u32, ids: &[EventId], last: bool) -> Option<Item> {
    let key = LatePageKey::new(run.consumer.clone(), run.to, number_of_page)?;
    let mut item = keyed(Place::Table, key.encode());
    item.insert("incarnation".to_owned(), number(run.incarnation.get()));
    if !ids.is_empty() {
        item.insert("ids".to_owned(), encode_ids(ids));
    }
    if last {
        item.insert("last".to_owned(), AttributeValue::Bool(true));
    }
    Some(item)
}

impl RunHandle<'_> {
    /// The late events that a run reports, oldest first: the same for each of its attempts. `files` are those of the
    /// consumer's earlier runs.
    ///
    /// Each of its steps has the time of one operation.
    ///
    /// # Errors
    /// See [`LateError`].
    pub async fn late_ids<L: LookUp>(self, files: &mut L) -> Result<Vec<EventId>, LateError<L::Error>> {
        let run = self.run;
        let mut pages = self.late_pages().await?;
        let mut covering = Covering::default();
        let mut pending = Vec::new();
        for shard in run.touched() {
            let mut after = None;
            while !pages.complete && pages.ids.len() + pending.len() < LATE_PER_RUN {
                let candidates = self.candidates(shard, after).await?;
                let ids = pages.without_written(candidates.ids);
                for (covering, ids) in self.by_run(&mut covering, ids).await? {
                    let Some(covering) = covering else {
                        pending.extend(ids);
                        continue;
                    };
                    let known = files.look_up(&covering, &ids).await.map_err(LateError::LookUp)?;
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

    /// The pages of a run's list that are there. One that looks at no partition has none, and they are complete.
    pub(super) async fn late_pages(self) -> Result<Pages, TableError> {
        let run = self.run;
        let mut pages = Pages { complete: run.touched().is_empty(), ..Pages::default() };
        let mut after = None;
        while !pages.complete {
            let step = self.op.step();
            let answer = step
                .table
                .query(|query| {
                    query
                        .key_condition_expression("pk = :pk AND begins_with(sk, :prefix)")
                        .expression_attribute_values(":pk", text(run.consumer.to_string()))
                        .expression_attribute_values(":prefix", text(LatePageKey::prefix_of(run.to)))
                        .set_exclusive_start_key(after.clone())
                        .consistent_read(true)
                })
                .await?;
            step.table.meter.items(answer.items().len());
            for page in answer.items() {
                pages.take(page)?;
            }
            after = answer.last_evaluated_key;
            if after.is_none() {
                break;
            }
        }
        Ok(pages)
    }

    /// Writes the next page of what is to be reported, or takes the one that is there; what is left.
    async fn write_page(
        self,
        pages: &mut Pages,
        mut pending: Vec<EventId>,
    ) -> Result<Vec<EventId>, TableError> {
        let run = self.run;
        let rest = pending.split_off(pending.len().min(LATE_PER_PAGE));
        let item = page(run, pages.written, &pending, rest.is_empty());
        let item = item.ok_or_else(|| TableError::unavailable("a run has too many pages of late events"))?;
        let put = self.op.step().table.put_item_if(&item, "attribute_not_exists(pk)", None).await?;
        pages.take(put.in_the_way()?.as_ref().unwrap_or(&item))?;
        pending.extend(rest);
        Ok(pages.without_written(pending))
    }

    async fn candidates(self, shard: u8, after: Option<EventId>) -> Result<Unsettled, TableError> {
        let run = self.run;
        LedgerHandle::of(&self.op.step(), run.ledger()).unsettled(shard, after, run.from).await
    }

    /// Ids by the run that covers them; none if there is no such run.
    async fn by_run(
        self,
        covering: &mut Covering,
        ids: Vec<EventId>,
    ) -> Result<Vec<(Option<Run>, Vec<EventId>)>, TableError> {
        let run = self.run;
        let mut by_run: BTreeMap<Option<EventId>, (Option<Run>, Vec<EventId>)> = BTreeMap::new();
        for id in ids {
            let found = covering.run_of(&self.op.step(), &run.consumer, run.incarnation, id).await?;
            let group = by_run.entry(found.map(|found| found.to));
            group.or_insert_with(|| (found.cloned(), Vec::new())).1.push(id);
        }
        Ok(by_run.into_values().collect())
    }

    /// Marks entries as settled by the run that ends there.
    pub(super) async fn settle_by(self, ids: &[EventId], to: EventId) -> Result<(), TableError> {
        let run = self.run;
        for ids in ids.chunks(LATE_PER_PAGE) {
            LedgerHandle::of(&self.op.step(), run.ledger()).settle(ids, &to.to_string()).await?;
        }
        Ok(())
    }
}

impl Run {
    pub(super) const fn ledger(&self) -> Ledger<'_> {
        Ledger { consumer: &self.consumer, incarnation: self.incarnation }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::run;

    #[test]
    fn golden_bytes() {
        let run = run();
        let id: EventId = "0190a4cd-d3e7-7222-9f99-fdb74feee752".parse().unwrap();
        let mut full = page(&run, 3, &[id], false).unwrap();
        let ids = full.remove("ids").unwrap();
        let bytes =
            [0x01, 0x90, 0xa4, 0xcd, 0xd3, 0xe7, 0x72, 0x22, 0x9f, 0x99, 0xfd, 0xb7, 0x4f, 0xee, 0xe7, 0x52];
        assert_eq!(ids.as_b().unwrap().as_ref(), bytes);
        let rest = |sk: &str| {
            let rest =
                [("pk", text("CONSUMER#billing#nightly")), ("sk", text(sk)), ("incarnation", number(7_u64))];
            Item::from(rest.map(|(name, value)| (name.to_owned(), value)))
        };
        assert_eq!(full, rest("LATE#0190a4cd-d3e7-7222-9f99-fdb74feee752#00000003"));
        let mut last = page(&run, 0, &[], true).unwrap();
        assert_eq!(last.remove("last"), Some(AttributeValue::Bool(true)));
        assert_eq!(last, rest("LATE#0190a4cd-d3e7-7222-9f99-fdb74feee752#00000000"));
    }

    #[test]
    fn pages_are_taken_in_their_order_and_none_is_missing() {
        let run = run();
        let id = |n| EventId::new(run.to.tick(), 0.into(), n);
        let item = |number_of_page, id, last| page(&run, number_of_page, &[id], last).unwrap();
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
