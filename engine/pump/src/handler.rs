//! The function that a pump invokes, as a value. It receives an event's JSON and returns its response as JSON.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use tokio::task::JoinSet;

/// Lambda's name for an error that a function returns or dies from.
pub(crate) const UNHANDLED: &str = "Unhandled";

/// A function that is invoked with events. Cheap to clone.
#[derive(Clone)]
pub struct Handler(Arc<dyn Fn(String) -> Answer + Send + Sync>);

type Answer = Pin<Box<dyn Future<Output = Result<String, HandlerError>> + Send>>;

/// The function failed, so no record of its batch counts as done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HandlerError(String);

impl HandlerError {
    /// An error with the reason.
    pub fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

impl Handler {
    /// A handler that calls `function`. A panic of the function counts as an error.
    pub fn new<F, A>(function: F) -> Self
    where
        F: Fn(String) -> A + Send + Sync + 'static,
        A: Future<Output = Result<String, HandlerError>> + Send + 'static,
    {
        Self(Arc::new(move |event| Box::pin(function(event))))
    }

    /// Invokes the function in a task of its own, so that a panic ends nothing else. If the returned future is dropped,
    /// the function ends too.
    ///
    /// # Errors
    /// The function's error, or an error for a panic.
    pub async fn invoke(&self, event: String) -> Result<String, HandlerError> {
        let function = Arc::clone(&self.0);
        let mut task = JoinSet::new();
        task.spawn(async move { function(event).await });
        match task.join_next().await {
            Some(Ok(answer)) => answer,
            _ => Err(HandlerError::new("the function panicked")),
        }
    }
}

impl fmt::Debug for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handler")
    }
}
