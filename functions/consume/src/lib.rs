//! Consumers: named readers of a topic, each with its place in it.
//!
//! | route | does |
//! | --- | --- |
//! | `PUT /topics/{topic}/consumers/{name}` | creates a consumer, or changes how long it lets events settle |
//! | `GET /topics/{topic}/consumers/{name}` | where it is, and how far behind |
//! | `DELETE /topics/{topic}/consumers/{name}` | deletes it, with its runs and its ledger |
//! | `POST /topics/{topic}/consumers/{name}/poll` | the next batch; the same until it is committed |
//! | `POST /topics/{topic}/consumers/{name}/commit` | says that a batch is done |
//! | `POST /topics/{topic}/consumers/{name}/seek` | goes to another place |
//! | `GET /topics/{topic}/consumers/{name}/runs` | the runs of a consumer that reports |

use axum::extract::{RawQuery, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use lately_keys::table::ConsumerKey;
use lately_keys::{Consumer, Topic};
use lately_kit::body::Whole;
use lately_kit::code::Code;
use lately_kit::path::Part;
use lately_kit::problem::Problem;
use lately_kit::route::Routes;
use lately_kit::{answer, query, table};
use lately_model::{BodyError, Commit, ListQuery, NewConsumer, PollRequest, Seek};
use lately_store::Store;

/// The routes of this function.
#[must_use]
pub fn routes(store: Store) -> Routes {
    Routes::new()
        .on(Method::PUT, "/topics/{topic}/consumers/{name}", put_consumer)
        .on(Method::GET, "/topics/{topic}/consumers/{name}", get_consumer)
        .on(Method::DELETE, "/topics/{topic}/consumers/{name}", delete_consumer)
        .on(Method::POST, "/topics/{topic}/consumers/{name}/poll", poll)
        .on(Method::POST, "/topics/{topic}/consumers/{name}/commit", commit)
        .on(Method::POST, "/topics/{topic}/consumers/{name}/seek", seek)
        .on(Method::GET, "/topics/{topic}/consumers/{name}/runs", get_runs)
        .with_state(store)
}

/// A body that was refused.
fn refused(refused: BodyError) -> Problem {
    Problem::of_body(refused, Code::InvalidBody)
}

async fn put_consumer(
    State(store): State<Store>,
    Part(topic): Part<Topic>,
    Part(name): Part<Consumer>,
    Whole(body): Whole,
) -> Result<Response, Problem> {
    let new = NewConsumer::parse(&body).map_err(refused)?;
    let consumer = ConsumerKey { topic, name };
    let put = store.put_consumer(&consumer, &new).await;
    let (view, created, cost) = put.map_err(|error| table::consumer_problem(&consumer, error))?;
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    Ok(table::written(answer::json(status, &view), &cost))
}

async fn get_consumer(
    State(store): State<Store>,
    Part(topic): Part<Topic>,
    Part(name): Part<Consumer>,
) -> Result<Response, Problem> {
    let consumer = ConsumerKey { topic, name };
    let view = store.consumer(&consumer).await;
    let (view, cost) = view.map_err(|error| table::consumer_problem(&consumer, error))?;
    Ok(table::read(&view, &cost))
}

async fn delete_consumer(
    State(store): State<Store>,
    Part(topic): Part<Topic>,
    Part(name): Part<Consumer>,
) -> Result<Response, Problem> {
    let cost = store.delete_consumer(&ConsumerKey { topic, name }).await?;
    Ok(table::written(StatusCode::NO_CONTENT.into_response(), &cost))
}

async fn poll(
    State(store): State<Store>,
    Part(topic): Part<Topic>,
    Part(name): Part<Consumer>,
    Whole(body): Whole,
) -> Result<Response, Problem> {
    let request = PollRequest::parse(&body).map_err(refused)?;
    let consumer = ConsumerKey { topic, name };
    let polled = store.poll(&consumer, request).await;
    let (polled, cost) = polled.map_err(|error| table::consumer_problem(&consumer, error))?;
    Ok(table::read(&polled, &cost))
}

async fn commit(
    State(store): State<Store>,
    Part(topic): Part<Topic>,
    Part(name): Part<Consumer>,
    Whole(body): Whole,
) -> Result<Response, Problem> {
    let Commit { batch } = Commit::parse(&body).map_err(refused)?;
    let consumer = ConsumerKey { topic, name };
    let cost = store.commit(&consumer, batch).await;
    let cost = cost.map_err(|error| table::consumer_problem(&consumer, error))?;
    Ok(table::written(StatusCode::NO_CONTENT.into_response(), &cost))
}

async fn seek(
    State(store): State<Store>,
    Part(topic): Part<Topic>,
    Part(name): Part<Consumer>,
    Whole(body): Whole,
) -> Result<Response, Problem> {
    let seek = Seek::parse(&body).map_err(refused)?;
    let consumer = ConsumerKey { topic, name };
    let view = store.seek(&consumer, seek).await;
    let (view, cost) = view.map_err(|error| table::consumer_problem(&consumer, error))?;
    Ok(table::written(answer::json(StatusCode::OK, &view), &cost))
}

async fn get_runs(
    State(store): State<Store>,
    Part(topic): Part<Topic>,
    Part(name): Part<Consumer>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let query = query::parsed(query, ListQuery::parse)?;
    let consumer = ConsumerKey { topic, name };
    let runs = store.runs(&consumer, &query).await;
    let (runs, cost) = runs.map_err(|error| table::runs_problem(&consumer, error))?;
    Ok(table::read(&runs, &cost))
}
