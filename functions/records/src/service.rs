//! The routes that describe the service itself and need no table.

use std::io::Read;

use axum::response::Response;
use flate2::read::DeflateDecoder;
use lately_kit::answer;

/// The OpenAPI document, compressed by `build.rs`.
const OPENAPI: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/openapi.json.deflate"));

/// The OpenAPI document. A test compares it with the template's routes.
///
/// # Panics
/// If the build script did not compress the document.
pub fn openapi() -> String {
    let mut text = String::new();
    DeflateDecoder::new(OPENAPI).read_to_string(&mut text).expect("it is what build.rs compressed");
    text
}

pub(crate) async fn health() -> Response {
    answer::json_text(r#"{"status":"ok"}"#)
}

pub(crate) async fn openapi_json() -> Response {
    answer::json_text(openapi())
}
