//! Shared handlers of profiles and settings: documents that clients read, replace under their revision, and delete.

use axum::http::StatusCode;
use lately_kit::answer::Json;
use lately_kit::op::Op;
use lately_kit::precondition::ETag;
use lately_kit::problem::Problem;
use lately_model::{Document, Precondition, RecordQuery};
use lately_store::DocumentKey;

pub(crate) async fn get(
    op: &Op,
    key: &impl DocumentKey,
    RecordQuery { consistent }: RecordQuery,
) -> Result<(ETag, Json<Document>), Problem> {
    let found = op.record(key).get(consistent).await?;
    Ok((ETag(found.revision), Json(found.document)))
}

pub(crate) async fn put(
    op: &Op,
    key: &impl DocumentKey,
    precondition: Precondition,
    document: Document,
) -> Result<(StatusCode, ETag, Json<Document>), Problem> {
    let (revision, created) = op.record(key).put(&document, precondition).await?;
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, ETag(revision), Json(document)))
}

pub(crate) async fn delete(
    op: &Op,
    key: &impl DocumentKey,
    precondition: Precondition,
) -> Result<StatusCode, Problem> {
    op.record(key).delete(precondition).await?;
    Ok(StatusCode::NO_CONTENT)
}
