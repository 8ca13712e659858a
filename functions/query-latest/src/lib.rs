//! Reading events.
//!
//! | route | does |
//! | --- | --- |
//! | `GET /topics/{topic}/events` | a page of a topic's events, newest first or oldest first |
//! | `GET /topics/{topic}/events/{id}` | one event |
//! | `GET /actors/{actor}/events` | a page of what an actor did, in all topics that list it |
//! | `GET /subjects/{subject}/events` | a page of what was done to a subject |
//! | `GET /feeds/{user}` | a page of what a user's sources did |
//! | `GET /feeds/{user}/unread` | how much of it the user has not seen |

use axum::extract::State;
use axum::http::Method;
use axum::response::Response;
use lately_keys::{Actor, EventId, Source, Subject, Topic, User};
use lately_kit::answer;
use lately_kit::caller::Caller;
use lately_kit::path::Part;
use lately_kit::problem::Problem;
use lately_kit::query::Query;
use lately_kit::route::Routes;
use lately_model::{EventQuery, FeedQuery, SourceQuery};
use lately_store::Store;

/// The routes of this function.
#[must_use]
pub fn routes(store: Store) -> Routes {
    Routes::new()
        .on(Method::GET, "/topics/{topic}/events", get_events)
        .on(Method::GET, "/topics/{topic}/events/{id}", get_event)
        .on(Method::GET, "/actors/{actor}/events", get_actor_events)
        .on(Method::GET, "/subjects/{subject}/events", get_subject_events)
        .on(Method::GET, "/feeds/{user}", get_feed)
        .on(Method::GET, "/feeds/{user}/unread", get_unread)
        .with_state(store)
}

async fn get_events(
    State(store): State<Store>,
    Part(topic): Part<Topic>,
    Query(query): Query<EventQuery>,
) -> Result<Response, Problem> {
    let (page, cost) = store.latest(&topic, &query).await?;
    Ok(answer::read(&page, &cost))
}

async fn get_event(
    State(store): State<Store>,
    Part(topic): Part<Topic>,
    Part(id): Part<EventId>,
) -> Result<Response, Problem> {
    let (event, cost) = store.event(&topic, id).await?;
    Ok(answer::read(&event, &cost))
}

async fn get_actor_events(
    store: State<Store>,
    caller: Caller,
    Part(actor): Part<Actor>,
    Query(query): Query<SourceQuery>,
) -> Result<Response, Problem> {
    get_source_events(store, &caller, Source::Actor(actor), &query).await
}

async fn get_subject_events(
    store: State<Store>,
    caller: Caller,
    Part(subject): Part<Subject>,
    Query(query): Query<SourceQuery>,
) -> Result<Response, Problem> {
    get_source_events(store, &caller, Source::Subject(subject), &query).await
}

async fn get_source_events(
    State(store): State<Store>,
    caller: &Caller,
    source: Source,
    query: &SourceQuery,
) -> Result<Response, Problem> {
    let (page, cost) = store.source_timeline(&source, query, caller.topics.as_deref()).await?;
    Ok(answer::read_shared(&page, &cost, caller))
}

async fn get_feed(
    State(store): State<Store>,
    caller: Caller,
    Part(user): Part<User>,
    Query(query): Query<FeedQuery>,
) -> Result<Response, Problem> {
    let (page, cost) = store.feed(&user, &query, caller.topics.as_deref()).await?;
    Ok(answer::read_shared(&page, &cost, &caller))
}

async fn get_unread(
    State(store): State<Store>,
    caller: Caller,
    Part(user): Part<User>,
) -> Result<Response, Problem> {
    let (unread, cost) = store.unread(&user, caller.topics.as_deref()).await?;
    Ok(answer::read_shared(&unread, &cost, &caller))
}
