//! Topics, profiles, settings, sessions, issues, and what needs no table.
//!
//! | route | does |
//! | --- | --- |
//! | `PUT /topics/{topic}` | creates or changes a topic |
//! | `GET /topics/{topic}` | a topic with its newest buckets |
//! | `GET /topics` | all topics, by name |
//! | `GET /users/{user}/profile` | a user's profile |
//! | `PUT /users/{user}/profile` | creates it, or replaces the revision that was seen |
//! | `DELETE /users/{user}/profile` | deletes the revision that was seen |
//! | `GET /settings/{app}` | an application's settings |
//! | `PUT /settings/{app}` | as a profile |
//! | `DELETE /settings/{app}` | as a profile |
//! | `POST /repos/{owner}/{repo}/issues` | opens an issue |
//! | `GET /repos/{owner}/{repo}/issues` | a repository's issues: all, of a status, of a priority |
//! | `GET /repos/{owner}/{repo}/issues/{number}` | an issue |
//! | `PATCH /repos/{owner}/{repo}/issues/{number}` | changes the revision that was seen |
//! | `POST /sessions` | makes a session, and tells its token, once |
//! | `GET /sessions/{id}` | a session, without its token |
//! | `DELETE /sessions/{id}` | revokes a session |
//! | `GET /health` | says that the function runs |
//! | `GET /openapi.json` | the description of all routes |

mod document;
mod issue;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use lately_keys::table::{ProfileKey, SessionId, SettingsKey};
use lately_keys::{App, Topic, User};
use lately_kit::answer;
use lately_kit::body::Body;
use lately_kit::caller::Caller;
use lately_kit::path::Part;
use lately_kit::precondition::Under;
use lately_kit::problem::Problem;
use lately_kit::query::Query;
use lately_kit::route::Routes;
use lately_kit::token::Token;
use lately_model::{Document, ListQuery, NewSession, RecordQuery, SessionToken, TopicChange};
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
        .on(Method::GET, "/users/{user}/profile", get_profile)
        .on(Method::PUT, "/users/{user}/profile", put_profile)
        .on(Method::DELETE, "/users/{user}/profile", delete_profile)
        .on(Method::GET, "/settings/{app}", get_settings)
        .on(Method::PUT, "/settings/{app}", put_settings)
        .on(Method::DELETE, "/settings/{app}", delete_settings)
        .on(Method::POST, "/repos/{owner}/{repo}/issues", issue::post)
        .on(Method::GET, "/repos/{owner}/{repo}/issues", issue::list)
        .on(Method::GET, "/repos/{owner}/{repo}/issues/{number}", issue::get)
        .on(Method::PATCH, "/repos/{owner}/{repo}/issues/{number}", issue::patch)
        .on(Method::POST, "/sessions", post_session)
        .on(Method::GET, "/sessions/{id}", get_session)
        .on(Method::DELETE, "/sessions/{id}", delete_session)
        .on(Method::GET, "/health", get_health)
        .on(Method::GET, "/openapi.json", get_openapi)
        .with_state(store)
}

async fn put_topic(
    State(store): State<Store>,
    Part(topic): Part<Topic>,
    Body(change): Body<TopicChange>,
) -> Result<Response, Problem> {
    let (view, created, cost) = store.put_topic(&topic, &change).await?;
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    Ok(answer::written(answer::json(status, &view), &cost))
}

async fn get_topic(State(store): State<Store>, Part(topic): Part<Topic>) -> Result<Response, Problem> {
    let (view, cost) = store.topic(&topic).await?;
    Ok(answer::read(&view, &cost))
}

async fn get_topics(
    State(store): State<Store>,
    caller: Caller,
    Query(query): Query<ListQuery>,
) -> Result<Response, Problem> {
    let (list, cost) = store.topics(&query, caller.topics.as_deref()).await?;
    Ok(answer::read(&list, &cost))
}

async fn get_profile(
    State(store): State<Store>,
    Part(user): Part<User>,
    Query(query): Query<RecordQuery>,
) -> Result<Response, Problem> {
    document::get(&store, &ProfileKey { user }, query).await
}

async fn put_profile(
    State(store): State<Store>,
    Part(user): Part<User>,
    Under(precondition): Under,
    Body(document): Body<Document>,
) -> Result<Response, Problem> {
    document::put(&store, &ProfileKey { user }, precondition, &document).await
}

async fn delete_profile(
    State(store): State<Store>,
    Part(user): Part<User>,
    Under(precondition): Under,
) -> Result<Response, Problem> {
    document::delete(&store, &ProfileKey { user }, precondition).await
}

async fn get_settings(
    State(store): State<Store>,
    Part(app): Part<App>,
    Query(query): Query<RecordQuery>,
) -> Result<Response, Problem> {
    document::get(&store, &SettingsKey { app }, query).await
}

async fn put_settings(
    State(store): State<Store>,
    Part(app): Part<App>,
    Under(precondition): Under,
    Body(document): Body<Document>,
) -> Result<Response, Problem> {
    document::put(&store, &SettingsKey { app }, precondition, &document).await
}

async fn delete_settings(
    State(store): State<Store>,
    Part(app): Part<App>,
    Under(precondition): Under,
) -> Result<Response, Problem> {
    document::delete(&store, &SettingsKey { app }, precondition).await
}

async fn post_session(State(store): State<Store>, Body(new): Body<NewSession>) -> Result<Response, Problem> {
    let token = Token::random()?;
    let (session, cost) = store.create_session(&new, token.hash()).await?;
    let answer = SessionToken { id: session.id, token: token.reveal(), expires_at: session.expires_at };
    Ok(answer::written(answer::json(StatusCode::CREATED, &answer), &cost))
}

async fn get_session(State(store): State<Store>, Part(id): Part<SessionId>) -> Result<Response, Problem> {
    let (session, cost) = store.session_by_id(id).await?;
    Ok(answer::read(&session, &cost))
}

async fn delete_session(State(store): State<Store>, Part(id): Part<SessionId>) -> Result<Response, Problem> {
    let cost = store.revoke_session(id).await?;
    Ok(answer::written(StatusCode::NO_CONTENT.into_response(), &cost))
}

async fn get_health() -> Response {
    ([(CONTENT_TYPE, "application/json")], r#"{"status":"ok"}"#).into_response()
}

async fn get_openapi() -> Response {
    ([(CONTENT_TYPE, "application/json")], OPENAPI).into_response()
}
