//! Handlers of issues: clients open, read, list and change them, changing only the revision that they have seen.

use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::IntoResponse;
use lately_items::{IssueKey, RepositoryKey};
use lately_keys::{IssueNumber, Owner, Repo};
use lately_kit::answer::Json;
use lately_kit::body::Body;
use lately_kit::caller::Caller;
use lately_kit::op::Op;
use lately_kit::path::Part;
use lately_kit::precondition::{ETag, Under};
use lately_kit::problem::Problem;
use lately_kit::query::Query;
use lately_model::{Issue, IssueChange, IssueList, IssueQuery, NewIssue, RecordQuery};

pub(crate) async fn post(
    op: Op,
    caller: Caller,
    Part(owner): Part<Owner>,
    Part(repo): Part<Repo>,
    Body(new): Body<NewIssue>,
) -> Result<impl IntoResponse, Problem> {
    let repository = RepositoryKey { owner, repo };
    let issue = op.repository(&repository).open(&new, &caller.actor()).await?;
    let RepositoryKey { owner, repo } = repository;
    let location = [(LOCATION, format!("/repos/{owner}/{repo}/issues/{}", issue.number))];
    Ok((StatusCode::CREATED, ETag(issue.revision), location, Json(issue)))
}

pub(crate) async fn list(
    op: Op,
    Part(owner): Part<Owner>,
    Part(repo): Part<Repo>,
    Query(query): Query<IssueQuery>,
) -> Result<Json<IssueList>, Problem> {
    Ok(Json(op.repository(&RepositoryKey { owner, repo }).list(&query).await?))
}

pub(crate) async fn get(
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

pub(crate) async fn patch(
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
