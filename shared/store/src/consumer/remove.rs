//! Deleting a consumer, with everything that was written for it.
//!
//! The deletion first marks the consumer and its announcement, in one transaction, so that nothing new is begun for it
//! and fan-out no longer looks after it. Then it deletes the runs and the lists of late events that they report, and last
//! the consumer itself together with its announcement. A later request that finds the mark continues the deletion. A
//! deletion that is delayed deletes only items of its own incarnation or of an earlier one.

use lately_items::{Announcement, Checkpoint, INCARNATION, ReportedLateKey, RunKey};
use lately_keys::{Key, TableKey};
use lately_model::Revision;
use lately_table::{Condition, Fault, Query, Rounds, TableError, Transacted, Transaction};

use crate::at_once::run_each;
use crate::handle::ConsumerHandle;
use crate::limits::WRITES_AT_ONCE;

impl ConsumerHandle<'_> {
    /// Deletes a consumer; a missing consumer counts as deleted. If there is more to delete than the time allows, the
    /// client must ask again.
    ///
    /// # Errors
    /// If the table could not be written, or there is more to delete.
    pub async fn delete(self) -> Result<(), TableError> {
        match self.delete_some().await? {
            true => Ok(()),
            false => Err(TableError::unavailable("there is more to delete")),
        }
    }

    /// Deletes as much of a consumer as the time allows. Returns whether nothing is left.
    pub(crate) async fn delete_some(self) -> Result<bool, TableError> {
        let found = self.checkpoint().await?;
        let mark = |found: &Checkpoint| {
            let marked = Checkpoint { deleting: true, ..found.clone() };
            Ok::<_, TableError>((!found.deleting).then_some(marked))
        };
        let Some(marked) = self.change(found, mark).await? else { return Ok(true) };
        let items = Query::partition(self.consumer.to_string());
        for prefix in [ReportedLateKey::PREFIX, RunKey::PREFIX] {
            let query = items.clone().begins_with(prefix);
            if !self.delete_all(query, marked.incarnation).await? {
                return Ok(false);
            }
        }
        // Both at once: the announcements list all consumers that there are, and no others.
        let mut rounds = Rounds::of(&self.op.table, "the consumer");
        loop {
            let transaction = Transaction::new(self.op.ambient())
                .delete_if(self.consumer.encode(), is_up_to(marked.incarnation))
                .delete_if(Announcement::key_of(self.consumer).encode(), is_up_to(marked.incarnation));
            match transaction.commit(&self.op.table).await? {
                Transacted::Cancelled { faults, .. } if !faults.iter().any(Fault::is_condition) => {
                    rounds.lose_and_pause().await?;
                }
                // Both are gone, or a later consumer has this name.
                _ => return Ok(true),
            }
        }
    }

    /// Deletes the items that a query finds, except those of later incarnations. Returns false if the time is over.
    async fn delete_all(self, query: Query, ours: Revision) -> Result<bool, TableError> {
        let mut query = query.consistent(true);
        loop {
            let page = self.op.table.query_items(&query).await?;
            let mut keys = Vec::new();
            for item in &page.items {
                if item.get::<Revision>(INCARNATION)? <= ours {
                    keys.push(item.key()?);
                }
            }
            for keys in keys.chunks(WRITES_AT_ONCE) {
                if self.op.table.time_left().is_zero() {
                    return Ok(false);
                }
                let is_ours = is_up_to(ours);
                let delete = async |key: &Key| self.op.table.delete_if(key.clone(), &is_ours).await.map(drop);
                run_each(WRITES_AT_ONCE, keys.iter().map(delete)).await?;
            }
            if page.next.is_none() {
                return Ok(true);
            }
            query = query.start(page.next);
        }
    }
}

/// The condition that there is no item of a later incarnation.
fn is_up_to(ours: Revision) -> Condition {
    Condition::no_item().or(Condition::at_most(INCARNATION, ours.get()))
}
