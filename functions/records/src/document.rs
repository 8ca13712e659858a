//! What profiles and settings have in common: documents that are read, replaced under their revision, and deleted.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use lately_kit::answer;
use lately_kit::precondition::with_etag;
use lately_kit::problem::Problem;
use lately_model::{Document, Precondition, RecordQuery};
use lately_store::{DocumentKey, Store};

pub(crate) async fn get(
    store: &Store,
    key: &impl DocumentKey,
    RecordQuery { consistent }: RecordQuery,
) -> Result<Response, Problem> {
    let (found, cost) = store.document(key, consistent).await?;
    Ok(with_etag(answer::read(&found.document, &cost), found.revision))
}

pub(crate) async fn put(
    store: &Store,
    key: &impl DocumentKey,
    precondition: Precondition,
    document: &Document,
) -> Result<Response, Problem> {
    let (revision, created, cost) = store.put_document(key, document, precondition).await?;
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    Ok(with_etag(answer::written(answer::json(status, document), &cost), revision))
}

pub(crate) async fn delete(
    store: &Store,
    key: &impl DocumentKey,
    precondition: Precondition,
) -> Result<Response, Problem> {
    let cost = store.delete_document(key, precondition).await?;
    Ok(answer::written(StatusCode::NO_CONTENT.into_response(), &cost))
}
