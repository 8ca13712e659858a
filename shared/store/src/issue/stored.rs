//! An issue as it is stored.
//!
//! ```text
//! REPO#{owner}#{repo} / ISSUE#{8 digits}
//!   title S, body S?, labels L of S?, status S (open, closed), opened_by S, opened_at N (milliseconds), gsi1pk, gsi1sk
//!   since schema 2: schema N (absent: 1), revision N, updated_at N (milliseconds)
//!   since schema 3: priority S (high, medium, low), by_hand BOOL? (someone set the priority, so it ignores labels),
//!                   gsi2pk, gsi2sk
//! ```
//!
//! The attribute names are those of existing tables, and not short: older writers and readers know them.
//!
//! Two rules must hold. The keys of both indexes follow from status and priority. And an issue that was read keeps its
//! item as it is stored: a write starts from the stored item, so it leaves attributes alone that this program does not
//! know.

use lately_keys::TableKey;
use lately_keys::table::{IssueKey, IssuePriorityKey, IssueStatusKey};
use lately_model::{Issue, IssueBody, Label, Labels};
use lately_table::{Corrupt, Item, REVISION, Update, Value, revision_of};

use crate::issue::migration::{SCHEMA, upgraded};

/// The attributes that must not have changed between a read and the write that follows. The revision is not enough: a
/// writer of an older schema changes some of the others without a new revision.
const BASIS: [&str; 6] = ["schema", REVISION, "status", "labels", "priority", "by_hand"];

/// An issue that was read.
#[derive(Clone, Debug)]
pub(super) struct ReadIssue {
    pub(super) issue: Issue,
    /// The item as it is stored.
    stored: Item,
    /// The item in the current schema.
    upgraded: Item,
}

impl ReadIssue {
    pub(super) fn of(stored: Item) -> Result<Self, Corrupt> {
        let upgraded = upgraded(&stored)?;
        Ok(Self { issue: decode(&upgraded)?, stored, upgraded })
    }

    /// The update that upgrades the stored item; `None` if the item needs no upgrade.
    pub(super) fn upgrade(&self) -> Option<Update> {
        self.update_between(&self.upgraded)
    }

    /// The update of the stored item to another state of the issue; `None` if nothing differs.
    pub(super) fn update_to(&self, next: &Issue) -> Option<Update> {
        self.update_between(&self.item_of(next))
    }

    /// The item of another state of the issue. It differs from the upgraded item only in the attributes that the change
    /// is about: an item of a newer schema may have others, and other values.
    pub(super) fn item_of(&self, next: &Issue) -> Item {
        let (before, after) = (encode(&self.issue), encode(next));
        let mut item = self.upgraded.clone();
        for name in before.names().chain(after.names()).filter(|name| before.get(name) != after.get(name)) {
            match after.get(name) {
                Some(value) => item.set(name, value),
                None => drop(item.remove(name)),
            }
        }
        item
    }

    fn update_between(&self, wanted: &Item) -> Option<Update> {
        Update::between(key_of(&self.issue).encode(), &self.stored, wanted, &BASIS)
    }
}

fn key_of(issue: &Issue) -> IssueKey {
    IssueKey { repository: issue.repository.clone(), number: issue.number }
}

/// The item of an issue.
pub(super) fn encode(issue: &Issue) -> Item {
    let IssueKey { repository, number } = key_of(issue);
    let (status, priority) = (issue.status, issue.priority);
    Item::at(&key_of(issue))
        .also_at(&IssueStatusKey { repository: repository.clone(), status, number })
        .also_at(&IssuePriorityKey { repository, priority, number })
        .with("schema", SCHEMA)
        .with("title", issue.title.as_str())
        .with_some("body", issue.body.as_ref().map(IssueBody::as_str))
        .with("labels", Value::list(issue.labels.iter().map(Label::as_str)))
        .with("status", status.as_str())
        .with("priority", priority.as_str())
        .with_flag("by_hand", issue.priority_by_hand)
        .with("opened_by", issue.opened_by.as_str())
        .with("opened_at", issue.opened_at.get())
        .with("updated_at", issue.updated_at.get())
        .with(REVISION, issue.revision.get())
}

fn decode(item: &Item) -> Result<Issue, Corrupt> {
    let IssueKey { repository, number } = decode_key(item)?;
    Ok(Issue {
        repository,
        number,
        title: item.parsed("title")?,
        body: item.optional_parsed("body")?,
        labels: decode_labels(item)?,
        status: item.parsed("status")?,
        priority: item.parsed("priority")?,
        priority_by_hand: item.flag("by_hand"),
        opened_by: item.parsed("opened_by")?,
        opened_at: item.millis("opened_at")?,
        updated_at: item.millis("updated_at")?,
        revision: revision_of(item)?,
    })
}

pub(super) fn decode_key(item: &Item) -> Result<IssueKey, Corrupt> {
    IssueKey::decode(item.text("pk")?, item.text("sk")?).ok_or_else(|| item.corrupt("sk"))
}

pub(super) fn decode_labels(item: &Item) -> Result<Labels, Corrupt> {
    let labels = item.text_list("labels")?.into_iter().map(str::parse).collect::<Result<Vec<Label>, _>>();
    labels.ok().and_then(|labels| Labels::new(labels).ok()).ok_or_else(|| item.corrupt("labels"))
}
