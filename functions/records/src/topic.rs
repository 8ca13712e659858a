//! The routes of topics.

use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::{IntoResponse, Response};
use lately_keys::Topic;
use lately_kit::answer::{self, Json};
use lately_kit::body::Body;
use lately_kit::code::Code;
use lately_kit::op::Op;
use lately_kit::path::Part;
use lately_kit::problem::Problem;
use lately_kit::query::Query;
use lately_model::{DeletionQuery, ListQuery, TopicChange, TopicDeletion, TopicList, TopicView};

pub(crate) async fn put(
    op: Op,
    Part(topic): Part<Topic>,
    Body(change): Body<TopicChange>,
) -> Result<(StatusCode, Json<TopicView>), Problem> {
    let (view, created) = op.topic(&topic).put(&change).await?;
    Ok((if created { StatusCode::CREATED } else { StatusCode::OK }, Json(view)))
}

pub(crate) async fn get(op: Op, Part(topic): Part<Topic>) -> Result<Json<TopicView>, Problem> {
    Ok(Json(op.topic(&topic).view().await?))
}

pub(crate) async fn list(op: Op, Query(query): Query<ListQuery>) -> Result<Json<TopicList>, Problem> {
    Ok(Json(op.topics().list(&query).await?))
}

/// Begins to delete the topic, or says what that would delete.
pub(crate) async fn delete(
    op: Op,
    Part(topic): Part<Topic>,
    Query(query): Query<DeletionQuery>,
) -> Result<Response, Problem> {
    query.check(&topic).map_err(|faults| Problem::of_faults(Code::InvalidQuery, faults))?;
    if query.dry_run {
        return Ok(answer::json(StatusCode::OK, &op.topic(&topic).preview_deletion().await?));
    }
    let deletion = op.topic(&topic).delete().await?;
    let location = [(LOCATION, format!("/topics/{topic}/deletion"))];
    Ok((location, answer::json(StatusCode::ACCEPTED, &deletion)).into_response())
}

pub(crate) async fn get_deletion(op: Op, Part(topic): Part<Topic>) -> Result<Json<TopicDeletion>, Problem> {
    Ok(Json(op.topic(&topic).deletion().await?))
}
