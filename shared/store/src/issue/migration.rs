//! How an issue's item of an older schema becomes one of today's: step by step, each a pure function from an item to an
//! item.
//!
//! | from | to | adds |
//! | --- | --- | --- |
//! | 1: as such tables keep issues, without an attribute `schema` | 2 | `revision`, `updated_at`, from the time of opening |
//! | 2 | 3 | `priority`, from the labels, and its place in `gsi2` |
//!
//! Whatever the schema, what follows from other attributes is made to follow: a writer of an older schema changes labels
//! or status and leaves what it does not know. An item of a schema that is newer than this code is left as it is.
//!
//! What must hold: what was upgraded needs no upgrade, and an attribute that no step knows stays.

use lately_keys::table::{IssueKey, IssuePriority, IssuePriorityKey, IssueStatusKey};
use lately_keys::{Place, TableKey};

use crate::issue::stored::{key_of, labels_of, millis};
use crate::item::{Corrupt, Fields, Item, keyed, number, text};
use crate::revision::REVISION;

/// The schema that is written.
pub(super) const SCHEMA: u32 = 3;

type Step = fn(Item) -> Result<Item, Corrupt>;

/// From each schema to the next: the first from 1 to 2.
const STEPS: [Step; SCHEMA as usize - 1] = [with_revision, with_what_follows];

/// An item in the schema of today.
pub(super) fn upgraded(item: &Item) -> Result<Item, Corrupt> {
    let schema = schema_of(item)?;
    if schema > SCHEMA {
        return Ok(item.clone());
    }
    let steps = STEPS.iter().zip(2_u32..).filter(|(_, to)| *to > schema);
    let upgrade = |item, (step, to): (&Step, u32)| {
        let mut item = step(item)?;
        item.insert("schema".to_owned(), number(to));
        Ok(item)
    };
    let item = steps.into_iter().try_fold(item.clone(), upgrade)?;
    with_what_follows(item)
}

/// The schema of an item.
pub(super) fn schema_of(item: &Item) -> Result<u32, Corrupt> {
    let fields = Fields(item);
    match fields.optional_number("schema")? {
        None => Ok(1),
        Some(0) => Err(fields.corrupt("schema")),
        Some(schema) => Ok(schema),
    }
}

/// From 1 to 2. The revision is what it would have been when the issue was opened, and so below all that follow.
fn with_revision(mut item: Item) -> Result<Item, Corrupt> {
    let opened_at = millis(Fields(&item), "opened_at")?.get();
    item.entry(REVISION.to_owned()).or_insert_with(|| number(opened_at.saturating_mul(1_000)));
    item.entry("updated_at".to_owned()).or_insert_with(|| number(opened_at));
    Ok(item)
}

/// From 2 to 3, and whenever it does not: the priority from the labels, unless it was set by hand, and the keys of both indexes.
fn with_what_follows(mut item: Item) -> Result<Item, Corrupt> {
    let fields = Fields(&item);
    let IssueKey { repository, number } = key_of(fields)?;
    let status = fields.parsed("status")?;
    let set: Option<IssuePriority> = fields.optional_parsed("priority")?;
    let priority = match set.filter(|_| fields.flag("by_hand")) {
        Some(set) => set,
        None => labels_of(fields)?.priority(),
    };
    item.insert("priority".to_owned(), text(priority.as_str()));
    let by_status = IssueStatusKey { repository: repository.clone(), status, number };
    item.extend(keyed(Place::Gsi1, by_status.encode()));
    item.extend(keyed(Place::Gsi2, IssuePriorityKey { repository, priority, number }.encode()));
    Ok(item)
}

#[cfg(test)]
mod tests;
