//! The rights of a stream's caller. Its access is checked again while the stream is open.

use axum::http::request::Parts;
use lately_authorize::Authorizer;
use lately_kit::access::admits_again;
use lately_kit::problem::Problem;
use lately_kit::quota::Permission;
use lately_store::OpenStream;

/// The rights of a stream's caller, who had access when the request began.
pub(crate) struct Rights {
    pub(crate) authorizer: Authorizer,
    /// The request, with its token and the parts of its path.
    pub(crate) parts: Parts,
    /// To read pages, while the client catches up.
    pub(crate) permission: Permission,
    /// Counts the stream for its caller.
    pub(crate) open: OpenStream,
}

impl Rights {
    /// Checks the token and the route's rule.
    pub(crate) async fn check(&mut self) -> Result<(), Problem> {
        let identity = self.authorizer.identify_sender(&self.parts.headers).await?;
        self.parts.extensions.insert(identity);
        admits_again(&mut self.parts).await
    }
}
