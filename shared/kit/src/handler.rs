//! A route's handler without its type. axum compiles its routing anew for each type of handler, and each time the compiler
//! proves again that the handler's whole future is `Send`. So the router gets handlers of one type.

use std::pin::Pin;
use std::sync::Arc;

use axum::extract::Request;
use axum::handler::Handler;
use axum::response::Response;

/// The future of a handler that is a function: axum boxes it.
pub(crate) type Answering = Pin<Box<dyn Future<Output = Response> + Send>>;

/// A handler of a router with the state `S`.
#[derive(Clone)]
pub(crate) struct AnyHandler<S>(Arc<dyn Fn(Request, S) -> Answering + Send + Sync>);

impl<S> AnyHandler<S> {
    pub(crate) fn new<T>(handler: impl Handler<T, S, Future = Answering>) -> Self {
        Self(Arc::new(move |request, state| handler.clone().call(request, state)))
    }
}

impl<S: Clone + 'static> Handler<(), S> for AnyHandler<S> {
    type Future = Answering;

    fn call(self, request: Request, state: S) -> Answering {
        (self.0)(request, state)
    }
}
