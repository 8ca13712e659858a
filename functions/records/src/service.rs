//! The routes that describe the service itself and need no table.

use std::io::Read;

use axum::response::Response;
use flate2::read::DeflateDecoder;
use lately_kit::answer::{self, Json};
use lately_kit::document::Description;
use lately_kit::route::Routes;
use lately_kit::routes;
use lately_model::Health;

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

/// The routes of this file.
pub(crate) fn routes<D: Description>() -> Routes<D> {
    routes! { "Other"
        /// Check that the service runs
        ///
        /// The local program answers 503 `unavailable` while fan-out does not work or the data cannot be written;
        /// `detail` names the part.
        GET "/health" Open Free get_health { 200 "The service runs."; }

        /// Get this document
        GET "/openapi.json" Open Free get_open_api { 200 (Json<lately_model::OpenApiDocument>) "This document."; }
    }
}

async fn get_health() -> Json<Health> {
    Json(Health::Ok)
}

async fn get_open_api() -> Response {
    answer::json_text(openapi())
}
