//! Consumers: named readers of a topic, each with its own position.
//!
//! | route | does |
//! | --- | --- |
//! | `PUT /topics/{topic}/consumers/{name}` | creates a consumer, or changes how long it lets events settle |
//! | `GET /topics/{topic}/consumers/{name}` | returns its position and its lag |
//! | `DELETE /topics/{topic}/consumers/{name}` | deletes it, with its runs and its ledger |
//! | `POST /topics/{topic}/consumers/{name}/poll` | returns the next batch; the same batch until it is committed |
//! | `POST /topics/{topic}/consumers/{name}/commit` | marks a batch as processed |
//! | `POST /topics/{topic}/consumers/{name}/seek` | moves the consumer to another position |
//! | `GET /topics/{topic}/consumers/{name}/runs` | lists the runs of a consumer that reports |

use axum::http::{Method, StatusCode};
use lately_items::ConsumerKey;
use lately_keys::{Consumer, Topic};
use lately_kit::answer::Json;
use lately_kit::body::Body;
use lately_kit::op::Op;
use lately_kit::path::Part;
use lately_kit::problem::Problem;
use lately_kit::query::Query;
use lately_kit::route::Routes;
use lately_model::{Commit, ConsumerView, ListQuery, NewConsumer, PollRequest, Polled, RunList, Seek};
use lately_store::Store;

/// The routes of this function.
pub fn routes(store: Store) -> Routes {
    Routes::new()
        .on(Method::PUT, "/topics/{topic}/consumers/{name}", put_consumer)
        .on(Method::GET, "/topics/{topic}/consumers/{name}", get_consumer)
        .on(Method::DELETE, "/topics/{topic}/consumers/{name}", delete_consumer)
        .on(Method::POST, "/topics/{topic}/consumers/{name}/poll", poll)
        .on(Method::POST, "/topics/{topic}/consumers/{name}/commit", commit)
        .on(Method::POST, "/topics/{topic}/consumers/{name}/seek", seek)
        .on(Method::GET, "/topics/{topic}/consumers/{name}/runs", get_runs)
        .with_store(&store)
}

async fn put_consumer(
    op: Op,
    Part(topic): Part<Topic>,
    Part(name): Part<Consumer>,
    Body(new): Body<NewConsumer>,
) -> Result<(StatusCode, Json<ConsumerView>), Problem> {
    let (view, created) = op.consumer(&ConsumerKey { topic, name }).put(&new).await?;
    Ok((if created { StatusCode::CREATED } else { StatusCode::OK }, Json(view)))
}

async fn get_consumer(
    op: Op,
    Part(topic): Part<Topic>,
    Part(name): Part<Consumer>,
) -> Result<Json<ConsumerView>, Problem> {
    Ok(Json(op.consumer(&ConsumerKey { topic, name }).view().await?))
}

async fn delete_consumer(
    op: Op,
    Part(topic): Part<Topic>,
    Part(name): Part<Consumer>,
) -> Result<StatusCode, Problem> {
    op.consumer(&ConsumerKey { topic, name }).delete().await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn poll(
    op: Op,
    Part(topic): Part<Topic>,
    Part(name): Part<Consumer>,
    Body(request): Body<PollRequest>,
) -> Result<Json<Polled>, Problem> {
    Ok(Json(op.consumer(&ConsumerKey { topic, name }).poll(request).await?))
}

async fn commit(
    op: Op,
    Part(topic): Part<Topic>,
    Part(name): Part<Consumer>,
    Body(Commit { batch }): Body<Commit>,
) -> Result<StatusCode, Problem> {
    op.consumer(&ConsumerKey { topic, name }).commit(batch).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn seek(
    op: Op,
    Part(topic): Part<Topic>,
    Part(name): Part<Consumer>,
    Body(seek): Body<Seek>,
) -> Result<Json<ConsumerView>, Problem> {
    Ok(Json(op.consumer(&ConsumerKey { topic, name }).seek(seek).await?))
}

async fn get_runs(
    op: Op,
    Part(topic): Part<Topic>,
    Part(name): Part<Consumer>,
    Query(query): Query<ListQuery>,
) -> Result<Json<RunList>, Problem> {
    Ok(Json(op.runs(&ConsumerKey { topic, name }).list(&query).await?))
}
