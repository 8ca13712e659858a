//! The routes of profiles and settings: documents that clients read, replace under their revision, and delete.

use axum::http::StatusCode;
use lately_items::{ProfileKey, SettingsKey};
use lately_keys::{App, User};
use lately_kit::answer::Json;
use lately_kit::body::Body;
use lately_kit::op::Op;
use lately_kit::path::Part;
use lately_kit::precondition::{ETag, Under};
use lately_kit::problem::Problem;
use lately_kit::query::Query;
use lately_model::{Document, Precondition, RecordQuery};
use lately_store::DocumentKey;

pub(crate) async fn get_profile(
    op: Op,
    Part(user): Part<User>,
    Query(query): Query<RecordQuery>,
) -> Result<(ETag, Json<Document>), Problem> {
    get(&op, &ProfileKey { user }, query).await
}

pub(crate) async fn put_profile(
    op: Op,
    Part(user): Part<User>,
    Under(precondition): Under,
    Body(document): Body<Document>,
) -> Result<(StatusCode, ETag, Json<Document>), Problem> {
    put(&op, &ProfileKey { user }, precondition, document).await
}

pub(crate) async fn delete_profile(
    op: Op,
    Part(user): Part<User>,
    Under(precondition): Under,
) -> Result<StatusCode, Problem> {
    delete(&op, &ProfileKey { user }, precondition).await
}

pub(crate) async fn get_settings(
    op: Op,
    Part(app): Part<App>,
    Query(query): Query<RecordQuery>,
) -> Result<(ETag, Json<Document>), Problem> {
    get(&op, &SettingsKey { app }, query).await
}

pub(crate) async fn put_settings(
    op: Op,
    Part(app): Part<App>,
    Under(precondition): Under,
    Body(document): Body<Document>,
) -> Result<(StatusCode, ETag, Json<Document>), Problem> {
    put(&op, &SettingsKey { app }, precondition, document).await
}

pub(crate) async fn delete_settings(
    op: Op,
    Part(app): Part<App>,
    Under(precondition): Under,
) -> Result<StatusCode, Problem> {
    delete(&op, &SettingsKey { app }, precondition).await
}

async fn get(
    op: &Op,
    key: &impl DocumentKey,
    RecordQuery { consistent }: RecordQuery,
) -> Result<(ETag, Json<Document>), Problem> {
    let found = op.record(key).get(consistent).await?;
    Ok((ETag(found.revision), Json(found.document)))
}

async fn put(
    op: &Op,
    key: &impl DocumentKey,
    precondition: Precondition,
    document: Document,
) -> Result<(StatusCode, ETag, Json<Document>), Problem> {
    let (revision, created) = op.record(key).put(&document, precondition).await?;
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, ETag(revision), Json(document)))
}

async fn delete(op: &Op, key: &impl DocumentKey, precondition: Precondition) -> Result<StatusCode, Problem> {
    op.record(key).delete(precondition).await?;
    Ok(StatusCode::NO_CONTENT)
}
