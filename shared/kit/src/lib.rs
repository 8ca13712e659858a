//! The parts that every function needs around its own work: settings, the AWS client, the caller, routes, problems,
//! logs.
//!
//! | for | see |
//! | --- | --- |
//! | settings from the environment | [`settings`] |
//! | the DynamoDB client, and the roots that it trusts | [`aws`], [`trust`] |
//! | the only readers of the clocks and of random sources | [`clock`], [`entropy`], [`world`] |
//! | the caller, the access rules, tokens | [`caller`], [`access`], [`token`] |
//! | the parts of a request | [`path`], [`query`], [`body`], [`idempotency`], [`precondition`] |
//! | the store's handle of a request, and the request's cost | [`op`] |
//! | the caller's writes and reads a minute | [`quota`] |
//! | responses and errors | [`answer`], [`problem`], [`code`] |
//! | routes, and the layers around a router | [`route`], [`reads`], [`edge`], [`log`], [`metrics`] |
//! | running on Lambda | `lambda`, with the feature of that name |
//! | the routes, for the OpenAPI document | `document`, with the feature of that name |
//!
//! A handler receives its arguments parsed: an argument that cannot be parsed is refused before the handler runs. The
//! handler calls one operation and renders the result:
//!
//! ```
//! use axum::{body::Body, extract::Request, http::StatusCode};
//! use lately_keys::Topic;
//! use lately_kit::caller::{Caller, Identity};
//! use lately_kit::{answer::Json, edge, path::Part, route::Routes, routes};
//!
//! // Runs only if the caller may read the topic: the route's line requires it.
//! async fn get_topic(Part(topic): Part<Topic>) -> Json<Topic> {
//!     Json(topic)
//! }
//!
//! let routes: Routes = routes! { "Topics" GET "/topics/{topic}" OnTopic(Read) Read get_topic {} };
//! let router = edge::around(routes.into_router());
//! # use tower::ServiceExt;
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let caller = Caller::from_context(&serde_json::from_str(r#"{"user":"ada","scopes":"read","expires_at":"2026-11-20T09:30:00Z"}"#)?)?;
//! let request = Request::get("/topics/posts").extension(Identity::Known(caller)).body(Body::empty())?;
//! assert_eq!(router.oneshot(request).await?.status(), StatusCode::OK);
//! # Ok::<(), Box<dyn std::error::Error>>(()) })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod access;
pub mod answer;
pub mod aws;
pub mod body;
pub mod caller;
pub mod code;
pub mod document;
pub mod edge;
pub mod entropy;
mod handler;
pub mod idempotency;
#[cfg(any(feature = "lambda", test))]
pub mod lambda;
pub mod limits;
pub mod log;
pub mod metrics;
pub mod op;
pub mod path;
pub mod precondition;
pub mod problem;
pub mod query;
pub mod quota;
pub mod reads;
pub mod route;
pub mod settings;
pub mod token;
pub mod trust;

pub use lately_table::{clock, world};

#[cfg(test)]
mod tests;
