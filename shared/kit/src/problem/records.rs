//! The problems of the table itself, lists, timelines, feeds, profiles, settings, sessions, issues and erasures:
//! everything except topics.

use axum::http::header::ETAG;
use lately_model::{Fault, Revision};
use lately_store::limits::OPEN_STREAMS;
use lately_store::{
    ChangeIssueError, DocumentNotFound, ErasureNotFound, FindError, FollowError, IssueNotFound, IssuesError,
    ListError, OpenIssueError, SeeError, SessionNotFound, TableError, TimelineError, WriteDocumentError,
};

use super::{Problem, RETRY_SECONDS};
use crate::code::Code;
use crate::precondition::etag;

impl From<TableError> for Problem {
    fn from(error: TableError) -> Self {
        match error {
            TableError::Unavailable(_) | TableError::Busy(_) => {
                Self::unavailable(&error).retry_after(RETRY_SECONDS)
            }
            TableError::Corrupt(_) => Self::unavailable(&error),
        }
    }
}

impl<N: std::error::Error + Into<Self>> From<FindError<N>> for Problem {
    fn from(error: FindError<N>) -> Self {
        match error {
            FindError::NotFound(error) => error.into(),
            FindError::Table(error) => error.into(),
        }
    }
}

impl From<ListError> for Problem {
    fn from(error: ListError) -> Self {
        match error {
            ListError::Cursor(error) => error.into(),
            ListError::Table(error) => error.into(),
        }
    }
}

impl From<FollowError> for Problem {
    fn from(error: FollowError) -> Self {
        match error {
            FollowError::TooManyPullSources { .. } => Self::new(
                Code::TooManyPullSources,
                "The source has too many followers to push to, and the feed already pulls the most sources it can. \
                 Unfollow one of those sources first.",
            ),
            FollowError::Table(error) => error.into(),
        }
    }
}

impl From<TimelineError> for Problem {
    fn from(error: TimelineError) -> Self {
        match error {
            TimelineError::Topic(error) => error.into(),
            TimelineError::Cursor(error) => error.into(),
            TimelineError::NewestFirstWait => {
                let message = "needs the cursor of an oldest-first page".to_owned();
                Self::of_faults(Code::InvalidQuery, Fault { path: "/wait".to_owned(), message }.into())
            }
            TimelineError::TooManyStreams(seconds) => {
                let detail = format!(
                    "The token has {OPEN_STREAMS} open streams and pages that wait. End one, or try again in {seconds} s."
                );
                Self::new(Code::RateLimited, detail).retry_after(seconds)
            }
            TimelineError::InFuture => in_future(Code::InvalidQuery, "/wait_for"),
            TimelineError::NotYetVisible => Self::new(
                Code::NotYetVisible,
                "The event of `wait_for` has not reached this timeline or feed yet. Try again.",
            )
            .retry_after(RETRY_SECONDS),
            TimelineError::Table(error) => error.into(),
        }
    }
}

impl From<SeeError> for Problem {
    fn from(error: SeeError) -> Self {
        match error {
            SeeError::InFuture => in_future(Code::InvalidBody, "/id"),
            SeeError::Table(error) => error.into(),
        }
    }
}

/// The problem of an id whose event lies in the future.
fn in_future(code: Code, path: &str) -> Problem {
    let message = "must not be the id of an event in the future".to_owned();
    Problem::of_faults(code, Fault { path: path.to_owned(), message }.into())
}

with_detail! {
    SessionNotFound => NotFound "The session never existed, was revoked, or has expired.";
    ErasureNotFound => NotFound "There is no erasure with this id.";
    DocumentNotFound => NotFound "The record never existed or was deleted.";
    IssueNotFound => NotFound "The repository has no issue with this number.";
}

impl From<WriteDocumentError> for Problem {
    fn from(error: WriteDocumentError) -> Self {
        match error {
            WriteDocumentError::RevisionRequired => Self::new(
                Code::RevisionRequired,
                "The record exists. Read it, then send its ETag in If-Match.",
            ),
            WriteDocumentError::Mismatch(Some(revision)) => mismatch("record", revision),
            WriteDocumentError::Mismatch(None) => Self::new(
                Code::RevisionMismatch,
                "The record does not exist. PUT without If-Match creates it.",
            ),
            WriteDocumentError::Table(error) => error.into(),
        }
    }
}

/// The problem of a revision that is not the stored one, which the header `ETag` has.
fn mismatch(thing: &str, revision: Revision) -> Problem {
    let detail = format!("The {thing} has another revision. Read it, then send its ETag in If-Match.");
    Problem::new(Code::RevisionMismatch, detail).header(ETAG, etag(revision))
}

impl From<OpenIssueError> for Problem {
    fn from(error: OpenIssueError) -> Self {
        match error {
            OpenIssueError::TooManyIssues { .. } => Self::new(
                Code::TooManyIssues,
                "The repository has used its last issue number. Open the issue in another repository.",
            ),
            OpenIssueError::ActorIsBeingErased(error) => error.into(),
            OpenIssueError::Table(error) => error.into(),
        }
    }
}

impl From<ChangeIssueError> for Problem {
    fn from(error: ChangeIssueError) -> Self {
        match error {
            ChangeIssueError::NotFound(error) => error.into(),
            ChangeIssueError::RevisionRequired(revision) => {
                Self::new(Code::RevisionRequired, "Send the issue's ETag in If-Match.")
                    .header(ETAG, etag(revision))
            }
            ChangeIssueError::Mismatch(Some(revision)) => mismatch("issue", revision),
            ChangeIssueError::Mismatch(None) => {
                Self::new(Code::RevisionMismatch, "The repository has no issue with this number.")
            }
            ChangeIssueError::ActorIsBeingErased(error) => error.into(),
            ChangeIssueError::Table(error) => error.into(),
        }
    }
}

impl From<IssuesError> for Problem {
    fn from(error: IssuesError) -> Self {
        match error {
            IssuesError::Cursor(error) => error.into(),
            IssuesError::NotYetVisible => Self::new(
                Code::NotYetVisible,
                "The revision of `wait_for` has not reached this list yet. Try again.",
            )
            .retry_after(RETRY_SECONDS),
            IssuesError::Table(error) => error.into(),
        }
    }
}
