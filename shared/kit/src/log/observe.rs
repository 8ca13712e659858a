//! Observation of one request from its arrival to its response: the data of its line in the log and of its metrics.
//!
//! A request is named by its route's template, never by its path or its query, which a client chooses.

use std::time::Duration;

use axum::extract::{MatchedPath, Request};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;

use super::{GatewayRequestId, RequestId};
use crate::clock;

/// The response header with the request's cost at DynamoDB.
pub const COST_HEADER: &str = "lately-cost";

/// An answered request.
#[derive(Debug)]
pub struct Answered {
    /// The platform's id of the request.
    pub request_id: RequestId,
    /// The gateway's id of the request.
    pub gateway_request_id: Option<GatewayRequestId>,
    /// The request's method.
    pub method: Method,
    /// The template of the request's path, if a route matches.
    pub path: Option<MatchedPath>,
    /// The response's status.
    pub status: StatusCode,
    /// The time from the request's arrival to its response.
    pub latency: Duration,
    /// The request's cost, in the words of the response's header.
    pub cost: Option<String>,
}

impl Answered {
    /// The outcome, as one of a few words.
    pub fn outcome(&self) -> &'static str {
        match self.status.as_u16() {
            ..400 => "ok",
            400..500 => "refused",
            _ => "failed",
        }
    }

    /// The route: method and path template. A client cannot make up a route: a method that the path does not have is
    /// refused. HEAD belongs to the route of GET.
    pub fn route(&self) -> Option<String> {
        let Self { method, path, status, .. } = self;
        let method = if method == Method::HEAD { &Method::GET } else { method };
        let path = path.as_ref().filter(|_| *status != StatusCode::METHOD_NOT_ALLOWED)?;
        Some(format!("{method} {}", path.as_str()))
    }
}

/// Answers a request under its id, and passes the answered request to `observer`.
pub(crate) async fn observe(observer: impl Fn(&Answered), request: Request, next: Next) -> Response {
    let started = clock::monotonic_now();
    let extensions = request.extensions();
    let request_id = extensions.get::<RequestId>().cloned().unwrap_or_else(RequestId::fresh);
    let gateway_request_id = extensions.get::<GatewayRequestId>().cloned();
    let path = extensions.get::<MatchedPath>().cloned();
    let method = request.method().clone();
    let answering = request_id.clone().during(async move {
        let response = next.run(request).await;
        let cost = response.headers().get(COST_HEADER).and_then(|cost| cost.to_str().ok());
        observer(&Answered {
            request_id,
            gateway_request_id,
            method,
            path,
            status: response.status(),
            latency: clock::monotonic_now().duration_since(started),
            cost: cost.map(str::to_owned),
        });
        response
    });
    Box::pin(answering).await
}

/// Logs an answered request.
pub(crate) fn request(answered: &Answered) {
    tracing::info!(
        method = answered.method.as_str(),
        route = answered.path.as_ref().map(MatchedPath::as_str),
        status = answered.status.as_u16(),
        duration_us = u64::try_from(answered.latency.as_micros()).unwrap_or(u64::MAX),
        cost = answered.cost,
        "request"
    );
}
