//! Answers that are 2xx and have a body.

use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use lately_store::Cost;
use serde::Serialize;

use crate::caller::Caller;
use crate::log::COST_HEADER;
use crate::problem::Problem;

/// A value as JSON.
#[must_use]
pub fn json<T: Serialize + ?Sized>(status: StatusCode, body: &T) -> Response {
    match serde_json::to_vec(body) {
        Ok(body) => {
            let content_type = (CONTENT_TYPE, HeaderValue::from_static("application/json"));
            (status, [content_type], body).into_response()
        }
        Err(error) => Problem::unavailable(&error).into_response(),
    }
}

/// A value as JSON, with what it cost to read.
#[must_use]
pub fn read<T: Serialize + ?Sized>(body: &T, cost: &Cost) -> Response {
    with_cost(json(StatusCode::OK, body), &cost.of_read())
}

/// As [`read`], of what several topics share. What it cost depends on all that was read: a caller who may not see every
/// topic is told how many items it was shown, and no more.
#[must_use]
pub fn read_shared<T: Serialize + ?Sized>(body: &T, cost: &Cost, caller: &Caller) -> Response {
    match caller.topics {
        None => read(body, cost),
        Some(_) => with_cost(json(StatusCode::OK, body), &format!("items={}", cost.items)),
    }
}

/// An answer, with what it cost to write.
#[must_use]
pub fn written(response: Response, cost: &Cost) -> Response {
    with_cost(response, &cost.of_write())
}

fn with_cost(mut response: Response, cost: &str) -> Response {
    let cost = HeaderValue::from_str(cost).expect("a cost is digits and words");
    response.headers_mut().insert(COST_HEADER, cost);
    response
}
