//! An issue as it is stored.
//!
//! ```text
//! REPO#{owner}#{repo} / ISSUE#{8 digits}
//!   title S, body S?, labels L of S?, status S (open, closed), opened_by S, opened_at N (milliseconds), gsi1pk, gsi1sk
//!   since schema 2: schema N (absent: 1), revision N, updated_at N (milliseconds)
//!   since schema 3: priority S (high, medium, low), by_hand BOOL? (set by someone, so labels no longer do), gsi2pk, gsi2sk
//! ```
//!
//! The names are those that such tables have, and not short: older writers and readers know them.
//!
//! What must hold: the keys of both indexes follow from status and priority. What is read is told from what is stored:
//! a write is made from what is stored, so it leaves alone what it does not know.

use aws_sdk_dynamodb::types::AttributeValue;
use lately_keys::table::{IssueKey, IssuePriorityKey, IssueStatusKey};
use lately_keys::{Place, TableKey, UnixMillis};
use lately_model::{Issue, Label, Labels};

use crate::issue::edit::Edit;
use crate::issue::migration::{SCHEMA, upgraded};
use crate::item::{Corrupt, Fields, Item, keyed, number, text};
use crate::revision::{REVISION, revision_of};

/// The attributes that what is written is made from, beside those that it sets: a writer of an older schema changes some
/// of them without a new revision.
const BASIS: [&str; 6] = ["schema", REVISION, "status", "labels", "priority", "by_hand"];

/// An issue that was read.
#[derive(Clone, Debug)]
pub(super) struct ReadIssue {
    pub(super) issue: Issue,
    /// Its item as it is stored.
    stored: Item,
    /// Its item in the schema of today.
    upgraded: Item,
}

impl ReadIssue {
    pub(super) fn of(stored: Item) -> Result<Self, Corrupt> {
        let upgraded = upgraded(&stored)?;
        Ok(Self { issue: decode(&upgraded)?, stored, upgraded })
    }

    /// What upgrades the item as it is stored; `None` if nothing is left to do.
    pub(super) fn upgrade(&self) -> Option<Edit> {
        Edit::between(&self.stored, &self.upgraded, &BASIS)
    }

    /// What makes the item as it is stored that of another state of the issue.
    pub(super) fn edit_to(&self, next: &Issue) -> Option<Edit> {
        let mut wanted = self.upgraded.clone();
        let (before, after) = (encode(&self.issue), encode(next));
        // Not simply all of it: an attribute of a newer schema stays as it is, unless the change is about it.
        wanted.retain(|name, _| after.contains_key(name) || !before.contains_key(name));
        wanted.extend(after.into_iter().filter(|(name, value)| before.get(name) != Some(value)));
        Edit::between(&self.stored, &wanted, &BASIS)
    }
}

/// The item of an issue.
pub(super) fn encode(issue: &Issue) -> Item {
    let Issue { repository, number: issue_number, status, priority, .. } = issue;
    let (repository, issue_number) = (repository.clone(), *issue_number);
    let mut item =
        keyed(Place::Table, IssueKey { repository: repository.clone(), number: issue_number }.encode());
    item.extend(keyed(
        Place::Gsi1,
        IssueStatusKey { repository: repository.clone(), status: *status, number: issue_number }.encode(),
    ));
    item.extend(keyed(
        Place::Gsi2,
        IssuePriorityKey { repository, priority: *priority, number: issue_number }.encode(),
    ));
    let labels = issue.labels.iter().map(|label| text(label.as_str())).collect();
    item.extend(
        [
            ("schema", number(SCHEMA)),
            ("title", text(issue.title.as_str())),
            ("labels", AttributeValue::L(labels)),
            ("status", text(status.as_str())),
            ("priority", text(priority.as_str())),
            ("opened_by", text(issue.opened_by.as_str())),
            ("opened_at", number(issue.opened_at.get())),
            ("updated_at", number(issue.updated_at.get())),
            (REVISION, number(issue.revision.get())),
        ]
        .map(|(name, value)| (name.to_owned(), value)),
    );
    if let Some(body) = &issue.body {
        item.insert("body".to_owned(), text(body.as_str()));
    }
    if issue.priority_by_hand {
        item.insert("by_hand".to_owned(), AttributeValue::Bool(true));
    }
    item
}

fn decode(item: &Item) -> Result<Issue, Corrupt> {
    let fields = Fields(item);
    let IssueKey { repository, number } = key_of(fields)?;
    Ok(Issue {
        repository,
        number,
        title: fields.parsed("title")?,
        body: fields.optional_parsed("body")?,
        labels: labels_of(fields)?,
        status: fields.parsed("status")?,
        priority: fields.parsed("priority")?,
        priority_by_hand: fields.flag("by_hand"),
        opened_by: fields.parsed("opened_by")?,
        opened_at: millis(fields, "opened_at")?,
        updated_at: millis(fields, "updated_at")?,
        revision: revision_of(item)?,
    })
}

pub(super) fn key_of(fields: Fields<'_>) -> Result<IssueKey, Corrupt> {
    IssueKey::decode(fields.text("pk")?, fields.text("sk")?).ok_or_else(|| fields.corrupt("sk"))
}

pub(super) fn labels_of(fields: Fields<'_>) -> Result<Labels, Corrupt> {
    let labels = fields.list("labels")?.iter().map(|label| label.as_s().ok()?.parse().ok());
    let labels: Option<Vec<Label>> = labels.collect();
    labels.and_then(|labels| Labels::new(labels).ok()).ok_or_else(|| fields.corrupt("labels"))
}

pub(super) fn millis(fields: Fields<'_>, name: &'static str) -> Result<UnixMillis, Corrupt> {
    UnixMillis::new(fields.number(name)?).map_err(|_| fields.corrupt(name))
}
