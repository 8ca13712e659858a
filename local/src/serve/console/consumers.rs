//! The consumers of all topics. They are found by their announcements, without a scan.

use axum::extract::State;
use lately_keys::Consumer;
use lately_kit::answer::Json;
use lately_kit::problem::Problem;
use lately_model::ListQuery;
use serde_json::{Value, json};

use crate::serve::console::ConsoleState;
use crate::serve::console::limits::TOPICS;

pub(super) async fn get_consumers(State(shared): State<ConsoleState>) -> Result<Json<Value>, Problem> {
    let query = ListQuery { limit: TOPICS, cursor: None };
    let list = shared.looking.op().topics().list(&query).await?;
    let mut consumers = Vec::new();
    for topic in list.topics {
        let topic = topic.topic;
        let of_topic = shared.looking.op().consumers(&topic).list().await?;
        let view =
            |(name, reports): (Consumer, bool)| json!({ "topic": topic, "name": name, "reports": reports });
        consumers.extend(of_topic.into_iter().map(view));
    }
    Ok(Json(json!({ "consumers": consumers })))
}
