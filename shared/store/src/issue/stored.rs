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

use lately_items::{IssueKey, IssuePriorityKey, IssueStatusKey, RepositoryKey};
use lately_keys::TableKey;
use lately_model::{Issue, IssueBody, Label, Labels};
use lately_table::{Corrupt, Item, REVISION, Value, revision_of};

/// The schema that this program writes.
pub(super) const SCHEMA: u32 = 3;

/// The item of an issue.
pub(super) fn encode(issue: &Issue) -> Item {
    let key = IssueKey::of(issue);
    let IssueKey { repository, number } = key.clone();
    let (status, priority) = (issue.status, issue.priority);
    Item::at(&key)
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

pub(super) fn decode(item: &Item) -> Result<Issue, Corrupt> {
    let IssueKey { repository: RepositoryKey { owner, repo }, number } = decode_key(item)?;
    Ok(Issue {
        owner,
        repo,
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
