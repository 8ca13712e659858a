//! Erasing an actor or a user: everything that the table holds of the person goes, and a receipt stays.
//!
//! One item is the queue of its own steps: it holds the number of the next step, how far the steps have come, and what
//! the next step removes. Each put of it makes a record of the table's stream, and fan-out then takes the step of that
//! number and puts the item again (`fan_out/erasure/`). The last step makes the receipt and forgets the names.
//!
//! These rules must hold:
//! - A step puts the item on the condition that the item still has the step's number. So a record that is delivered
//!   again begins nothing, and of two processes that take the same step one continues.
//! - A step removes only items that the step before has listed and counted. So each item is counted once, however often a
//!   step is repeated.
//! - Deleting an event is what removes its entries and its copies: fan-out does so for every deleted event.
//! - The mark is durable in every topic before the search for events begins (`mark.rs`). An event whose entry stood in
//!   the actor's timeline by then is found there. For any other event, fan-out reads the marks after it has written the
//!   entry, and erases the event. So one of the two sides finds each event.
//! - An actor's timeline lists all events of a topic only if the topic kept the view `actor` ever since its creation.
//!   All other topics are walked through by their directories.
//! - The receipt's time of the end decides for events that land: what landed before is erased, also if fan-out sees it
//!   later; what landed after it stays.

mod estimate;
pub(crate) mod ids;
pub(crate) mod mark;
pub(crate) mod step;
mod verify;

use lately_keys::TableKey;
use lately_keys::table::{ErasedNames, ErasureId, ErasureLockKey, ErasureStepKey};
use lately_model::{Erasure, NewErasure};
use lately_table::{Condition, Item, Rounds, TableError, Transacted, Transaction};

use crate::erasure::step::ErasureStep;
use crate::error::FindError;
use crate::op::Op;

pub use verify::{ErasureCheck, ErasureFinding, ErasureTrace};

/// The erasure does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no erasure {id}")]
pub struct ErasureNotFound {
    /// The id that was looked up.
    pub id: ErasureId,
}

/// Why an erasure could not be read.
pub type ErasureError = FindError<ErasureNotFound>;

/// All erasures, in one request.
#[derive(Clone, Copy, Debug)]
pub struct ErasuresHandle<'a> {
    pub(crate) op: &'a Op,
}

impl ErasuresHandle<'_> {
    /// Begins to erase an actor or a user, or returns the erasure of the same names that is under way.
    pub async fn begin(self, new: &NewErasure) -> Result<Erasure, TableError> {
        let NewErasure { actor, user, dry_run: _ } = new;
        let lock = ErasureLockKey { names: ErasedNames::of(actor.as_ref(), user.as_ref()) };
        let mut rounds = Rounds::of(&self.op.table, "the erasure");
        loop {
            let now = self.op.now();
            let locked = self.op.table.get(lock.encode()).await?;
            let locked: Option<ErasureId> = locked.map(|item| item.parsed("erasure")).transpose()?;
            if let Some(id) = locked
                && let Some(step) = self.step(id).await?
                && step.finished.is_none()
            {
                return Ok(step.view(now));
            }
            let id = ErasureId::new(now, self.op.ambient().entropy());
            let first = ErasureStep::first(id, actor.clone(), user.clone(), now);
            let is_free = match locked {
                Some(known) => Condition::equals("erasure", known.to_string()),
                None => Condition::no_item(),
            };
            let transaction = Transaction::new(self.op.ambient())
                .put_if(Item::at(&lock).with("erasure", id.to_string()), is_free)
                .put(first.encode());
            if self.op.table.transact(&transaction).await? == Transacted::Done {
                return Ok(first.view(now));
            }
            // Another request was first, or an attempt of this one was applied: the next round finds the erasure.
            rounds.lose_and_pause().await?;
        }
    }

    /// An erasure: how far it has come, or its receipt.
    pub async fn get(self, id: ErasureId) -> Result<Erasure, ErasureError> {
        let step = self.step(id).await?.ok_or(ErasureError::NotFound(ErasureNotFound { id }))?;
        Ok(step.view(self.op.now()))
    }

    /// The next step of an erasure. The read is consistent.
    pub(crate) async fn step(self, erasure: ErasureId) -> Result<Option<ErasureStep>, TableError> {
        let item = self.op.table.get(ErasureStepKey { erasure }.encode()).await?;
        Ok(item.as_ref().map(ErasureStep::decode).transpose()?)
    }
}
