//! The consumers of all topics. They are found by their announcements, without a scan.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use lately_keys::{Consumer, Topic};
use lately_kit::answer;
use lately_kit::problem::Problem;
use lately_model::ListQuery;
use serde::Serialize;

use crate::serve::console::limits::TOPICS;
use crate::serve::console::parts::ConsoleState;

#[derive(Serialize)]
struct ConsumerList {
    consumers: Vec<ConsumerView>,
}

#[derive(Serialize)]
struct ConsumerView {
    topic: Topic,
    name: Consumer,
    reports: bool,
}

pub(super) async fn get_consumers(State(shared): State<ConsoleState>) -> Result<Response, Problem> {
    let query = ListQuery { limit: TOPICS, cursor: None };
    let list = shared.looking.op().topics().list(&query).await?;
    let mut consumers = Vec::new();
    for topic in list.topics {
        let topic = topic.topic;
        let of_topic = shared.looking.op().topic(&topic).consumers().await?;
        let view = |(name, reports)| ConsumerView { topic: topic.clone(), name, reports };
        consumers.extend(of_topic.into_iter().map(view));
    }
    Ok(answer::json(StatusCode::OK, &ConsumerList { consumers }))
}
