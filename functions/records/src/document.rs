//! What profiles and settings have in common: documents that are read, replaced under their revision, and deleted.

use axum::body::Bytes;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use lately_kit::code::Code;
use lately_kit::precondition::with_etag;
use lately_kit::problem::Problem;
use lately_kit::{answer, query, table};
use lately_model::{Document, Precondition, RecordQuery};
use lately_store::{DocumentKey, Store};

pub(crate) async fn get(
    store: &Store,
    key: &impl DocumentKey,
    query: Option<String>,
) -> Result<Response, Problem> {
    let RecordQuery { consistent } = query::parsed(query, RecordQuery::parse)?;
    let found = store.document(key, consistent).await;
    let (found, cost) = found.map_err(table::get_document_problem)?;
    Ok(with_etag(table::read(&found.document, &cost), found.revision))
}

pub(crate) async fn put(
    store: &Store,
    key: &impl DocumentKey,
    precondition: Precondition,
    body: &Bytes,
) -> Result<Response, Problem> {
    let document = Document::parse(body);
    let document = document.map_err(|refused| Problem::of_body(refused, Code::InvalidBody))?;
    let written = store.put_document(key, &document, precondition).await;
    let (revision, created, cost) = written.map_err(table::write_document_problem)?;
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    Ok(with_etag(table::written(answer::json(status, &document), &cost), revision))
}

pub(crate) async fn delete(
    store: &Store,
    key: &impl DocumentKey,
    precondition: Precondition,
) -> Result<Response, Problem> {
    let deleted = store.delete_document(key, precondition).await;
    let cost = deleted.map_err(table::write_document_problem)?;
    Ok(table::written(StatusCode::NO_CONTENT.into_response(), &cost))
}
