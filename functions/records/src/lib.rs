//! Topics, profiles, settings, sessions, issues, erasures, and the routes that need no table.

mod document;
mod erasure;
mod issue;
mod service;
mod session;
mod topic;

use lately_kit::document::Description;
use lately_kit::route::Routes;

pub use service::openapi;

/// The routes of this function.
pub fn routes<D: Description>() -> Routes<D> {
    let routes = topic::routes().and(document::routes()).and(issue::routes()).and(session::routes());
    routes.and(erasure::routes()).and(service::routes())
}
