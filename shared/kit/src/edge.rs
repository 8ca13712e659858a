//! The layers around every router: the response to unknown routes, the response to panics, compression and the log.

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

/// Adds all layers to the routes and logs each request. Called once, when all routes are there.
pub fn around(routes: Router) -> Router {
    around_with(routes, |_| ())
}

/// Like [`around`], and `observer` receives each answered request as well as the log.
pub fn around_with(routes: Router, observer: impl Fn(&Answered) + Clone + Send + Sync + 'static) -> Router {
    let routes =
        routes.layer(CatchPanicLayer::custom(panicked)).method_not_allowed_fallback(method_not_allowed);
    observed(routes, move |answered| {
        log::request(answered);
        observer(answered);
    })
}

/// Like [`around`], but a panic is not caught (it ends a function), and `observer` receives each answered request, not
/// the log.
pub fn observed(routes: Router, observer: impl Fn(&Answered) + Clone + Send + Sync + 'static) -> Router {
    let observe = from_fn(move |request, next| log::observe(observer.clone(), request, next));
    // Every start of a function applies the layers to each route, so both are applied together.
    routes.fallback(route_not_found).layer((observe, compression()))
}

/// Gzip for clients that accept it, at the fastest level: it gives most of the saving at a third of the time.
fn compression() -> CompressionLayer<impl Predicate> {
    let pays = SizeAbove::new(COMPRESSED_BYTES).and(NotForContentType::SSE);
    CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(pays)
}

async fn route_not_found() -> Problem {
    Problem::new(Code::RouteNotFound, "No route has this path. GET /openapi.json lists all routes.")
}

/// axum adds the header `Allow`. API Gateway passes no such request on: its response is a 404 of its own.
pub(crate) async fn method_not_allowed() -> Problem {
    Problem::new(
        Code::MethodNotAllowed,
        "The path does not have this method. The header Allow lists the methods that it has.",
    )
}

/// A panic is a broken invariant of one request. The process and its other requests must not suffer.
fn panicked(payload: Box<dyn Any + Send>) -> Response {
    log::panic(&*payload, None);
    Problem::new(Code::Unavailable, "The service cannot answer now. Try again later.").into_response()
}
