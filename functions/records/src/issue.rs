//! A repository's issues: opened, read, listed, changed under the revision that was seen.

use axum::extract::State;
use axum::http::header::LOCATION;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use lately_keys::table::{IssueKey, IssueNumber, RepositoryKey};
use lately_keys::{Owner, Repo};
use lately_kit::answer;
use lately_kit::body::Body;
use lately_kit::caller::Caller;
use lately_kit::path::Part;
use lately_kit::precondition::{Under, with_etag};
use lately_kit::problem::Problem;
use lately_kit::query::Query;
use lately_model::{IssueChange, IssueQuery, NewIssue, RecordQuery};
use lately_store::Store;

pub(crate) async fn post(
    State(store): State<Store>,
    caller: Caller,
    Part(owner): Part<Owner>,
    Part(repo): Part<Repo>,
    Body(new): Body<NewIssue>,
) -> Result<Response, Problem> {
    let repository = RepositoryKey { owner, repo };
    let (issue, cost) = store.open_issue(&repository, &new, &caller.actor()).await?;
    let RepositoryKey { owner, repo } = repository;
    let location = HeaderValue::try_from(format!("/repos/{owner}/{repo}/issues/{}", issue.number));
    let mut response = with_etag(answer::json(StatusCode::CREATED, &issue), issue.revision);
    response.headers_mut().insert(LOCATION, location.expect("names and numbers are visible ASCII"));
    Ok(answer::written(response, &cost))
}

pub(crate) async fn list(
    State(store): State<Store>,
    Part(owner): Part<Owner>,
    Part(repo): Part<Repo>,
    Query(query): Query<IssueQuery>,
) -> Result<Response, Problem> {
    let (list, cost) = store.issues(&RepositoryKey { owner, repo }, &query).await?;
    Ok(answer::read(&list, &cost))
}

pub(crate) async fn get(
    State(store): State<Store>,
    Part(owner): Part<Owner>,
    Part(repo): Part<Repo>,
    Part(number): Part<IssueNumber>,
    Query(RecordQuery { consistent }): Query<RecordQuery>,
) -> Result<Response, Problem> {
    let key = IssueKey { repository: RepositoryKey { owner, repo }, number };
    let (issue, cost) = store.issue(&key, consistent).await?;
    Ok(with_etag(answer::read(&issue, &cost), issue.revision))
}

pub(crate) async fn patch(
    State(store): State<Store>,
    caller: Caller,
    Part(owner): Part<Owner>,
    Part(repo): Part<Repo>,
    Part(number): Part<IssueNumber>,
    Under(precondition): Under,
    Body(change): Body<IssueChange>,
) -> Result<Response, Problem> {
    let key = IssueKey { repository: RepositoryKey { owner, repo }, number };
    let (issue, cost) = store.change_issue(&key, &change, precondition, &caller.actor()).await?;
    Ok(with_etag(answer::written(answer::json(StatusCode::OK, &issue), &cost), issue.revision))
}
