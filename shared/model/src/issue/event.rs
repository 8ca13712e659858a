//! The event that tells of an issue: its type, and what it says.
//!
//! Its subject is the repository, so who follows `subject:repo:{owner}:{repo}` is told of all its issues. It names what
//! changed and shows what a list of issues would; the body, which may be as large as an event may be, is left out.

use lately_keys::table::{IssuePriority, IssueStatus};
use lately_keys::{Actor, Subject};
use serde::Serialize;

use super::{Issue, IssueTitle};
use crate::data::Data;
use crate::event::NewEvent;

/// The topic of these events.
pub const ISSUES_TOPIC: &str = "issues";

/// What the event of an issue says: `{"number","title","status","priority","changed"}`.
#[derive(Serialize)]
struct Told<'a> {
    number: u32,
    title: &'a IssueTitle,
    status: &'a str,
    priority: &'a str,
    changed: &'a [&'static str],
}

/// The event of an issue that is opened. Nothing has changed: there was nothing before.
///
/// # Panics
/// Never: a type of ours is one.
#[must_use]
pub fn issue_opened(issue: &Issue) -> NewEvent {
    told("issue.opened", issue, &[], &issue.opened_by)
}

/// The event of an issue that is changed by someone; none if nothing is.
///
/// Closing and reopening name the event, whatever else changes with it. Who sets the priority to what it was already
/// changes it too: labels no longer will.
///
/// # Panics
/// As [`issue_opened`].
#[must_use]
pub fn issue_changed(before: &Issue, after: &Issue, by: &Actor) -> Option<NewEvent> {
    let changed = changed(before, after);
    let event_type = match (before.status, after.status) {
        _ if changed.is_empty() => return None,
        (IssueStatus::Open, IssueStatus::Closed) => "issue.closed",
        (IssueStatus::Closed, IssueStatus::Open) => "issue.reopened",
        (IssueStatus::Open, IssueStatus::Open) | (IssueStatus::Closed, IssueStatus::Closed) => {
            "issue.updated"
        }
    };
    Some(told(event_type, after, &changed, by))
}

fn changed(before: &Issue, after: &Issue) -> Vec<&'static str> {
    let priority = |issue: &Issue| -> (IssuePriority, bool) { (issue.priority, issue.priority_by_hand) };
    let fields = [
        ("title", before.title != after.title),
        ("body", before.body != after.body),
        ("labels", before.labels != after.labels),
        ("status", before.status != after.status),
        ("priority", priority(before) != priority(after)),
    ];
    fields.into_iter().filter_map(|(name, changed)| changed.then_some(name)).collect()
}

fn told(event_type: &str, issue: &Issue, changed: &[&'static str], by: &Actor) -> NewEvent {
    let told = Told {
        number: issue.number.get(),
        title: &issue.title,
        status: issue.status.as_str(),
        priority: issue.priority.as_str(),
        changed,
    };
    NewEvent {
        event_type: event_type.parse().expect("a type of ours is one"),
        actor: by.clone(),
        subject: Some(Subject::repository(&issue.repository.owner, &issue.repository.repo)),
        data: Some(Data::of(&told)),
        at: None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::issue;
    use super::super::{IssueChange, Labels};
    use super::*;

    fn by() -> Actor {
        "bob".parse().unwrap()
    }

    /// The type and the changed fields of what a change tells.
    fn tells(before: &Issue, change: &str) -> Option<(String, String)> {
        let after = IssueChange::parse(change.as_bytes()).unwrap().apply_to(before);
        let event = issue_changed(before, &after, &by())?;
        assert_eq!((event.actor, event.at), (by(), None));
        let data = event.data.unwrap();
        let (_, changed) = data.as_str().split_once(r#""changed":"#).unwrap();
        Some((event.event_type.to_string(), changed.trim_end_matches('}').to_owned()))
    }

    fn told_of(event_type: &str, changed: &str) -> Option<(String, String)> {
        Some((event_type.to_owned(), changed.to_owned()))
    }

    #[test]
    fn opening_tells_the_issue_and_its_repository() {
        let event = issue_opened(&issue());
        assert_eq!((event.event_type.as_str(), event.actor.as_str()), ("issue.opened", "ada"));
        assert_eq!(event.subject.unwrap().as_str(), "repo:octo:hello");
        assert_eq!(
            event.data.unwrap().as_str(),
            r#"{"number":7,"title":"It says \"goodbye\"","status":"open","priority":"medium","changed":[]}"#
        );
    }

    #[test]
    fn closing_and_reopening_name_the_event_whatever_else_changes() {
        let open = issue();
        let closed = Issue { status: IssueStatus::Closed, ..issue() };
        assert_eq!(tells(&open, r#"{"status":"closed"}"#), told_of("issue.closed", r#"["status"]"#));
        assert_eq!(
            tells(&open, r#"{"priority":"high","status":"closed","title":"t"}"#),
            told_of("issue.closed", r#"["title","status","priority"]"#)
        );
        assert_eq!(tells(&closed, r#"{"status":"open"}"#), told_of("issue.reopened", r#"["status"]"#));
        assert_eq!(
            tells(&closed, r#"{"status":"closed","body":"b"}"#),
            told_of("issue.updated", r#"["body"]"#)
        );
    }

    #[test]
    fn labels_that_move_the_priority_tell_both() {
        assert_eq!(
            tells(&issue(), r#"{"labels":["critical"]}"#),
            told_of("issue.updated", r#"["labels","priority"]"#)
        );
        assert_eq!(tells(&issue(), r#"{"labels":["ui"]}"#), told_of("issue.updated", r#"["labels"]"#));
    }

    #[test]
    fn what_changes_nothing_tells_nothing() {
        assert_eq!(tells(&issue(), r#"{"status":"open","labels":[],"body":null}"#), None);
        let set = tells(&issue(), r#"{"priority":"medium"}"#);
        assert_eq!(set, told_of("issue.updated", r#"["priority"]"#), "it is set by hand now");
        let by_hand = Issue { priority_by_hand: true, ..issue() };
        assert_eq!(tells(&by_hand, r#"{"priority":"medium"}"#), None);
        let labels = Labels::new(vec!["a".parse().unwrap(), "b".parse().unwrap()]).unwrap();
        let labelled = Issue { labels, ..issue() };
        assert_eq!(tells(&labelled, r#"{"labels":["b","a"]}"#), told_of("issue.updated", r#"["labels"]"#));
    }
}
