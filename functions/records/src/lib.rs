//! Topics, profiles, settings, sessions, issues, and the routes that need no table.
//!
//! | route | does |
//! | --- | --- |
//! | `PUT /topics/{topic}` | creates or changes a topic |
//! | `GET /topics/{topic}` | returns a topic with its newest buckets |
//! | `GET /topics` | lists all topics by name |
//! | `GET /users/{user}/profile` | returns a user's profile |
//! | `PUT /users/{user}/profile` | creates it, or replaces the revision that the client has seen |
//! | `DELETE /users/{user}/profile` | deletes the revision that the client has seen |
//! | `GET /settings/{app}` | returns an application's settings |
//! | `PUT /settings/{app}` | like a profile |
//! | `DELETE /settings/{app}` | like a profile |
//! | `POST /repos/{owner}/{repo}/issues` | opens an issue |
//! | `GET /repos/{owner}/{repo}/issues` | lists a repository's issues: all, by status, or by priority |
//! | `GET /repos/{owner}/{repo}/issues/{number}` | returns an issue |
//! | `PATCH /repos/{owner}/{repo}/issues/{number}` | changes the revision that the client has seen |
//! | `POST /sessions` | creates a session, and returns its token this one time |
//! | `GET /sessions/{id}` | returns a session without its token |
//! | `DELETE /sessions/{id}` | revokes a session |
//! | `GET /health` | confirms that the function runs |
//! | `GET /openapi.json` | returns the description of all routes |

mod document;
mod issue;

use std::io::Read;

use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use flate2::read::GzDecoder;
use lately_keys::table::{ProfileKey, SessionId, SettingsKey};
use lately_keys::{App, Topic, User};
use lately_kit::answer::{self, Json};
use lately_kit::body::Body;
use lately_kit::op::Op;
use lately_kit::path::Part;
use lately_kit::precondition::{ETag, Under};
use lately_kit::problem::Problem;
use lately_kit::query::Query;
use lately_kit::route::Routes;
use lately_kit::token::Token;
use lately_model::{
    Document, ListQuery, NewSession, RecordQuery, Session, SessionToken, TopicChange, TopicList, TopicView,
};
use lately_store::Store;

/// The OpenAPI document, compressed by `build.rs`.
const OPENAPI: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/openapi.json.gz"));

/// The OpenAPI document. A test compares it with the template's routes.
///
/// # Panics
/// If the build script did not compress the document.
#[must_use]
pub fn openapi() -> String {
    let mut text = String::new();
    GzDecoder::new(OPENAPI).read_to_string(&mut text).expect("it is what build.rs compressed");
    text
}

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
        .with_store(&store)
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

async fn get_topics(op: Op, Query(query): Query<ListQuery>) -> Result<Json<TopicList>, Problem> {
    Ok(Json(op.topics().list(&query).await?))
}

async fn get_profile(
    op: Op,
    Part(user): Part<User>,
    Query(query): Query<RecordQuery>,
) -> Result<(ETag, Json<Document>), Problem> {
    document::get(&op, &ProfileKey { user }, query).await
}

async fn put_profile(
    op: Op,
    Part(user): Part<User>,
    Under(precondition): Under,
    Body(document): Body<Document>,
) -> Result<(StatusCode, ETag, Json<Document>), Problem> {
    document::put(&op, &ProfileKey { user }, precondition, document).await
}

async fn delete_profile(
    op: Op,
    Part(user): Part<User>,
    Under(precondition): Under,
) -> Result<StatusCode, Problem> {
    document::delete(&op, &ProfileKey { user }, precondition).await
}

async fn get_settings(
    op: Op,
    Part(app): Part<App>,
    Query(query): Query<RecordQuery>,
) -> Result<(ETag, Json<Document>), Problem> {
    document::get(&op, &SettingsKey { app }, query).await
}

async fn put_settings(
    op: Op,
    Part(app): Part<App>,
    Under(precondition): Under,
    Body(document): Body<Document>,
) -> Result<(StatusCode, ETag, Json<Document>), Problem> {
    document::put(&op, &SettingsKey { app }, precondition, document).await
}

async fn delete_settings(
    op: Op,
    Part(app): Part<App>,
    Under(precondition): Under,
) -> Result<StatusCode, Problem> {
    document::delete(&op, &SettingsKey { app }, precondition).await
}

async fn post_session(op: Op, Body(new): Body<NewSession>) -> Result<Response, Problem> {
    let token = Token::random()?;
    let session = op.sessions().create(&new, token.hash()).await?;
    let created = SessionToken { id: session.id, token: token.reveal(), expires_at: session.expires_at };
    Ok(answer::json(StatusCode::CREATED, &created))
}

async fn get_session(op: Op, Part(id): Part<SessionId>) -> Result<Json<Session>, Problem> {
    Ok(Json(op.sessions().get(id).await?))
}

async fn delete_session(op: Op, Part(id): Part<SessionId>) -> Result<StatusCode, Problem> {
    op.sessions().revoke(id).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn get_health() -> Response {
    ([(CONTENT_TYPE, "application/json")], r#"{"status":"ok"}"#).into_response()
}

async fn get_openapi() -> Response {
    ([(CONTENT_TYPE, "application/json")], openapi()).into_response()
}
