//! Handlers of issues: clients open, read, list and change them, changing only the revision that they have seen.

use axum::http::StatusCode;
use lately_items::{IssueKey, RepositoryKey};
use lately_keys::{IssueNumber, Owner, Repo};
use lately_kit::answer::{Json, Location};
use lately_kit::body::Body;
use lately_kit::caller::Caller;
use lately_kit::document::Description;
use lately_kit::op::Op;
use lately_kit::path::Part;
use lately_kit::precondition::{ETag, Under};
use lately_kit::problem::Problem;
use lately_kit::query::Query;
use lately_kit::route::Routes;
use lately_kit::routes;
use lately_model::{Issue, IssueChange, IssueList, IssueQuery, NewIssue, RecordQuery};

/// The routes of this file.
pub(crate) fn routes<D: Description>() -> Routes<D> {
    routes! { "Records"
        /// List a repository's issues, by number
        ///
        /// Newest first by default. Lists all issues, or the issues of a status or a priority. Lists by status or
        /// priority are read from an index that is written asynchronously; `wait_for` waits for it. A repository
        /// without issues has an empty list.
        GET "/repos/{owner}/{repo}/issues" OnIssues(Read) Read list_issues {
            200 "A page of the list.";
            else NotYetVisible
        }

        /// Open an issue
        ///
        /// The issue gets the repository's next number. A number is never used twice; a number may be skipped. The
        /// priority follows the labels: `critical` makes it high, otherwise `enhancement` makes it low. The event
        /// `issue.opened` is written to the topic `issues` in the same transaction.
        POST "/repos/{owner}/{repo}/issues" OnIssues(Write) Write post_issue {
            201 "The issue was opened.";
            else TooManyIssues, ActorIsBeingErased
        }

        /// Get an issue
        ///
        /// Without `consistent`, the response may be a version from before a recent change.
        GET "/repos/{owner}/{repo}/issues/{number}" OnIssues(Read) Read get_issue { 200 "The issue."; else NotFound }

        /// Change, close or reopen an issue
        ///
        /// Send the issue's `ETag` as `If-Match`. An event is written to the topic `issues` in the same transaction:
        /// `issue.closed`, `issue.reopened`, otherwise `issue.updated`. A change that changes nothing writes nothing.
        PATCH "/repos/{owner}/{repo}/issues/{number}" OnIssues(Write) Write patch_issue {
            200 "The issue after the change.";
            else NotFound, ActorIsBeingErased
        }
    }
}

async fn post_issue(
    op: Op,
    caller: Caller,
    Part(owner): Part<Owner>,
    Part(repo): Part<Repo>,
    Body(new): Body<NewIssue>,
) -> Result<(StatusCode, ETag, Location, Json<Issue>), Problem> {
    let repository = RepositoryKey { owner, repo };
    let issue = op.repository(&repository).open(&new, &caller.actor()).await?;
    let RepositoryKey { owner, repo } = repository;
    let location = Location(format!("/repos/{owner}/{repo}/issues/{}", issue.number));
    Ok((StatusCode::CREATED, ETag(issue.revision), location, Json(issue)))
}

async fn list_issues(
    op: Op,
    Part(owner): Part<Owner>,
    Part(repo): Part<Repo>,
    Query(query): Query<IssueQuery>,
) -> Result<Json<IssueList>, Problem> {
    Ok(Json(op.repository(&RepositoryKey { owner, repo }).list(&query).await?))
}

async fn get_issue(
    op: Op,
    Part(owner): Part<Owner>,
    Part(repo): Part<Repo>,
    Part(number): Part<IssueNumber>,
    Query(RecordQuery { consistent }): Query<RecordQuery>,
) -> Result<(ETag, Json<Issue>), Problem> {
    let key = IssueKey { repository: RepositoryKey { owner, repo }, number };
    let issue = op.issue(&key).get(consistent).await?;
    Ok((ETag(issue.revision), Json(issue)))
}

async fn patch_issue(
    op: Op,
    caller: Caller,
    Part(owner): Part<Owner>,
    Part(repo): Part<Repo>,
    Part(number): Part<IssueNumber>,
    Under(precondition): Under,
    Body(change): Body<IssueChange>,
) -> Result<(ETag, Json<Issue>), Problem> {
    let key = IssueKey { repository: RepositoryKey { owner, repo }, number };
    let issue = op.issue(&key).change(&change, precondition, &caller.actor()).await?;
    Ok((ETag(issue.revision), Json(issue)))
}
