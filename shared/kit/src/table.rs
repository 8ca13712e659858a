//! What the store's errors mean to a client: the one map from them to problems, with no case left out.

use axum::http::header::ETAG;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use lately_keys::Topic;
use lately_keys::table::ConsumerKey;
use lately_model::{AcceptedEvent, AtError, Fault, Faults, PartlyAccepted, RejectedEvent};
use lately_store::limits::CONSUMERS;
use lately_store::{
    ChangeIssueError, ConsumerError, Cost, DeleteError, FollowError, GetDocumentError, GetError,
    GetIssueError, IssuesError, LatestError, ListError, OpenIssueError, PutTopicError, RunsError, SeeError,
    SessionError, TableError, TimelineError, TopicError, WriteDocumentError, WriteError,
};
use serde::Serialize;

use crate::answer;
use crate::caller::Caller;
use crate::code::Code;
use crate::log::COST_HEADER;
use crate::precondition::etag;
use crate::problem::Problem;

/// Seconds after which a client may try again what the table refused.
const RETRY_SECONDS: u32 = 1;

/// A value as JSON, with what it cost to read.
#[must_use]
pub fn read<T: Serialize + ?Sized>(body: &T, cost: &Cost) -> Response {
    with_cost(answer::json(StatusCode::OK, body), &cost.of_read())
}

/// As [`read`], of what several topics share. What it cost depends on all that was read: a caller who may not see every
/// topic is told how many items it was shown, and no more.
#[must_use]
pub fn read_shared<T: Serialize + ?Sized>(body: &T, cost: &Cost, caller: &Caller) -> Response {
    match caller.topics {
        None => read(body, cost),
        Some(_) => with_cost(answer::json(StatusCode::OK, body), &format!("items={}", cost.items)),
    }
}

/// An answer, with what it cost to write.
#[must_use]
pub fn written(response: Response, cost: &Cost) -> Response {
    with_cost(response, &cost.of_write())
}

fn with_cost(mut response: Response, cost: &str) -> Response {
    let cost = HeaderValue::from_str(cost).expect("a cost is digits and words");
    response.headers_mut().insert(COST_HEADER, cost);
    response
}

impl From<TableError> for Problem {
    fn from(error: TableError) -> Self {
        match error {
            TableError::Unavailable(_) => Self::unavailable(&error).retry_after(RETRY_SECONDS),
            TableError::Corrupt(_) => Self::unavailable(&error),
        }
    }
}

/// No such topic, and how to have one.
#[must_use]
pub fn topic_not_found(topic: &Topic) -> Problem {
    Problem::new(Code::TopicNotFound, format!("PUT /topics/{topic} creates it (scope admin)."))
}

/// The problem that reading a topic met.
#[must_use]
pub fn topic_problem(topic: &Topic, error: TopicError) -> Problem {
    match error {
        TopicError::NotFound => topic_not_found(topic),
        TopicError::Table(error) => error.into(),
    }
}

/// The problem that creating or changing a topic met.
#[must_use]
pub fn put_topic_problem(error: PutTopicError) -> Problem {
    match error {
        PutTopicError::Refused(fault) => fault.into(),
        PutTopicError::Table(error) => error.into(),
    }
}

/// The problem that reading a list met.
#[must_use]
pub fn list_problem(error: ListError) -> Problem {
    match error {
        ListError::Cursor(error) => error.into(),
        ListError::Table(error) => error.into(),
    }
}

/// The problem that reading the latest met.
#[must_use]
pub fn latest_problem(topic: &Topic, error: LatestError) -> Problem {
    match error {
        LatestError::TopicNotFound => topic_not_found(topic),
        LatestError::Cursor(error) => error.into(),
        LatestError::Table(error) => error.into(),
    }
}

/// The problem that fetching an event met.
#[must_use]
pub fn get_problem(topic: &Topic, error: GetError) -> Problem {
    match error {
        GetError::TopicNotFound => topic_not_found(topic),
        GetError::NotFound => {
            Problem::new(Code::EventNotFound, "It was never there, was deleted, or its time is over.")
        }
        GetError::Table(error) => error.into(),
    }
}

/// The problem that deleting an event met.
#[must_use]
pub fn delete_problem(topic: &Topic, error: DeleteError) -> Problem {
    match error {
        DeleteError::TopicNotFound => topic_not_found(topic),
        DeleteError::NotYours => {
            Problem::new(Code::Forbidden, "The event is another actor's: this needs the scope act-as.")
        }
        DeleteError::Table(error) => error.into(),
    }
}

/// The problem that following a source met.
#[must_use]
pub fn follow_problem(error: FollowError) -> Problem {
    match error {
        FollowError::TooManyPullSources => Problem::new(
            Code::TooManyPullSources,
            "The source has too many followers to push to, and the feed pulls as many such sources as it may.",
        ),
        FollowError::Table(error) => error.into(),
    }
}

/// The problem that reading a timeline of a source, or a feed, met.
#[must_use]
pub fn timeline_problem(error: TimelineError) -> Problem {
    match error {
        TimelineError::Cursor(error) => error.into(),
        TimelineError::InFuture => {
            let message = "must not be of an event in the future".to_owned();
            Problem::of_faults(Code::InvalidQuery, Fault { path: "/wait_for".to_owned(), message }.into())
        }
        TimelineError::NotYetVisible => {
            Problem::new(Code::NotYetVisible, "Ask again: timelines and feeds are written behind.")
                .retry_after(RETRY_SECONDS)
        }
        TimelineError::Table(error) => error.into(),
    }
}

/// The problem that marking a feed as seen met.
#[must_use]
pub fn see_problem(error: SeeError) -> Problem {
    match error {
        SeeError::InFuture => {
            let message = "must not be of an event in the future".to_owned();
            Problem::of_faults(Code::InvalidBody, Fault { path: "/id".to_owned(), message }.into())
        }
        SeeError::Table(error) => error.into(),
    }
}

/// The problem that fetching a session met.
#[must_use]
pub fn session_problem(error: SessionError) -> Problem {
    match error {
        SessionError::NotFound => {
            Problem::new(Code::NotFound, "The session was never there, was revoked, or has expired.")
        }
        SessionError::Table(error) => error.into(),
    }
}

/// The problem that fetching a record met.
#[must_use]
pub fn get_document_problem(error: GetDocumentError) -> Problem {
    match error {
        GetDocumentError::NotFound => {
            Problem::new(Code::NotFound, "The record was never there, or was deleted.")
        }
        GetDocumentError::Table(error) => error.into(),
    }
}

/// The problem that writing or deleting a record met.
#[must_use]
pub fn write_document_problem(error: WriteDocumentError) -> Problem {
    match error {
        WriteDocumentError::RevisionRequired => {
            Problem::new(Code::RevisionRequired, "The record exists: send its ETag as If-Match.")
        }
        WriteDocumentError::Mismatch(Some(revision)) => {
            Problem::new(Code::RevisionMismatch, "The record has changed: ETag says its revision.")
                .header(ETAG, etag(revision))
        }
        WriteDocumentError::Mismatch(None) => {
            Problem::new(Code::RevisionMismatch, "There is no record: nothing to replace.")
        }
        WriteDocumentError::Table(error) => error.into(),
    }
}

/// The problem that opening an issue met.
#[must_use]
pub fn open_issue_problem(error: OpenIssueError) -> Problem {
    match error {
        OpenIssueError::TooManyIssues => {
            Problem::new(Code::TooManyIssues, "Its last issue has the highest number there can be.")
        }
        OpenIssueError::Table(error) => error.into(),
    }
}

/// The problem that fetching an issue met.
#[must_use]
pub fn get_issue_problem(error: GetIssueError) -> Problem {
    match error {
        GetIssueError::NotFound => no_such_issue(),
        GetIssueError::Table(error) => error.into(),
    }
}

/// The problem that changing an issue met.
#[must_use]
pub fn change_issue_problem(error: ChangeIssueError) -> Problem {
    match error {
        ChangeIssueError::NotFound => no_such_issue(),
        ChangeIssueError::RevisionRequired(revision) => {
            Problem::new(Code::RevisionRequired, "Send the issue's ETag as If-Match.")
                .header(ETAG, etag(revision))
        }
        ChangeIssueError::Mismatch(Some(revision)) => {
            Problem::new(Code::RevisionMismatch, "The issue has changed: ETag says its revision.")
                .header(ETAG, etag(revision))
        }
        ChangeIssueError::Mismatch(None) => {
            Problem::new(Code::RevisionMismatch, "There is no issue of this number: nothing to change.")
        }
        ChangeIssueError::Table(error) => error.into(),
    }
}

/// The problem that listing issues met.
#[must_use]
pub fn issues_problem(error: IssuesError) -> Problem {
    match error {
        IssuesError::Cursor(error) => error.into(),
        IssuesError::NotYetVisible => Problem::new(
            Code::NotYetVisible,
            "Ask again: lists of a status or a priority are written behind.",
        )
        .retry_after(RETRY_SECONDS),
        IssuesError::Table(error) => error.into(),
    }
}

fn no_such_issue() -> Problem {
    Problem::new(Code::NotFound, "No issue of this number was opened in this repository.")
}

/// The problem that writing events met; `single` if the body was one event and no list.
#[must_use]
pub fn write_problem(topic: &Topic, single: bool, error: WriteError) -> Problem {
    match error {
        WriteError::TopicNotFound => topic_not_found(topic),
        WriteError::ImportNotAllowed(_) => {
            Problem::new(Code::Forbidden, "An event more than 60 s in the past needs the scope import.")
        }
        WriteError::TooOld(indices) => {
            let fault = |index| Fault {
                path: if single { "/at".to_owned() } else { format!("/{index}/at") },
                message: AtError::Expired.to_string(),
            };
            let faults = Faults::new(indices.into_iter().map(fault).collect());
            Problem::of_faults(Code::InvalidEvent, faults.expect("some event was too old"))
        }
        WriteError::KeyReused => Problem::new(
            Code::IdempotencyKeyReused,
            "The key came with another body within the last 24 hours.",
        ),
        WriteError::Partly { accepted, rejected } => {
            let accepted = accepted.into_iter().map(|(index, id)| AcceptedEvent { index, id });
            let rejected =
                rejected.into_iter().map(|index| RejectedEvent { index, code: Code::Unavailable.as_str() });
            let partly = PartlyAccepted { accepted: accepted.collect(), rejected: rejected.collect() };
            Problem::partly_accepted(partly).retry_after(RETRY_SECONDS)
        }
        WriteError::Table(error) => error.into(),
    }
}

/// The problem that a consumer's own operations met.
#[must_use]
pub fn consumer_problem(consumer: &ConsumerKey, error: ConsumerError) -> Problem {
    match error {
        ConsumerError::TopicNotFound => topic_not_found(&consumer.topic),
        ConsumerError::NotFound => no_such_consumer(consumer),
        ConsumerError::StaleBatch => Problem::new(
            Code::StaleBatch,
            "Another batch is outstanding, or none: poll, and commit what that gives.",
        ),
        ConsumerError::TooManyConsumers => Problem::new(
            Code::TooManyConsumers,
            format!("A topic has at most {CONSUMERS} consumers. Delete one that is no longer used."),
        ),
        ConsumerError::HasRuns => {
            Problem::new(Code::HasRuns, "Its reports are its place in the topic: poll with another consumer.")
        }
        ConsumerError::Table(error) => error.into(),
    }
}

/// The problem that listing a consumer's runs met.
#[must_use]
pub fn runs_problem(consumer: &ConsumerKey, error: RunsError) -> Problem {
    match error {
        RunsError::TopicNotFound => topic_not_found(&consumer.topic),
        RunsError::NotFound => no_such_consumer(consumer),
        RunsError::Cursor(error) => error.into(),
        RunsError::Table(error) => error.into(),
    }
}

fn no_such_consumer(ConsumerKey { topic, name }: &ConsumerKey) -> Problem {
    Problem::new(Code::NotFound, format!("PUT /topics/{topic}/consumers/{name} creates it."))
}
