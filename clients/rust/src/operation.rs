//! An operation of the API that is not sent yet: `topic.get().await` gives its value, `topic.get().answer().await` also
//! its price and the response.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::Stream as EntryStream;
use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;

use crate::cost::Cost;
use crate::request::Request;
use crate::response::Response;
use crate::transport::Transport;
use crate::{Result, Stream};

/// An operation. To send it, await it, or its [`answer`](Operation::answer).
///
/// ```no_run
/// # async fn example() -> lately_client::Result<()> {
/// let topic = lately_client::Lately::new("http://127.0.0.1:3000", "dev").topic("posts");
/// let bucket = topic.get().await?.settings.bucket;
/// let answer = topic.get().answer().await?;
/// assert_eq!((answer.value.settings.bucket, answer.response.status.as_u16()), (bucket, 200));
/// println!("{} for {}", answer.response.text(), answer.cost);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "an operation is sent when it is awaited"]
pub struct Operation<T> {
    pub(crate) transport: Transport,
    pub(crate) request: Request,
    pub(crate) read: fn(&Response) -> Result<T>,
}

/// The answer to an operation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Answer<T> {
    /// The value.
    pub value: T,
    /// The price of the last attempt.
    pub cost: Cost,
    /// True if the response is of an earlier request with the same idempotency key.
    pub replayed: bool,
    /// The response, with the text of its body.
    pub response: Response,
}

impl<T> Operation<T> {
    /// The same operation with the value read in another way.
    pub(crate) fn read_by<U>(self, read: fn(&Response) -> Result<U>) -> Operation<U> {
        Operation { transport: self.transport, request: self.request, read }
    }

    /// The same operation with a value of another type, such as a struct of your own, or the JSON text as it was sent
    /// (`Box<RawValue>`).
    pub fn reading<U: DeserializeOwned>(self) -> Operation<U> {
        self.read_by(|response| response.json())
    }

    /// Sends the operation, and again where that is safe.
    ///
    /// # Errors
    /// Like every call: the problem of the response, or that there was none.
    pub async fn answer(self) -> Result<Answer<T>> {
        let response = self.transport.send(&self.request).await?;
        let value = (self.read)(&response).map_err(|problem| self.transport.of(&self.request, problem))?;
        let cost = response.cost();
        Ok(Answer { value, cost, replayed: response.header("idempotent-replayed").is_some(), response })
    }
}

impl<T: Send + 'static> IntoFuture for Operation<T> {
    type Output = Result<T>;
    type IntoFuture = BoxFuture<'static, Result<T>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async { Ok(self.answer().await?.value) })
    }
}

/// A list: a stream of all its entries, read page by page, or one page.
#[must_use = "a list is read when its entries or its page are asked for"]
pub struct List<P, E> {
    pub(crate) page: Operation<P>,
    pub(crate) entries: Stream<E>,
}

impl<P, E> List<P, E> {
    /// Only the first page.
    pub fn page(self) -> Operation<P> {
        self.page
    }
}

impl<P, E> std::fmt::Debug for List<P, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("List").finish_non_exhaustive()
    }
}

impl<P, E> EntryStream for List<P, E> {
    type Item = Result<E>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<E>>> {
        self.get_mut().entries.as_mut().poll_next(context)
    }
}
