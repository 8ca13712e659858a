//! The store's handle of one request. It is made before the handler runs, given to the handler, and turned into the
//! header `Lately-Cost` at the end.
//!
//! Every response of a route that uses the table carries the request's cost, failures included. The route's line says
//! which figures clients see.

use axum::Extension;
use axum::http::HeaderValue;
use axum::response::Response;

use crate::log::COST_HEADER;

/// The store's handle of the current request, limited to the topics that the caller may see. Only a route with a store
/// and a price has one.
pub type Op = Extension<lately_store::Op>;

/// The figures of the cost that a route's responses carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Price {
    /// None: the route does not use the table.
    Free,
    /// None, because the response begins before its cost is known; if no stream begins, the figures of a read. Opening a
    /// stream counts as a read.
    Stream,
    /// The figures of a read.
    Read,
    /// The figures of a read of several topics' events. They depend on every event that was read, so a caller limited
    /// to topics sees only the number of items that the response shows.
    ReadShared,
    /// The figures of a write.
    Write,
}

impl Price {
    /// Adds the cost to the response, with the route's figures.
    pub(crate) fn add_header(self, response: &mut Response, op: &lately_store::Op, is_limited: bool) {
        let cost = match self {
            Self::Free => return,
            Self::Stream if response.status().is_success() => return,
            Self::ReadShared | Self::Stream if is_limited => format!("items={}", op.shown()),
            Self::Read | Self::ReadShared | Self::Stream => op.cost().of_read(),
            Self::Write => op.cost().of_write(),
        };
        let cost = HeaderValue::from_str(&cost).expect("a cost is digits and words");
        response.headers_mut().insert(COST_HEADER, cost);
    }
}
