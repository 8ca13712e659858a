//! A consumer: every event of a topic, late ones included, in batches that are committed.

use std::fmt::Display;

use futures_util::stream;
use lately_model::{ConsumerView, Polled, RunList, RunView};
use reqwest::Method;
use serde::Serialize;
use serde_json::json;

use crate::Stream;
use crate::operation::{List, Operation};
use crate::place::Place;
use crate::query::ListQuery;

/// A consumer of a topic.
#[derive(Clone, Debug)]
pub struct Consumer {
    pub(crate) place: Place,
}

impl Consumer {
    /// The position and the lag.
    pub fn get(&self) -> Operation<ConsumerView> {
        self.place.call(Method::GET, &[])
    }

    /// Creates the consumer, or changes its settle time ([`NewConsumer`](lately_model::NewConsumer), or anything with
    /// its JSON).
    pub fn put(&self, settings: &(impl Serialize + ?Sized)) -> Operation<ConsumerView> {
        self.place.send(Method::PUT, &[], settings)
    }

    /// Deletes the consumer and its position.
    pub fn delete(&self) -> Operation<()> {
        self.place.call(Method::DELETE, &[])
    }

    /// The next batch ([`PollRequest`](lately_model::PollRequest), or anything with its JSON), the same until it is
    /// committed.
    pub fn poll(&self, options: &(impl Serialize + ?Sized)) -> Operation<Polled> {
        self.place.send(Method::POST, &["poll"], options)
    }

    /// Commits a batch.
    pub fn commit(&self, batch: impl Display) -> Operation<()> {
        self.place.send(Method::POST, &["commit"], &json!({ "batch": batch.to_string() }))
    }

    /// Moves the consumer ([`SeekTo`](lately_model::SeekTo), or its text).
    pub fn seek(&self, to: impl Display) -> Operation<ConsumerView> {
        self.place.send(Method::POST, &["seek"], &json!({ "to": to.to_string() }))
    }

    /// The runs of a consumer that makes reports, newest first.
    pub fn runs(&self, query: ListQuery) -> List<RunList, RunView> {
        self.place.list(&["runs"], &query, |page| (page.runs, page.next))
    }

    /// Batches until there are no more events. A batch is committed when the next is asked for: a batch whose handling
    /// failed comes again.
    pub fn batches(&self, options: &(impl Serialize + ?Sized)) -> Stream<Polled> {
        let poll = self.place.to(Method::POST, &["poll"]).json(options);
        Box::pin(stream::try_unfold((self.clone(), None), move |(consumer, handled)| {
            let poll = poll.clone();
            async move {
                if let Some(batch) = handled {
                    consumer.commit(batch).await?;
                }
                loop {
                    let polled: Polled = consumer.place.transport.call(poll.clone()).await?;
                    if polled.batch.is_some() || polled.caught_up {
                        return Ok(polled.batch.map(|batch| (polled, (consumer, Some(batch)))));
                    }
                    // Else the poll has reached its read limit. The next one continues there.
                }
            }
        }))
    }
}
