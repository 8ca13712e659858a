//! Consumers: named readers of a topic, each with its own position.

use axum::http::StatusCode;
use lately_items::ConsumerKey;
use lately_keys::{Consumer, Topic};
use lately_kit::answer::Json;
use lately_kit::body::Body;
use lately_kit::document::Description;
use lately_kit::op::Op;
use lately_kit::path::Part;
use lately_kit::problem::Problem;
use lately_kit::query::Query;
use lately_kit::route::Routes;
use lately_kit::routes;
use lately_model::{Commit, ConsumerView, ListQuery, NewConsumer, PollRequest, Polled, RunList, Seek};

/// The routes of this function.
pub fn routes<D: Description>() -> Routes<D> {
    routes! { "Consumers"
        /// Create or change a consumer
        ///
        /// For an existing consumer, `settle_seconds` changes and `start` is ignored.
        PUT "/topics/{topic}/consumers/{name}" OnTopic(Consume) Write put_consumer {
            200 "The consumer existed; the response shows its current state.";
            201 "The consumer was created.";
            else TopicNotFound, TooManyConsumers
        }

        /// Get a consumer's position
        GET "/topics/{topic}/consumers/{name}" OnTopic(Consume) Read get_consumer {
            200 "The consumer's position, and how far behind it is.";
            else TopicNotFound, NotFound
        }

        /// Delete a consumer
        DELETE "/topics/{topic}/consumers/{name}" OnTopic(Consume) Write delete_consumer {
            204 "The consumer is deleted, or did not exist.";
        }

        /// Get the next batch
        POST "/topics/{topic}/consumers/{name}/poll" OnTopic(Consume) Read poll {
            200 "The batch; with `batch` null if there are no events.";
            else TopicNotFound, NotFound, HasRuns
        }

        /// Commit a batch
        POST "/topics/{topic}/consumers/{name}/commit" OnTopic(Consume) Write commit {
            204 "The batch is committed, or was already.";
            else TopicNotFound, NotFound, StaleBatch
        }

        /// Move a consumer to another position
        POST "/topics/{topic}/consumers/{name}/seek" OnTopic(Consume) Write seek {
            200 "The consumer is at the new position.";
            else TopicNotFound, NotFound, HasRuns
        }

        /// List the runs of a reporting consumer
        GET "/topics/{topic}/consumers/{name}/runs" OnTopic(Consume) Read list_runs {
            200 "A page of the list.";
            else TopicNotFound, NotFound
        }
    }
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

async fn list_runs(
    op: Op,
    Part(topic): Part<Topic>,
    Part(name): Part<Consumer>,
    Query(query): Query<ListQuery>,
) -> Result<Json<RunList>, Problem> {
    Ok(Json(op.runs(&ConsumerKey { topic, name }).list(&query).await?))
}
