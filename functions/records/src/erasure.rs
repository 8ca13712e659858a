//! The routes of erasures.

use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::{IntoResponse, Response};
use lately_keys::table::ErasureId;
use lately_kit::answer::{self, Json};
use lately_kit::body::Body;
use lately_kit::op::Op;
use lately_kit::path::Part;
use lately_kit::problem::Problem;
use lately_model::{Erasure, NewErasure};

/// Begins to erase an actor or a user, or says what that would erase.
pub(crate) async fn post(op: Op, Body(new): Body<NewErasure>) -> Result<Response, Problem> {
    if new.dry_run {
        return Ok(answer::json(StatusCode::OK, &op.erasures().estimate(&new).await?));
    }
    let erasure = op.erasures().begin(&new).await?;
    let location = [(LOCATION, format!("/erasures/{}", erasure.id))];
    Ok((location, answer::json(StatusCode::ACCEPTED, &erasure)).into_response())
}

pub(crate) async fn get(op: Op, Part(id): Part<ErasureId>) -> Result<Json<Erasure>, Problem> {
    Ok(Json(op.erasures().get(id).await?))
}
