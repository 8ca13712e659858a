//! The upgrade of an issue's item to the current schema, step by step. Each step is a pure function from an item to an
//! item.
//!
//! | from | to | adds |
//! | --- | --- | --- |
//! | 1: items without an attribute `schema` | 2 | `revision` and `updated_at`, from the time of opening |
//! | 2 | 3 | `priority`, from the labels, and the key in `gsi2` |
//!
//! A writer of an older schema changes labels or status, and leaves the attributes alone that it does not know. So the
//! upgrade also derives the priority and the index keys anew, whatever the item's schema. It leaves an item alone whose
//! schema is newer than this program.
//!
//! Two rules must hold: an upgraded item needs no further upgrade, and attributes that no step knows stay as they are.

use lately_keys::IssuePriority;
use lately_model::{Issue, Labels};

use crate::issue::{IssueKey, IssuePriorityKey, IssueStatusKey, SCHEMA, encode};
use crate::item::{Corrupt, Item, REVISION};
use crate::record::Record;

/// An item in the current schema.
pub fn upgraded(item: &Item) -> Result<Item, Corrupt> {
    let schema = schema_of(item)?;
    if schema > SCHEMA {
        return Ok(item.clone());
    }
    let item = if schema == 1 { with_revision(item.clone())? } else { item.clone() };
    with_derived(item.with("schema", SCHEMA))
}

/// The schema of an item.
pub fn schema_of(item: &Item) -> Result<u32, Corrupt> {
    match item.optional("schema")?.unwrap_or(1) {
        0 => Err(item.corrupt("schema")),
        schema => Ok(schema),
    }
}

/// From 1 to 2. The revision is the one that the issue would have got when it was opened. So it is below all later
/// revisions.
fn with_revision(mut item: Item) -> Result<Item, Corrupt> {
    let opened_at = item.get::<u64>("opened_at")?;
    for (name, value) in [(REVISION, opened_at.saturating_mul(1_000)), ("updated_at", opened_at)] {
        if !item.has(name) {
            item.set(name, value);
        }
    }
    Ok(item)
}

/// From 2 to 3, and for every item: the priority from the labels, unless someone has set it, and the keys of both
/// indexes.
fn with_derived(item: Item) -> Result<Item, Corrupt> {
    let IssueKey { repository, number } = item.key_as()?;
    let status = item.get("status")?;
    let set: Option<IssuePriority> = item.optional("priority")?;
    let priority = match set.filter(|_| item.flag("by_hand")) {
        Some(set) => set,
        None => item.optional::<Labels>("labels")?.unwrap_or_default().priority(),
    };
    Ok(item
        .with("priority", &priority)
        .also_at(&IssueStatusKey { repository: repository.clone(), status, number })
        .also_at(&IssuePriorityKey { repository, priority, number }))
}

/// An issue that was read.
#[derive(Clone, Debug)]
pub struct ReadIssue {
    /// The issue.
    pub issue: Issue,
    /// The item as it is stored.
    pub stored: Item,
    /// The item in the current schema.
    pub upgraded: Item,
}

impl ReadIssue {
    /// The issue of an item of any schema.
    pub fn of(stored: Item) -> Result<Self, Corrupt> {
        let upgraded = upgraded(&stored)?;
        Ok(Self { issue: Issue::decode(&upgraded)?, stored, upgraded })
    }

    /// The item of another state of the issue. It differs from the upgraded item only in the attributes that the change
    /// is about: an item of a newer schema may have others, and other values.
    pub fn item_of(&self, next: &Issue) -> Item {
        let (before, after) = (encode(&self.issue), encode(next));
        let mut item = self.upgraded.clone();
        for name in before.names().chain(after.names()).filter(|name| before.value(name) != after.value(name))
        {
            match after.value(name) {
                Some(value) => item.set(name, value),
                None => drop(item.remove(name)),
            }
        }
        item
    }
}

#[cfg(test)]
mod tests;
