//! The store's handle of one request: made at the edge, given to the handler, turned into `Lately-Cost` at the end.
//!
//! Every response of a route that uses the table carries what the request cost, failures included. Its line in the table of
//! routes (`access.rs`) says which figures its clients are told.

use std::ops::Deref;

use axum::extract::FromRequestParts;
use axum::http::HeaderValue;
use axum::http::request::Parts;
use axum::response::Response;
use lately_store::Cost;

use crate::log::COST_HEADER;
use crate::problem::Problem;

/// The handle of the request at hand. What the caller may see limits it.
#[derive(Clone, Debug)]
pub struct Op(pub(crate) lately_store::Op);

impl Deref for Op {
    type Target = lately_store::Op;

    fn deref(&self) -> &lately_store::Op {
        &self.0
    }
}

impl<S: Sync> FromRequestParts<S> for Op {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Ok(parts
            .extensions
            .get::<Self>()
            .expect("a route that takes a handle has a store and a price")
            .clone())
    }
}

/// Which figures of its cost a route tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Price {
    /// None: the route does not use the table.
    Free,
    /// Those of a read.
    Read,
    /// Those of a read of several topics' events. They depend on all events that were read: so a caller who may not see every
    /// topic is told how many items the response shows, and nothing else.
    ReadShared,
    /// Those of a write.
    Write,
}

impl Price {
    /// The response with the cost of its request, as the route tells it.
    pub(crate) fn told(self, mut response: Response, Op(op): &Op, is_limited: bool) -> Response {
        let cost: Cost = op.cost();
        let cost = match self {
            Self::Free => return response,
            Self::ReadShared if is_limited => format!("items={}", op.shown()),
            Self::Read | Self::ReadShared => cost.of_read(),
            Self::Write => cost.of_write(),
        };
        let cost = HeaderValue::from_str(&cost).expect("a cost is digits and words");
        response.headers_mut().insert(COST_HEADER, cost);
        response
    }
}
