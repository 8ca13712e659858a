//! Successful responses (2xx) with a JSON body.

use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::problem::Problem;

/// A response with a value as JSON.
pub fn json<T: Serialize + ?Sized>(status: StatusCode, body: &T) -> Response {
    written(status, serde_json::to_vec(body))
}

/// A response with JSON text, and status 200.
pub fn json_text(text: impl Into<Vec<u8>>) -> Response {
    written(StatusCode::OK, Ok(text.into()))
}

/// Not generic, so that a function contains it once and not for each type.
fn written(status: StatusCode, body: serde_json::Result<Vec<u8>>) -> Response {
    match body {
        Ok(body) => {
            let content_type = (CONTENT_TYPE, HeaderValue::from_static("application/json"));
            (status, [content_type], body).into_response()
        }
        Err(error) => Problem::unavailable(&error).into_response(),
    }
}

/// A value as JSON, with status 200 unless the handler sets another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        json(StatusCode::OK, &self.0)
    }
}
