//! The events that report what happened to an issue: their types and their data.
//!
//! An event's subject is the repository, so followers of `subject:repo:{owner}:{repo}` see the events of all its
//! issues. The event names the changed fields and shows the issue as a list does. It leaves out the body, which may be
//! as large as a whole event.

use lately_keys::{Actor, IssueNumber, IssuePriority, IssueStatus, Owner, Repo, Subject};
use serde::{Deserialize, Serialize};

use super::{Issue, IssueTitle};
use crate::data::Data;
use crate::event::{Event, NewEvent};

/// The topic of these events.
pub const ISSUES_TOPIC: &str = "issues";

/// The data of an issue's event: `{"number","title","status","priority","changed"}`.
#[derive(Serialize)]
struct IssueData<'a> {
    number: u32,
    title: &'a IssueTitle,
    status: &'a str,
    priority: &'a str,
    changed: &'a [&'static str],
}

/// The event of an opened issue. Its `changed` is empty, because nothing existed before.
///
/// # Panics
/// Never: the types here are valid.
pub fn issue_opened(issue: &Issue) -> NewEvent {
    issue_event("issue.opened", issue, &[], &issue.opened_by)
}

/// The event of a changed issue; none if nothing changed.
///
/// Closing or reopening decides the event's type, whatever else changes at the same time. Setting the priority to its
/// present value is a change too: from then on the priority no longer follows the labels.
///
/// # Panics
/// As for [`issue_opened`].
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
    Some(issue_event(event_type, after, &changed, by))
}

/// The issue that an event reports; `None` if the event reports none.
pub fn reported_issue(event: &Event) -> Option<(Owner, Repo, IssueNumber)> {
    #[derive(Deserialize)]
    struct ReportedNumber {
        number: u32,
    }

    let (owner, repo) = event.subject.as_ref()?.as_str().strip_prefix("repo:")?.split_once(':')?;
    let ReportedNumber { number } = serde_json::from_str(event.data.as_ref()?.as_str()).ok()?;
    Some((owner.parse().ok()?, repo.parse().ok()?, IssueNumber::try_from(number).ok()?))
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

fn issue_event(event_type: &str, issue: &Issue, changed: &[&'static str], by: &Actor) -> NewEvent {
    let data = IssueData {
        number: issue.number.get(),
        title: &issue.title,
        status: issue.status.as_str(),
        priority: issue.priority.as_str(),
        changed,
    };
    NewEvent {
        event_type: event_type.parse().expect("a type of ours is one"),
        actor: by.clone(),
        subject: Some(Subject::repository(&issue.owner, &issue.repo)),
        data: Some(Data::of(&data)),
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

    /// The type and the changed fields of the event of a change.
    fn event(before: &Issue, change: &str) -> Option<(String, String)> {
        let after = IssueChange::parse(change.as_bytes()).unwrap().apply_to(before);
        let event = issue_changed(before, &after, &by())?;
        assert_eq!((event.actor, event.at), (by(), None));
        let data = event.data.unwrap();
        let (_, changed) = data.as_str().split_once(r#""changed":"#).unwrap();
        Some((event.event_type.to_string(), changed.trim_end_matches('}').to_owned()))
    }

    fn expected(event_type: &str, changed: &str) -> Option<(String, String)> {
        Some((event_type.to_owned(), changed.to_owned()))
    }

    #[test]
    fn the_event_of_an_opened_issue_names_its_repository() {
        let event = issue_opened(&issue());
        assert_eq!((event.event_type.as_str(), event.actor.as_str()), ("issue.opened", "ada"));
        assert_eq!(event.subject.unwrap().as_str(), "repo:octo:hello");
        assert_eq!(
            event.data.unwrap().as_str(),
            r#"{"number":7,"title":"It says \"goodbye\"","status":"open","priority":"medium","changed":[]}"#
        );
    }

    #[test]
    fn an_event_names_the_issue_that_it_reports() {
        let id = "0190a4cd-d3e7-7222-9f99-fdb74feee752".parse().unwrap();
        let event = Event::of(issue_opened(&issue()), id);
        let Issue { owner, repo, number, .. } = issue();
        assert_eq!(reported_issue(&event), Some((owner, repo, number)));
        for (subject, data) in [
            ("octo:hello", r#"{"number":7}"#),
            ("repo:octo", r#"{"number":7}"#),
            ("repo:octo:hello", r#"{"number":0}"#),
        ] {
            let (subject, data) = (subject.parse().ok(), data.parse().ok());
            assert_eq!(reported_issue(&Event { subject, data, ..event.clone() }), None);
        }
        assert_eq!(reported_issue(&Event { subject: None, ..event }), None);
    }

    #[test]
    fn a_change_of_nothing_makes_no_event() {
        assert_eq!(event(&issue(), r#"{"status":"open","labels":[],"body":null}"#), None);
        let set = event(&issue(), r#"{"priority":"medium"}"#);
        assert_eq!(set, expected("issue.updated", r#"["priority"]"#), "it is set by hand now");
        let by_hand = Issue { priority_by_hand: true, ..issue() };
        assert_eq!(event(&by_hand, r#"{"priority":"medium"}"#), None);
        let labels = Labels::new(vec!["a".parse().unwrap(), "b".parse().unwrap()]).unwrap();
        let labelled = Issue { labels, ..issue() };
        assert_eq!(event(&labelled, r#"{"labels":["b","a"]}"#), expected("issue.updated", r#"["labels"]"#));
    }
}
