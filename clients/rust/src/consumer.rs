//! A consumer: every event of a topic, late ones included, in batches that are committed.

use std::fmt::Display;

use futures_util::stream;
use lately_model::{ConsumerView, Polled, RunList, RunView};
use reqwest::Method;
use serde::Serialize;
use serde_json::json;

use crate::Stream;
use crate::operation::{List, Operation};
use crate::query::ListQuery;
use crate::request::Request;
use crate::transport::Transport;

/// A consumer of a topic.
#[derive(Clone, Debug)]
pub struct Consumer {
    transport: Transport,
    topic: String,
    name: String,
}

impl Consumer {
    pub(crate) fn new(transport: Transport, topic: String, name: String) -> Self {
        Self { transport, topic, name }
    }

    /// The position and the lag.
    pub fn get(&self) -> Operation<ConsumerView> {
        self.transport.call(self.to(Method::GET, None))
    }

    /// Creates the consumer, or changes its settle time ([`NewConsumer`](lately_model::NewConsumer), or anything with
    /// its JSON).
    pub fn put(&self, settings: &(impl Serialize + ?Sized)) -> Operation<ConsumerView> {
        self.transport.call(self.to(Method::PUT, None).json(settings))
    }

    /// Deletes the consumer and its position.
    pub fn delete(&self) -> Operation<()> {
        self.transport.call(self.to(Method::DELETE, None))
    }

    /// The next batch ([`PollRequest`](lately_model::PollRequest), or anything with its JSON), the same until it is
    /// committed.
    pub fn poll(&self, options: &(impl Serialize + ?Sized)) -> Operation<Polled> {
        self.transport.call(self.to(Method::POST, Some("poll")).json(options))
    }

    /// Commits a batch.
    pub fn commit(&self, batch: impl Display) -> Operation<()> {
        let body = json!({ "batch": batch.to_string() });
        self.transport.call(self.to(Method::POST, Some("commit")).json(&body))
    }

    /// Moves the consumer ([`SeekTo`](lately_model::SeekTo), or its text).
    pub fn seek(&self, to: impl Display) -> Operation<ConsumerView> {
        let body = json!({ "to": to.to_string() });
        self.transport.call(self.to(Method::POST, Some("seek")).json(&body))
    }

    /// The runs of a consumer that makes reports, newest first.
    pub fn runs(&self, query: ListQuery) -> List<RunList, RunView> {
        self.transport.list(self.to(Method::GET, Some("runs")), &query, |page| (page.runs, page.next))
    }

    /// Batches until there are no more events. A batch is committed when the next is asked for: a batch whose handling
    /// failed comes again.
    pub fn batches(&self, options: &(impl Serialize + ?Sized)) -> Stream<Polled> {
        let poll = self.to(Method::POST, Some("poll")).json(options);
        Box::pin(stream::try_unfold((self.clone(), None), move |(consumer, handled)| {
            let poll = poll.clone();
            async move {
                if let Some(batch) = handled {
                    consumer.commit(batch).await?;
                }
                loop {
                    let polled: Polled = consumer.transport.call(poll.clone()).await?;
                    if polled.batch.is_some() || polled.caught_up {
                        return Ok(polled.batch.map(|batch| (polled, (consumer, Some(batch)))));
                    }
                    // Else the poll has reached its read limit. The next one continues there.
                }
            }
        }))
    }

    fn to(&self, method: Method, action: Option<&str>) -> Request {
        let parts = ["topics", &self.topic, "consumers", &self.name];
        Request::to(method, parts.into_iter().chain(action))
    }
}
