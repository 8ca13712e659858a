//! Topics, and what needs no table.
//!
//! | route | does |
//! | --- | --- |
//! | `PUT /topics/{topic}` | creates or changes a topic |
//! | `GET /topics/{topic}` | a topic with its newest buckets |
//! | `GET /topics` | all topics, by name |
//! | `GET /health` | says that the function runs |
//! | `GET /openapi.json` | the description of all routes |

use axum::extract::{RawQuery, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use lately_keys::Topic;
use lately_kit::body::Whole;
use lately_kit::caller::{Caller, Scope};
use lately_kit::code::Code;
use lately_kit::path::Part;
use lately_kit::problem::Problem;
use lately_kit::route::Routes;
use lately_kit::{answer, table};
use lately_model::{ListQuery, TopicChange};
use lately_store::Store;

/// The OpenAPI document. A test holds it against the template's routes.
pub const OPENAPI: &str = include_str!("openapi.json");

/// The routes of this function.
#[must_use]
pub fn routes(store: Store) -> Routes {
    Routes::new()
        .on(Method::PUT, "/topics/{topic}", put_topic)
        .on(Method::GET, "/topics/{topic}", get_topic)
        .on(Method::GET, "/topics", get_topics)
        .on(Method::GET, "/health", get_health)
        .on(Method::GET, "/openapi.json", get_openapi)
        .with_state(store)
}

async fn put_topic(
    State(store): State<Store>,
    caller: Caller,
    Part(topic): Part<Topic>,
    Whole(body): Whole,
) -> Result<Response, Problem> {
    caller.require_on(Scope::Admin, &topic)?;
    let change = TopicChange::parse(&body)?;
    let (view, created, cost) = store.put_topic(&topic, &change).await.map_err(table::put_topic_problem)?;
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    Ok(table::written(answer::json(status, &view), &cost))
}

async fn get_topic(
    State(store): State<Store>,
    caller: Caller,
    Part(topic): Part<Topic>,
) -> Result<Response, Problem> {
    caller.require_on(Scope::Read, &topic)?;
    let view = store.topic(&topic).await;
    let (view, cost) = view.map_err(|error| table::topic_problem(&topic, error))?;
    Ok(table::read(&view, &cost))
}

async fn get_topics(
    State(store): State<Store>,
    caller: Caller,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    caller.require(Scope::Read)?;
    let query = ListQuery::parse(query.as_deref().unwrap_or_default());
    let query = query.map_err(|faults| Problem::of_faults(Code::InvalidQuery, faults))?;
    let (mut list, cost) = store.topics(&query).await.map_err(table::list_topics_problem)?;
    if let Some(only) = &caller.topics {
        list.topics.retain(|topic| only.contains(&topic.topic));
    }
    Ok(table::read(&list, &cost))
}

async fn get_health() -> Response {
    ([(CONTENT_TYPE, "application/json")], r#"{"status":"ok"}"#).into_response()
}

async fn get_openapi() -> Response {
    ([(CONTENT_TYPE, "application/json")], OPENAPI).into_response()
}
