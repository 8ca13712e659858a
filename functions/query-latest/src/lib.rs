//! Reading events.
//!
//! | route | does |
//! | --- | --- |
//! | `GET /topics/{topic}/events` | a page of a topic's events, newest first or oldest first |
//! | `GET /topics/{topic}/events/{id}` | one event |
//! | `GET /actors/{actor}/events` | a page of an actor's events, from all topics that list them |
//! | `GET /subjects/{subject}/events` | a page of a subject's events |
//! | `GET /feeds/{user}` | a page of the events of a user's sources |
//! | `GET /feeds/{user}/unread` | the number of events that the user has not seen |

use axum::http::Method;
use lately_keys::{Actor, EventId, Source, Subject, Topic, User};
use lately_kit::answer::Json;
use lately_kit::op::Op;
use lately_kit::path::Part;
use lately_kit::problem::Problem;
use lately_kit::query::Query;
use lately_kit::route::Routes;
use lately_model::{Event, EventQuery, FeedPage, FeedQuery, Page, SourceQuery, TimelineEvent, Unread};
use lately_store::Store;

/// The routes of this function.
pub fn routes(store: Store) -> Routes {
    Routes::new()
        .on(Method::GET, "/topics/{topic}/events", get_events)
        .on(Method::GET, "/topics/{topic}/events/{id}", get_event)
        .on(Method::GET, "/actors/{actor}/events", get_actor_events)
        .on(Method::GET, "/subjects/{subject}/events", get_subject_events)
        .on(Method::GET, "/feeds/{user}", get_feed)
        .on(Method::GET, "/feeds/{user}/unread", get_unread)
        .with_store(&store)
}

async fn get_events(
    op: Op,
    Part(topic): Part<Topic>,
    Query(query): Query<EventQuery>,
) -> Result<Json<Page<Event>>, Problem> {
    Ok(Json(op.topic(&topic).latest(&query).await?))
}

async fn get_event(
    op: Op,
    Part(topic): Part<Topic>,
    Part(id): Part<EventId>,
) -> Result<Json<Event>, Problem> {
    Ok(Json(op.topic(&topic).event(id).await?))
}

async fn get_actor_events(
    op: Op,
    Part(actor): Part<Actor>,
    Query(query): Query<SourceQuery>,
) -> Result<Json<Page<TimelineEvent>>, Problem> {
    Ok(Json(op.timeline(&Source::Actor(actor)).page(&query).await?))
}

async fn get_subject_events(
    op: Op,
    Part(subject): Part<Subject>,
    Query(query): Query<SourceQuery>,
) -> Result<Json<Page<TimelineEvent>>, Problem> {
    Ok(Json(op.timeline(&Source::Subject(subject)).page(&query).await?))
}

async fn get_feed(
    op: Op,
    Part(user): Part<User>,
    Query(query): Query<FeedQuery>,
) -> Result<Json<FeedPage>, Problem> {
    Ok(Json(op.feed(&user).page(&query).await?))
}

async fn get_unread(op: Op, Part(user): Part<User>) -> Result<Json<Unread>, Problem> {
    Ok(Json(op.feed(&user).unread().await?))
}
