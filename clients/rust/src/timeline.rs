//! A timeline: pages of events, newest first or oldest first, and the events that come.

use std::marker::PhantomData;

use futures_util::{TryStreamExt, stream};
use lately_model::Page;
use reqwest::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Stream;
use crate::follow::{self, FollowOptions, Followed};
use crate::operation::Operation;
use crate::place::Place;
use crate::query::PageQuery;
use crate::request::Request;
use crate::transport::Transport;

/// A timeline whose entries are read as `E`.
#[derive(Debug)]
pub struct Timeline<E> {
    pub(crate) place: Place,
    /// The further parts of the route of pages.
    pages: &'static [&'static str],
    entry: PhantomData<fn() -> E>,
}

impl<E> Clone for Timeline<E> {
    fn clone(&self) -> Self {
        self.entries()
    }
}

impl<E> Timeline<E> {
    pub(crate) fn new(transport: &Transport, parts: &[&str], pages: &'static [&'static str]) -> Self {
        Self { place: Place::new(transport, parts), pages, entry: PhantomData }
    }

    /// The same timeline with entries of another type, such as a struct of your own, or the JSON text as it was sent
    /// (`Box<RawValue>`).
    pub fn entries<T>(&self) -> Timeline<T> {
        Timeline { place: self.place.clone(), pages: self.pages, entry: PhantomData }
    }

    pub(crate) fn reading(&self, query: &impl Serialize) -> Request {
        self.place.to(Method::GET, self.pages).query(query)
    }
}

impl<E: DeserializeOwned + Send + 'static> Timeline<E> {
    /// One page.
    pub fn page(&self, query: &PageQuery) -> Operation<Page<E>> {
        self.place.transport.call(self.reading(query))
    }

    /// All pages from a position on: to the end, or oldest first until they have caught up with now.
    pub fn pages(&self, query: PageQuery) -> Stream<Page<E>> {
        self.place.pages(self.pages, &query, |page: Page<E>| {
            let next = page.next.clone().filter(|_| page.has_more);
            (page, next)
        })
    }

    /// All events of these pages.
    pub fn events(&self, query: PageQuery) -> Stream<E> {
        let entries = |page: Page<E>| stream::iter(page.events.into_iter().map(Ok));
        Box::pin(self.pages(query).map_ok(entries).try_flatten())
    }

    /// The events that come from now on, or from a position on: each once, through cut connections.
    ///
    /// The stream ends with a problem that a retry does not repair. Before the first success, it fails after as many
    /// attempts as a call. From then on, it outlives any number of temporary failures.
    pub fn follow(&self, options: FollowOptions) -> Stream<Followed<E>> {
        let FollowOptions { cursor, event_type, topic, on_interruption } = options;
        let filters = PageQuery { event_type, topic, ..PageQuery::default() };
        let live = self.place.to(Method::GET, &["live"]).query(&filters);
        let page = self.reading(&filters);
        follow::follow(self.place.transport.clone(), live, page, cursor, on_interruption)
    }
}
