//! The routes of topics.

use axum::http::StatusCode;
use lately_keys::Topic;
use lately_kit::answer::Json;
use lately_kit::body::Body;
use lately_kit::op::Op;
use lately_kit::path::Part;
use lately_kit::problem::Problem;
use lately_kit::query::Query;
use lately_model::{ListQuery, TopicChange, TopicList, TopicView};

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
