//! The access of a stream's caller, which is checked again while the stream is open.

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use lately_authorize::Authorizer;
use lately_kit::access::admits_again;
use lately_kit::caller::Identity;
use lately_kit::problem::Problem;

/// A request whose caller had access when it began.
pub(crate) struct Access {
    authorizer: Authorizer,
    /// The request, with its token and the parts of its path.
    parts: Parts,
}

impl Access {
    pub(crate) const fn new(authorizer: Authorizer, parts: Parts) -> Self {
        Self { authorizer, parts }
    }

    /// Checks the token and the route's rule.
    pub(crate) async fn check(&mut self) -> Result<(), Problem> {
        let identity = match authorization(&self.parts.headers) {
            None => Identity::Missing,
            authorization => self.authorizer.identify(authorization).await?,
        };
        self.parts.extensions.insert(identity);
        admits_again(&mut self.parts).await
    }
}

fn authorization(headers: &HeaderMap) -> Option<&str> {
    headers.get(AUTHORIZATION)?.to_str().ok()
}
