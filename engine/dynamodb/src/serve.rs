//! The engine on a port, for other clients: the AWS command line, table browsers, other processes.
//!
//! The server speaks DynamoDB's JSON protocol over HTTP/1. It accepts any credentials, so it must listen on loopback,
//! or on an address that only this machine's containers reach. It refuses requests of web pages from other origins.
//! Browsers send `Origin` with every POST, so this also stops a page whose host name was made to resolve to this
//! machine.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue, ORIGIN};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use tokio::net::TcpListener;

use crate::api_error::ApiError;
use crate::connections::{self, ConnectionBounds};
use crate::core::Core;
use crate::dispatch;
use crate::engine::Engine;
use crate::limits;
use crate::operation::Operation;

/// The names of this machine in URLs and `Host` headers.
pub const LOOPBACK: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

const JSON: HeaderValue = HeaderValue::from_static("application/x-amz-json-1.0");

impl Engine {
    /// Answers HTTP requests until `stop` resolves, as [`connections::serve`] does.
    pub async fn serve(&self, listener: TcpListener, stop: impl Future<Output = ()>) {
        let core = Arc::clone(&self.core);
        let service = service_fn(move |request| {
            let core = Arc::clone(&core);
            async move { Ok::<_, Infallible>(answer(&core, request).await) }
        });
        connections::serve(listener, service, ConnectionBounds::default(), stop).await;
    }
}

async fn answer(core: &Core, request: Request<Incoming>) -> Response<Full<Bytes>> {
    if request.method() == Method::GET {
        return respond(StatusCode::OK, "healthy: dynamodb".to_owned());
    }
    if request.method() != Method::POST {
        return respond(StatusCode::NOT_FOUND, String::new());
    }
    if request.headers().get_all(ORIGIN).iter().any(|origin| !is_local(origin)) {
        return respond(StatusCode::FORBIDDEN, String::new());
    }
    let target = request.headers().get("x-amz-target");
    let operation = target.and_then(|target| target.to_str().ok()).and_then(Operation::from_target);
    let Some(operation) = operation else { return refuse(&ApiError::unknown_operation()) };
    let body = Limited::new(request.into_body(), limits::REQUEST_BYTES);
    let Ok(body) = body.collect().await else { return respond(StatusCode::PAYLOAD_TOO_LARGE, String::new()) };
    match dispatch::answer(core, operation, &body.to_bytes()) {
        Ok(body) => respond(StatusCode::OK, body),
        Err(error) => refuse(&error),
    }
}

/// True for the origin of a page that was loaded from this machine.
fn is_local(origin: &HeaderValue) -> bool {
    let host = origin.to_str().ok().and_then(|origin| origin.strip_prefix("http://"));
    let port =
        |rest: &str| rest.strip_prefix(':').map_or(rest.is_empty(), |port| port.parse::<u16>().is_ok());
    host.is_some_and(|host| LOOPBACK.iter().any(|name| host.strip_prefix(name).is_some_and(port)))
}

fn refuse(error: &ApiError) -> Response<Full<Bytes>> {
    let status = StatusCode::from_u16(error.status).expect("the statuses given are valid");
    respond(status, error.body.clone())
}

fn respond(status: StatusCode, body: String) -> Response<Full<Bytes>> {
    static REQUESTS: AtomicU64 = AtomicU64::new(1);
    let number = REQUESTS.fetch_add(1, Ordering::Relaxed);
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, JSON);
    let id = HeaderValue::from_str(&format!("{number:052X}")).expect("digits are a valid header");
    headers.insert("x-amzn-requestid", id);
    response
}
