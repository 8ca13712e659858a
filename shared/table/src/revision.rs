//! Writes under a revision: no writer overwrites a change that it has not seen.
//!
//! A write names the revision of the item that it replaces, and the new item has the next revision. DynamoDB's
//! condition lets one of several writers win. After an ambiguous attempt, the stored item shows what happened:
//!
//! ```text
//! the condition failed, an earlier attempt may have been applied, and there is …
//!   our very item, attribute for attribute   the attempt was applied: written
//!   another item of the same next revision   the attempt was not applied: another writer has that revision
//!   anything else, or nothing                another write came since, so the outcome is unknown
//! ```
//!
//! A first put is not retried after an ambiguous attempt, because the item may have been deleted since. The item is
//! read instead. If there is none, the outcome is unknown.
//!
//! This works only if each writer's item differs from every other writer's item, or if it does not matter which of them
//! wrote an item. For this purpose, a document carries random bits of its write.

use lately_items::{Corrupt, Item, REVISION};
use lately_keys::Key;
use lately_model::Revision;

use crate::call::{Attempts, CallError, Meaning, Refusal, Table, existing, meaning, unavailable};
use crate::error::TableError;
use crate::expression::Condition;
use crate::limits::CONFLICTS;
use crate::single::{delete, put, put_request};

/// The outcome of a write under a revision.
#[derive(Clone, Debug, PartialEq)]
pub enum Guarded {
    /// The write is done.
    Written,
    /// The write is not done. Contains the stored item, if there is one.
    Stale(Option<Item>),
    /// An earlier attempt may have been applied, and another writer's write came after it.
    Unknown,
}

/// The rounds in which a caller reads, decides and writes: up to [`CONFLICTS`], if other writers keep coming in between.
#[derive(Debug)]
pub struct Rounds<'a> {
    table: &'a Table,
    subject: &'static str,
    lost: u32,
}

impl<'a> Rounds<'a> {
    /// The first round. The error of a caller that loses every round names the subject of the writes.
    pub const fn of(table: &'a Table, subject: &'static str) -> Self {
        Self { table, subject, lost: 0 }
    }

    /// Begins the next round.
    ///
    /// # Errors
    /// If this was the last round.
    pub fn lose(&mut self) -> Result<(), TableError> {
        self.lost += 1;
        if self.lost < CONFLICTS { Ok(()) } else { Err(self.too_busy()) }
    }

    /// Begins the next round after a random pause, so that writers who met in this round do not meet again.
    ///
    /// # Errors
    /// If this was the last round, or if no time remains.
    pub async fn lose_and_pause(&mut self) -> Result<(), TableError> {
        self.lose()?;
        let pause = Attempts::wait_after(self.table, 1).ok_or_else(|| self.too_busy())?;
        tokio::time::sleep(pause).await;
        Ok(())
    }

    fn too_busy(&self) -> TableError {
        TableError::unavailable(format!("other writers keep changing {}", self.subject))
    }
}

/// Puts an item with the next revision, if the item has the known revision now. If no revision is known, there must be no
/// item.
pub async fn put_revised(table: &Table, item: &Item, known: Option<Revision>) -> Result<Guarded, TableError> {
    let Some(known) = known else { return put_first(table, item).await };
    let unchanged = Condition::equals(REVISION, &known);
    guarded(put(table, item, Some(&unchanged)).await, item, Some(item.get(REVISION)?))
}

/// Puts an item if there is none.
///
/// An ambiguous attempt is not retried: if the item was deleted since, a retry would restore it. The stored item is read
/// instead.
async fn put_first(table: &Table, item: &Item) -> Result<Guarded, TableError> {
    let mut attempts = Attempts::of(table);
    loop {
        attempts.start();
        let error = match put_request(table, item, Some(&Condition::no_item())).send().await {
            Ok(answer) => {
                table.meter.write(answer.consumed_capacity());
                return Ok(Guarded::Written);
            }
            Err(error) => error,
        };
        match meaning(&error) {
            Meaning::Refused => attempts.pause(Refusal::of(&error)).await?,
            Meaning::Condition => return Ok(Guarded::Stale(existing(&error))),
            Meaning::Final => return Err(unavailable(&error)),
            Meaning::Ambiguous => {
                let there = table.get(item.key()?).await?;
                return Ok(outcome(there, item, item.get(REVISION)?)?);
            }
        }
    }
}

/// Deletes an item, if it has the known revision now. A missing item counts as deleted. If no revision is known, there must
/// be no item.
pub async fn delete_revised(table: &Table, key: Key, known: Option<Revision>) -> Result<Guarded, TableError> {
    let no_item = Condition::no_item();
    let condition = match known {
        None => no_item,
        Some(known) => no_item.or(Condition::equals(REVISION, &known)),
    };
    // The item may have been deleted by us and created again. A deletion leaves no item that would show this.
    guarded(delete(table, key, Some(&condition)).await, &Item::new(), known.map(Revision::next))
}

/// The outcome of a conditional write. `ours` is the item that the write would have left, and `next` is the revision that
/// follows the replaced one, if there was one.
fn guarded(
    written: Result<(), CallError>,
    ours: &Item,
    next: Option<Revision>,
) -> Result<Guarded, TableError> {
    let Err(error) = written else { return Ok(Guarded::Written) };
    let (there, maybe_applied) = error.refused()?;
    match next.filter(|_| maybe_applied) {
        Some(next) => Ok(outcome(there, ours, next)?),
        None => Ok(Guarded::Stale(there)),
    }
}

/// The outcome of a write that may have been applied, according to the stored item. `ours` is the item that the write
/// would have left, and `next` is the revision that follows the replaced one.
fn outcome(there: Option<Item>, ours: &Item, next: Revision) -> Result<Guarded, Corrupt> {
    Ok(match there {
        Some(there) if there == *ours => Guarded::Written,
        Some(there) if there.get::<Revision>(REVISION)? == next => Guarded::Stale(Some(there)),
        _ => Guarded::Unknown,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(revision: u64, write: &str) -> Item {
        Item::new().with(REVISION, revision).with("d", write)
    }

    #[test]
    fn the_stored_item_shows_the_outcome_of_a_write() {
        let next = Revision::new(8);
        let of = |there: Option<Item>| outcome(there, &item(8, "ours"), next).unwrap();
        assert_eq!(of(Some(item(8, "ours"))), Guarded::Written);
        assert_eq!(of(Some(item(8, "theirs"))), Guarded::Stale(Some(item(8, "theirs"))));
        for there in [None, Some(item(9, "theirs")), Some(item(9, "ours")), Some(item(7, "older"))] {
            assert_eq!(of(there), Guarded::Unknown);
        }
        outcome(Some(Item::new()), &item(8, "ours"), next).unwrap_err();
    }
}
