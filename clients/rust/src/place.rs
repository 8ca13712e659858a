//! The place of a handle in the API: the path that the handle's routes have in common.

use futures_util::{TryStreamExt, stream};
use reqwest::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::Stream;
use crate::operation::{List, Operation};
use crate::request::Request;
use crate::transport::Transport;

/// A path, and the transport of its requests.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) transport: Transport,
    parts: Vec<String>,
}

impl Place {
    pub(crate) fn new(transport: &Transport, parts: &[&str]) -> Self {
        Self { transport: transport.clone(), parts: parts.iter().map(|part| (*part).to_owned()).collect() }
    }

    /// A place below this one.
    pub(crate) fn below(&self, further: &[&str]) -> Self {
        let mut below = self.clone();
        below.parts.extend(further.iter().map(|part| (*part).to_owned()));
        below
    }

    /// A request for this place, or for one below it.
    pub(crate) fn to(&self, method: Method, further: &[&str]) -> Request {
        Request::to(method, self.parts.iter().map(String::as_str).chain(further.iter().copied()))
    }

    /// The operation that a request without a body is.
    pub(crate) fn call<T: DeserializeOwned>(&self, method: Method, further: &[&str]) -> Operation<T> {
        self.transport.call(self.to(method, further))
    }

    /// The operation that a request with a body is.
    pub(crate) fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        further: &[&str],
        body: &(impl Serialize + ?Sized),
    ) -> Operation<T> {
        self.transport.call(self.to(method, further).json(body))
    }

    /// A list, with a query of it. `entries` splits a page into its entries and the next cursor.
    pub(crate) fn list<P: DeserializeOwned + Send + 'static, E: Send + 'static>(
        &self,
        further: &[&str],
        query: &impl Serialize,
        entries: fn(P) -> (Vec<E>, Option<String>),
    ) -> List<P, E> {
        let page = self.transport.call(self.to(Method::GET, further).query(query));
        let pages = self.pages(further, query, entries);
        let entries = pages.map_ok(|found| stream::iter(found.into_iter().map(Ok)));
        List { page, entries: Box::pin(entries.try_flatten()) }
    }

    /// The pages from a query on. `split` takes the cursor of the next page from a page.
    pub(crate) fn pages<P: DeserializeOwned + Send + 'static, T: Send + 'static>(
        &self,
        further: &[&str],
        query: &impl Serialize,
        split: fn(P) -> (T, Option<String>),
    ) -> Stream<T> {
        let state = (self.transport.clone(), self.to(Method::GET, further), Some(json!(query)));
        Box::pin(stream::try_unfold(state, move |(transport, request, query)| async move {
            let Some(mut query) = query else { return Ok(None) };
            let (found, cursor) = split(transport.call(request.clone().query(&query)).await?);
            let next = cursor.map(|cursor| {
                // Only a page without a cursor can wait for an entry.
                (query["cursor"], query["wait_for"]) = (cursor.into(), Value::Null);
                query
            });
            Ok(Some((found, (transport, request, next))))
        }))
    }
}
