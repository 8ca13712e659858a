//! Successful responses (2xx) with a JSON body.

use std::convert::Infallible;

use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse, IntoResponseParts, Response, ResponseParts};
use serde::Serialize;

use crate::problem::Problem;

/// A response with JSON text.
pub fn json_text(text: impl Into<Vec<u8>>) -> Response {
    written(Ok(text.into()))
}

/// Not generic, so that a function contains it once and not for each type.
fn written(body: serde_json::Result<Vec<u8>>) -> Response {
    match body {
        Ok(body) => ([(CONTENT_TYPE, HeaderValue::from_static("application/json"))], body).into_response(),
        Err(error) => Problem::unavailable(&error).into_response(),
    }
}

/// A value as JSON, with status 200 unless the handler sets another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        written(serde_json::to_vec(&self.0))
    }
}

/// The header `Location` of a response: the path of the thing that the request made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location(pub String);

impl IntoResponseParts for Location {
    type Error = Infallible;

    fn into_response_parts(self, mut response: ResponseParts) -> Result<ResponseParts, Infallible> {
        let path = HeaderValue::try_from(self.0).expect("names and ids are visible ASCII");
        response.headers_mut().insert(LOCATION, path);
        Ok(response)
    }
}

/// The header of a response that repeats an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replayed;

impl IntoResponseParts for Replayed {
    type Error = Infallible;

    fn into_response_parts(self, mut response: ResponseParts) -> Result<ResponseParts, Infallible> {
        let name = HeaderName::from_static("idempotent-replayed");
        response.headers_mut().insert(name, HeaderValue::from_static("true"));
        Ok(response)
    }
}

/// The response of a live stream.
#[derive(Debug)]
pub struct EventStream(pub Response);

impl IntoResponse for EventStream {
    fn into_response(self) -> Response {
        self.0
    }
}
