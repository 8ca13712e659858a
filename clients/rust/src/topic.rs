//! A topic: its settings, its events, its consumers.

use std::fmt::Display;
use std::ops::Deref;

use lately_model::{Accepted, DeletionPreview, Event, TopicDeletion, TopicView};
use reqwest::Method;
use serde::Serialize;

use crate::Result;
use crate::batches::batches_of;
use crate::consumer::Consumer;
use crate::operation::Operation;
use crate::problem::Problem;
use crate::request::Request;
use crate::timeline::Timeline;
use crate::transport::Transport;

/// A topic. It is also the [`Timeline`] of its events.
#[derive(Clone, Debug)]
pub struct Topic {
    timeline: Timeline<Event>,
    name: String,
}

/// The name of a post for 24 hours: a repetition under the same key writes nothing twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PostKey {
    /// A random key.
    #[default]
    Random,
    /// This key, such as the id of a message that is processed.
    Given(String),
    /// No key. This costs two write units less. The client then does not repeat a post that may be written.
    None,
}

impl PostKey {
    /// The key of a batch of a list: the first has the key itself.
    fn of_batch(&self, number: usize) -> Option<String> {
        match self {
            Self::Given(key) if number == 1 => Some(key.clone()),
            Self::Given(key) => Some(format!("{key}-{number}")),
            Self::Random => Some(format!("{:032x}", fastrand::u128(..))),
            Self::None => None,
        }
    }
}

impl Deref for Topic {
    type Target = Timeline<Event>;

    fn deref(&self) -> &Timeline<Event> {
        &self.timeline
    }
}

impl Topic {
    pub(crate) fn new(transport: &Transport, name: String) -> Self {
        Self { timeline: Timeline::new(transport, &["topics", &name], &["events"]), name }
    }

    /// The settings, and the newest buckets.
    pub fn get(&self) -> Operation<TopicView> {
        self.place.call(Method::GET, &[])
    }

    /// Creates the topic or changes its settings ([`TopicChange`](lately_model::TopicChange), or anything with its
    /// JSON). An absent setting does not change.
    pub fn put(&self, settings: &(impl Serialize + ?Sized)) -> Operation<TopicView> {
        self.place.send(Method::PUT, &[], settings)
    }

    /// Deletes the topic. The call ends when the deletion has begun; [`Topic::deletion`] says how far it is.
    pub fn delete(&self) -> Operation<TopicDeletion> {
        self.delete_confirmed(&self.name)
    }

    /// Deletes the topic if the name, which a person typed to confirm the deletion, is the topic's.
    pub fn delete_confirmed(&self, name: impl Display) -> Operation<TopicDeletion> {
        let request = self.place.to(Method::DELETE, &[]).parameter("confirm", Some(&name.to_string()));
        self.place.transport.call(request)
    }

    /// Previews a deletion. Nothing is deleted.
    pub fn preview_deletion(&self) -> Operation<DeletionPreview> {
        self.place.transport.call(self.place.to(Method::DELETE, &[]).parameter("dry_run", Some("true")))
    }

    /// The deletion that is under way, or ended within the last day.
    pub fn deletion(&self) -> Operation<TopicDeletion> {
        self.place.call(Method::GET, &["deletion"])
    }

    /// Posts an event ([`NewEvent`](lately_model::NewEvent), or anything with its JSON) under a random key.
    pub fn post(&self, event: &(impl Serialize + ?Sized)) -> Operation<Event> {
        self.post_under(&PostKey::Random, event)
    }

    /// Posts an event under a key.
    pub fn post_under(&self, key: &PostKey, event: &(impl Serialize + ?Sized)) -> Operation<Event> {
        self.place.transport.call(self.posting(key, 1).json(event))
    }

    /// Posts any number of events, in batches of at most 500. A batch that was written in part is finished by a
    /// repetition.
    ///
    /// # Errors
    /// Like every call. Call again with the same given key and the same events: the batches that are written are not
    /// written again.
    pub async fn post_all<E: Serialize>(
        &self,
        key: &PostKey,
        events: impl IntoIterator<Item = E>,
    ) -> Result<Vec<Event>> {
        let mut posted = Vec::new();
        for (batch, number) in batches_of(events).zip(1..) {
            let batch =
                batch.map_err(|error| Box::new(Problem::new(0, "invalid-body", error.to_string())))?;
            let Accepted { events, .. } =
                self.place.transport.call(self.posting(key, number).json(&batch)).await?;
            posted.extend(events);
        }
        Ok(posted)
    }

    /// Posts a batch: at most 500 events and 3 MiB.
    pub fn post_batch(&self, key: &PostKey, events: &[impl Serialize]) -> Operation<Accepted> {
        self.place.transport.call(self.posting(key, 1).json(events))
    }

    /// Posts a batch as NDJSON: at most 500 lines and 3 MiB, an event each.
    pub fn post_lines(&self, key: &PostKey, lines: impl Into<Vec<u8>>) -> Operation<Accepted> {
        self.place.transport.call(self.posting(key, 1).body("application/x-ndjson", lines))
    }

    fn posting(&self, key: &PostKey, number: usize) -> Request {
        let request = self.place.to(Method::POST, &["events"]);
        key.of_batch(number).into_iter().fold(request, |request, key| request.key(&key))
    }

    /// An event, by its id.
    pub fn event(&self, id: impl Display) -> Operation<Event> {
        self.place.call(Method::GET, &["events", &id.to_string()])
    }

    /// Deletes an event.
    pub fn delete_event(&self, id: impl Display) -> Operation<()> {
        self.place.call(Method::DELETE, &["events", &id.to_string()])
    }

    /// A consumer of the topic.
    pub fn consumer(&self, name: impl Display) -> Consumer {
        Consumer { place: self.place.below(&["consumers", &name.to_string()]) }
    }
}
