//! The routes of topics.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use lately_keys::Topic;
use lately_kit::answer::{Json, Location};
use lately_kit::body::Body;
use lately_kit::code::Code;
use lately_kit::document::Description;
use lately_kit::op::Op;
use lately_kit::path::Part;
use lately_kit::problem::Problem;
use lately_kit::query::Query;
use lately_kit::route::Routes;
use lately_kit::routes;
use lately_model::{DeletionQuery, ListQuery, TopicChange, TopicDeletion, TopicList, TopicView};

/// The routes of this file.
pub(crate) fn routes<D: Description>() -> Routes<D> {
    routes! { "Topics"
        /// List all topics, by name
        GET "/topics" Holds(Read) Read list_topics { 200 "A page of the list."; }

        /// Get a topic with its newest buckets
        GET "/topics/{topic}" OnTopic(Read) Read get_topic { 200 "The topic."; else TopicNotFound }

        /// Create or change a topic
        ///
        /// Absent fields stay unchanged; at creation they get their defaults. Changed views apply to later events. A
        /// new `retention_days` applies to stored events, too: a shorter retention hides older events at once, and a
        /// longer one does not restore expired events.
        PUT "/topics/{topic}" OnTopic(Admin) Write put_topic {
            200 "The topic existed, and now has these settings.";
            201 "The topic was created.";
            else BucketIsFixed, TopicIsBeingDeleted
        }

        /// Delete a topic
        ///
        /// Deletes the topic's events, with their entries in timelines and feeds, its consumers and its settings. The
        /// response is sent when the deletion has begun; fan-out continues it. From then on readers get 404
        /// `topic-not-found`, and writers get 409 `topic-is-being-deleted`; caches may delay this for a few seconds,
        /// and events that are accepted in between are deleted, too. The same request again returns the deletion that
        /// is under way. With `dry_run`, nothing is deleted.
        DELETE "/topics/{topic}" OnTopic(Admin) Write delete_topic {
            200 (Json<lately_model::DeletionPreview>) "Nothing is deleted: this is a preview, with `dry_run`.";
            202 ((Location, Json<TopicDeletion>)) "The deletion has begun.";
            else TopicNotFound
        }

        /// Get the progress of a topic's deletion
        ///
        /// When everything of the topic is deleted, `state` is `done` for a day, and the name may be used again.
        GET "/topics/{topic}/deletion" OnTopic(Admin) Read get_deletion {
            200 "The deletion, with its counts so far.";
            else NotFound
        }
    }
}

async fn put_topic(
    op: Op,
    Part(topic): Part<Topic>,
    Body(change): Body<TopicChange>,
) -> Result<(StatusCode, Json<TopicView>), Problem> {
    let (view, created) = op.topic(&topic).put(&change).await?;
    Ok((if created { StatusCode::CREATED } else { StatusCode::OK }, Json(view)))
}

async fn get_topic(op: Op, Part(topic): Part<Topic>) -> Result<Json<TopicView>, Problem> {
    Ok(Json(op.topic(&topic).view().await?))
}

async fn list_topics(op: Op, Query(query): Query<ListQuery>) -> Result<Json<TopicList>, Problem> {
    Ok(Json(op.topics().list(&query).await?))
}

/// Begins to delete the topic, or says what that would delete.
async fn delete_topic(
    op: Op,
    Part(topic): Part<Topic>,
    Query(query): Query<DeletionQuery>,
) -> Result<Response, Problem> {
    query.check(&topic).map_err(|faults| Problem::of_faults(Code::InvalidQuery, faults))?;
    if query.dry_run {
        return Ok(Json(op.ending(&topic).preview().await?).into_response());
    }
    let deletion = op.ending(&topic).delete().await?;
    let location = Location(format!("/topics/{topic}/deletion"));
    Ok((StatusCode::ACCEPTED, location, Json(deletion)).into_response())
}

async fn get_deletion(op: Op, Part(topic): Part<Topic>) -> Result<Json<TopicDeletion>, Problem> {
    Ok(Json(op.ending(&topic).deletion().await?))
}
