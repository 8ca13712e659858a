//! What stands around every router: the answer to unknown routes, the answer to panics, compression, the log.

use std::any::Any;

use axum::Router;
use axum::middleware::from_fn;
use axum::response::{IntoResponse, Response};
use tower_http::CompressionLevel;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate, SizeAbove};

use crate::code::Code;
use crate::limits::COMPRESSED_BYTES;
use crate::log::{self, Answered};
use crate::problem::Problem;

/// Puts all of it around routes, each request logged; once, after all of them are there.
pub fn around(routes: Router) -> Router {
    observed(routes.layer(CatchPanicLayer::custom(panicked)), log::request)
}

/// As [`around`], but for panics, which end a function; who is told of each request that was answered, says what becomes of
/// it.
pub fn observed(routes: Router, tell: impl Fn(&Answered) + Clone + Send + Sync + 'static) -> Router {
    routes
        .fallback(route_not_found)
        // As the gateway has it, where a route is a method and a path.
        .method_not_allowed_fallback(route_not_found)
        .layer(compression())
        .layer(from_fn(move |request, next| log::observe(tell.clone(), request, next)))
}

/// Gzip, for a client that accepts it. The fastest level: most of what is gained, at a third of the time.
fn compression() -> CompressionLayer<impl Predicate> {
    let pays = SizeAbove::new(COMPRESSED_BYTES).and(NotForContentType::SSE);
    CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(pays)
}

pub(crate) async fn route_not_found() -> Problem {
    Problem::new(
        Code::RouteNotFound,
        "No route has this method and path. GET /openapi.json lists all routes.",
    )
}

/// A panic is a broken invariant of one request. The others, in this process too, are not to suffer.
fn panicked(payload: Box<dyn Any + Send>) -> Response {
    log::panic(&*payload, None);
    Problem::new(Code::Unavailable, "The service cannot answer now. Try again later.").into_response()
}
