//! What every function needs around its own work.
//!
//! | for | see |
//! | --- | --- |
//! | what the environment says | [`settings`] |
//! | the one client of DynamoDB | [`aws`] |
//! | the one reader of the clocks, and of the random source | [`clock`], [`entropy`], [`world`] |
//! | who is asking, and what they may do | [`caller`], [`token`] |
//! | what a request carries | [`path`], [`body`], [`idempotency`] |
//! | what is answered | [`answer`], [`problem`], [`code`], [`refusal`] |
//! | what the store's errors mean, and what things cost | [`table`] |
//! | routes, and what stands around a router | [`route`], [`edge`], [`log`] |
//! | running under Lambda | `lambda`, with the feature of that name |
//!
//! A handler takes what it needs as arguments, each parsed or refused before it runs, calls one operation
//! and renders:
//!
//! ```
//! use axum::{Router, body::Body, extract::Request, http::StatusCode, response::Response, routing::get};
//! use lately_keys::Topic;
//! use lately_kit::caller::{Caller, Scope};
//! use lately_kit::path::Part;
//! use lately_kit::problem::Problem;
//! use lately_kit::token::Tokens;
//! use lately_kit::{answer, edge};
//!
//! async fn get_topic(caller: Caller, Part(topic): Part<Topic>) -> Result<Response, Problem> {
//!     caller.require_on(Scope::Read, &topic)?;
//!     Ok(answer::json(StatusCode::OK, &topic))
//! }
//!
//! let router = edge::around(Router::new().route("/topics/{topic}", get(get_topic)), Tokens::Literal);
//! # use tower::ServiceExt;
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let request = Request::get("/topics/posts").header("authorization", "Bearer ada").body(Body::empty())?;
//! assert_eq!(router.oneshot(request).await?.status(), StatusCode::OK);
//! # Ok::<(), Box<dyn std::error::Error>>(()) })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod answer;
pub mod aws;
pub mod body;
pub mod caller;
pub mod clock;
pub mod code;
pub mod edge;
pub mod entropy;
pub mod idempotency;
#[cfg(any(feature = "lambda", test))]
pub mod lambda;
pub mod limits;
pub mod log;
pub mod path;
pub mod problem;
pub mod refusal;
pub mod route;
pub mod settings;
pub mod table;
pub mod token;
pub mod world;

#[cfg(test)]
mod tests;
