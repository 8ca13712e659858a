//! A repository's issues: opened, read, listed, changed under the revision that was seen.

use axum::extract::{RawQuery, State};
use axum::http::header::LOCATION;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use lately_keys::table::{IssueKey, IssueNumber, RepositoryKey};
use lately_keys::{Owner, Repo};
use lately_kit::body::Whole;
use lately_kit::caller::Caller;
use lately_kit::code::Code;
use lately_kit::path::Part;
use lately_kit::precondition::{Under, with_etag};
use lately_kit::problem::Problem;
use lately_kit::{answer, query, table};
use lately_model::{IssueChange, IssueQuery, NewIssue, RecordQuery};
use lately_store::Store;

pub(crate) async fn post(
    State(store): State<Store>,
    caller: Caller,
    Part(owner): Part<Owner>,
    Part(repo): Part<Repo>,
    Whole(body): Whole,
) -> Result<Response, Problem> {
    let new = NewIssue::parse(&body).map_err(|refused| Problem::of_body(refused, Code::InvalidBody))?;
    let repository = RepositoryKey { owner, repo };
    let opened = store.open_issue(&repository, &new, &caller.actor()).await;
    let (issue, cost) = opened.map_err(table::open_issue_problem)?;
    let RepositoryKey { owner, repo } = repository;
    let location = HeaderValue::try_from(format!("/repos/{owner}/{repo}/issues/{}", issue.number));
    let mut response = with_etag(answer::json(StatusCode::CREATED, &issue), issue.revision);
    response.headers_mut().insert(LOCATION, location.expect("names and numbers are visible ASCII"));
    Ok(table::written(response, &cost))
}

pub(crate) async fn list(
    State(store): State<Store>,
    Part(owner): Part<Owner>,
    Part(repo): Part<Repo>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let query = query::parsed(query, IssueQuery::parse)?;
    let issues = store.issues(&RepositoryKey { owner, repo }, &query).await;
    let (list, cost) = issues.map_err(table::issues_problem)?;
    Ok(table::read(&list, &cost))
}

pub(crate) async fn get(
    State(store): State<Store>,
    Part(owner): Part<Owner>,
    Part(repo): Part<Repo>,
    Part(number): Part<IssueNumber>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let RecordQuery { consistent } = query::parsed(query, RecordQuery::parse)?;
    let key = IssueKey { repository: RepositoryKey { owner, repo }, number };
    let (issue, cost) = store.issue(&key, consistent).await.map_err(table::get_issue_problem)?;
    Ok(with_etag(table::read(&issue, &cost), issue.revision))
}

pub(crate) async fn patch(
    State(store): State<Store>,
    caller: Caller,
    Part(owner): Part<Owner>,
    Part(repo): Part<Repo>,
    Part(number): Part<IssueNumber>,
    Under(precondition): Under,
    Whole(body): Whole,
) -> Result<Response, Problem> {
    let change = IssueChange::parse(&body).map_err(|refused| Problem::of_body(refused, Code::InvalidBody))?;
    let key = IssueKey { repository: RepositoryKey { owner, repo }, number };
    let changed = store.change_issue(&key, &change, precondition, &caller.actor()).await;
    let (issue, cost) = changed.map_err(table::change_issue_problem)?;
    Ok(with_etag(table::written(answer::json(StatusCode::OK, &issue), &cost), issue.revision))
}
