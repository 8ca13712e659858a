//! The routes that describe the service itself and need no table.

use std::io::Read;

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use flate2::read::GzDecoder;

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

pub(crate) async fn health() -> Response {
    ([(CONTENT_TYPE, "application/json")], r#"{"status":"ok"}"#).into_response()
}

pub(crate) async fn openapi_json() -> Response {
    ([(CONTENT_TYPE, "application/json")], openapi()).into_response()
}
