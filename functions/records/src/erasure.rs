//! The routes of erasures.

use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::{IntoResponse, Response};
use lately_keys::ErasureId;
use lately_kit::answer::{self, Json};
use lately_kit::body::Body;
use lately_kit::op::Op;
use lately_kit::path::Part;
use lately_kit::problem::Problem;
use lately_kit::query::Query;
use lately_model::{Erasure, ErasureList, ListQuery, NewErasure};

pub(crate) async fn post(op: Op, Body(new): Body<NewErasure>) -> Result<Response, Problem> {
    let erasure = op.erasures().begin(&new).await?;
    let location = [(LOCATION, format!("/erasures/{}", erasure.id))];
    Ok((location, answer::json(StatusCode::ACCEPTED, &erasure)).into_response())
}

pub(crate) async fn list(op: Op, Query(query): Query<ListQuery>) -> Result<Json<ErasureList>, Problem> {
    Ok(Json(op.erasures().list(&query).await?))
}

pub(crate) async fn get(op: Op, Part(id): Part<ErasureId>) -> Result<Json<Erasure>, Problem> {
    Ok(Json(op.erasures().get(id).await?))
}
