//! Erasing an actor or a user: everything that the table holds of the person goes, and a receipt stays.
//!
//! Fan-out runs the steps (`work/`, `fan_out/kinds/erasure/`). The last step makes the receipt and forgets the names.
//!
//! These rules must hold:
//! - A step removes only items that the step before has listed and counted. So each item is counted once, however often a
//!   step is repeated.
//! - Deleting an event is what removes its entries and its copies: fan-out does so for every deleted event.
//! - The entry in the list (`list.rs`) is durable before the search for events begins. An event whose entry stood in the
//!   actor's timeline by then is found there. For any other event, fan-out reads the list after it has written the
//!   entry, and deletes the event if it is older than the erasure's end. So one of the two sides finds each event.
//! - Writers do not write an event of an erased actor that is older than the end. So the search comes to an end.
//! - An actor's timeline lists all events of a topic only if the topic kept the view `actor` ever since its creation.
//!   All other topics are walked through by their directories.

pub(crate) mod actors;
pub(crate) mod ids;
mod list;
mod verify;

use lately_items::{ErasureEntry, ErasureStep, ErasureStepKey};
use lately_keys::{Actor, ErasureId, TableKey};
use lately_model::{Erasure, ErasureState, NewErasure};
use lately_table::{Condition, Rounds, TableError, Transacted, Transaction};

use crate::error::FindError;
use crate::handle::ErasuresHandle;

pub use verify::{ErasureCheck, ErasureFinding, ErasureTrace};

/// The erasure does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no erasure {id}")]
pub struct ErasureNotFound {
    /// The id that was looked up.
    pub id: ErasureId,
}

/// Events of the actor are being erased, so they must not be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the actor {actor} is being erased")]
pub struct ActorIsBeingErased {
    /// The actor.
    pub actor: Actor,
}

/// Why an erasure could not be read.
pub type ErasureError = FindError<ErasureNotFound>;

impl ErasuresHandle<'_> {
    /// Begins to erase an actor or a user, or returns the erasure of the same names that is under way. Two requests at
    /// the same moment may begin two erasures of the same names: each then finds and counts what the other has not removed.
    pub async fn begin(self, new: &NewErasure) -> Result<Erasure, TableError> {
        let mut rounds = Rounds::of(&self.op.table, "the erasure");
        loop {
            let entries = self.entries().await?.into_iter();
            let mut running = entries.filter(|entry| entry.until.is_none());
            if let Some(entry) = running.find(|entry| entry.actor == new.actor && entry.user == new.user)
                && let Some(step) = self.step(entry.erasure).await?
            {
                return Ok(view(&step));
            }
            let now = self.op.now();
            let id = ErasureId::new(now, self.op.ambient().entropy());
            let first = ErasureStep::first(id, new.actor.clone(), new.user.clone(), now);
            let transaction = Transaction::new(self.op.ambient())
                .put_if(first.encode(), Condition::no_item())
                .put(ErasureEntry::of(&first, None).encode());
            if transaction.commit(&self.op.table).await? == Transacted::Done {
                return Ok(view(&first));
            }
            // An attempt of this request may have been applied: the next round finds the erasure.
            rounds.lose_and_pause().await?;
        }
    }

    /// An erasure: how far it has come, or its receipt.
    pub async fn get(self, id: ErasureId) -> Result<Erasure, ErasureError> {
        let step = self.step(id).await?.ok_or(ErasureError::NotFound(ErasureNotFound { id }))?;
        Ok(view(&step))
    }

    /// The next step of an erasure. The read is consistent.
    pub(crate) async fn step(self, erasure: ErasureId) -> Result<Option<ErasureStep>, TableError> {
        self.op.table.find(ErasureStepKey { erasure }.encode()).await
    }
}

/// The erasure as a client sees it.
fn view(step: &ErasureStep) -> Erasure {
    let finished = step.finished.as_ref();
    Erasure {
        id: step.erasure,
        state: if finished.is_some() { ErasureState::Done } else { ErasureState::Erasing },
        counts: step.counts,
        ids_sha256: finished.map(|finished| finished.ids_sha256.clone()),
        started_at: step.name.begun,
        finished_at: finished.map(|finished| finished.at),
        not_covered: NOT_COVERED.map(str::to_owned).to_vec(),
    }
}

/// The data that an erasure does not reach, as its receipt says.
const NOT_COVERED: [&str; 5] = [
    "report files",
    "backups, point-in-time recovery and exports of the table",
    "stream records that fan-out gave up on, until they are redriven or expire",
    "idempotency records, notes of deleted events and of unfollows, quotas, notes of live timelines, marks of \
     fan-out jobs, the numbers and shards of an erased actor's followers, and the entry in the list of erasures: they expire \
     within three days",
    "data of others that mentions the person",
];
