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

use axum::extract::State;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use lately_keys::table::ConsumerKey;
use lately_keys::{Consumer, Topic};
use lately_kit::answer;
use lately_kit::body::Body;
use lately_kit::path::Part;
use lately_kit::problem::Problem;
use lately_kit::query::Query;
use lately_kit::route::Routes;
use lately_model::{Commit, ListQuery, NewConsumer, PollRequest, Seek};
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

async fn put_consumer(
    State(store): State<Store>,
    Part(topic): Part<Topic>,
    Part(name): Part<Consumer>,
    Body(new): Body<NewConsumer>,
) -> Result<Response, Problem> {
    let consumer = ConsumerKey { topic, name };
    let (view, created, cost) = store.put_consumer(&consumer, &new).await?;
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    Ok(answer::written(answer::json(status, &view), &cost))
}

async fn get_consumer(
    State(store): State<Store>,
    Part(topic): Part<Topic>,
    Part(name): Part<Consumer>,
) -> Result<Response, Problem> {
    let consumer = ConsumerKey { topic, name };
    let (view, cost) = store.consumer(&consumer).await?;
    Ok(answer::read(&view, &cost))
}

async fn delete_consumer(
    State(store): State<Store>,
    Part(topic): Part<Topic>,
    Part(name): Part<Consumer>,
) -> Result<Response, Problem> {
    let cost = store.delete_consumer(&ConsumerKey { topic, name }).await?;
    Ok(answer::written(StatusCode::NO_CONTENT.into_response(), &cost))
}

async fn poll(
    State(store): State<Store>,
    Part(topic): Part<Topic>,
    Part(name): Part<Consumer>,
    Body(request): Body<PollRequest>,
) -> Result<Response, Problem> {
    let consumer = ConsumerKey { topic, name };
    let (polled, cost) = store.poll(&consumer, request).await?;
    Ok(answer::read(&polled, &cost))
}

async fn commit(
    State(store): State<Store>,
    Part(topic): Part<Topic>,
    Part(name): Part<Consumer>,
    Body(Commit { batch }): Body<Commit>,
) -> Result<Response, Problem> {
    let consumer = ConsumerKey { topic, name };
    let cost = store.commit(&consumer, batch).await?;
    Ok(answer::written(StatusCode::NO_CONTENT.into_response(), &cost))
}

async fn seek(
    State(store): State<Store>,
    Part(topic): Part<Topic>,
    Part(name): Part<Consumer>,
    Body(seek): Body<Seek>,
) -> Result<Response, Problem> {
    let consumer = ConsumerKey { topic, name };
    let (view, cost) = store.seek(&consumer, seek).await?;
    Ok(answer::written(answer::json(StatusCode::OK, &view), &cost))
}

async fn get_runs(
    State(store): State<Store>,
    Part(topic): Part<Topic>,
    Part(name): Part<Consumer>,
    Query(query): Query<ListQuery>,
) -> Result<Response, Problem> {
    let consumer = ConsumerKey { topic, name };
    let (runs, cost) = store.runs(&consumer, &query).await?;
    Ok(answer::read(&runs, &cost))
}
