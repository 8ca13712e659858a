//! The problems of topics, their events and their consumers.

use lately_items::ConsumerKey;
use lately_keys::Topic;
use lately_model::{AcceptedEvent, AtError, Fault, Faults, PartlyAccepted, RejectedEvent};
use lately_store::limits::CONSUMERS;
use lately_store::{
    ActorIsBeingErased, ConsumerError, ConsumerNotFound, DeleteEventError, DeletionNotFound, EventNotFound,
    GetEventError, PutTopicError, TopicError, TopicNotFound, WriteError,
};

use super::{Problem, RETRY_SECONDS};
use crate::code::Code;

impl From<TopicNotFound> for Problem {
    fn from(TopicNotFound { topic, is_being_deleted }: TopicNotFound) -> Self {
        let detail = match is_being_deleted {
            true => format!("The topic {topic} is being deleted. See GET /topics/{topic}/deletion."),
            false => {
                format!("The topic {topic} does not exist. Create it with PUT /topics/{topic} (scope admin).")
            }
        };
        Self::new(Code::TopicNotFound, detail)
    }
}

impl From<DeletionNotFound> for Problem {
    fn from(DeletionNotFound { topic }: DeletionNotFound) -> Self {
        Self::new(
            Code::NotFound,
            format!("The topic {topic} is not being deleted, and was not deleted within the last day."),
        )
    }
}

/// The problem of a request that would write to a topic.
fn of_writer(error: TopicError) -> Problem {
    match error {
        TopicError::NotFound(TopicNotFound { topic, is_being_deleted: true }) => being_deleted(&topic),
        error => error.into(),
    }
}

fn being_deleted(topic: &Topic) -> Problem {
    let detail = format!(
        "The topic {topic} is being deleted. Its name is free when GET /topics/{topic}/deletion says that the state is done."
    );
    Problem::new(Code::TopicIsBeingDeleted, detail)
}

impl From<ActorIsBeingErased> for Problem {
    fn from(ActorIsBeingErased { actor }: ActorIsBeingErased) -> Self {
        let detail = format!(
            "The actor {actor} is being erased, or was erased less than two days ago. When GET /erasures says that the state is done, events with a time after the erasure's end are accepted."
        );
        Self::new(Code::ActorIsBeingErased, detail)
    }
}

impl From<PutTopicError> for Problem {
    fn from(error: PutTopicError) -> Self {
        match error {
            PutTopicError::Refused(fault) => fault.into(),
            PutTopicError::BeingDeleted(topic) => being_deleted(&topic),
            PutTopicError::Table(error) => error.into(),
        }
    }
}

with_detail! {
    EventNotFound => EventNotFound
        "The topic has no such event: it never existed, was deleted, or is past its retention.";
}

impl From<GetEventError> for Problem {
    fn from(error: GetEventError) -> Self {
        match error {
            GetEventError::Topic(error) => error.into(),
            GetEventError::NotFound(error) => error.into(),
            GetEventError::Table(error) => error.into(),
        }
    }
}

impl From<DeleteEventError> for Problem {
    fn from(error: DeleteEventError) -> Self {
        match error {
            DeleteEventError::Topic(error) => of_writer(error),
            DeleteEventError::NotYours { .. } => {
                Self::forbidden("The event belongs to another actor. Deleting it needs the scope act-as.")
            }
            DeleteEventError::Table(error) => error.into(),
        }
    }
}

/// The fault of an event that was sent alone, and is older than its topic's retention.
fn too_old() -> Fault {
    Fault { path: "/at".to_owned(), message: AtError::Expired.to_string() }
}

impl Problem {
    /// The error of a write, if the body was one event and no list: a fault's path has no index.
    pub fn of_one_event(error: WriteError) -> Self {
        match error {
            WriteError::TooOld(_) => Self::of_faults(Code::InvalidEvent, too_old().into()),
            error => error.into(),
        }
    }
}

impl From<WriteError> for Problem {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Topic(error) => of_writer(error),
            WriteError::ImportNotAllowed(_) => {
                Self::forbidden("An event is more than 60 s in the past. Sending it needs the scope import.")
            }
            WriteError::TooOld(indices) => {
                let fault = |index| Fault { path: format!("/{index}/at"), ..too_old() };
                let faults = Faults::new(indices.into_iter().map(fault).collect());
                Self::of_faults(Code::InvalidEvent, faults.expect("at least one event is too old"))
            }
            WriteError::ActorIsBeingErased(error) => error.into(),
            WriteError::KeyReused => Self::new(
                Code::IdempotencyKeyReused,
                "The key was used with another body within the last 24 hours. Use a new key for a new body.",
            ),
            WriteError::Partly { accepted, rejected } => {
                let accepted = accepted.into_iter().map(|(index, id)| AcceptedEvent { index, id });
                let rejected = rejected
                    .into_iter()
                    .map(|index| RejectedEvent { index, code: Code::Unavailable.as_str().into() });
                let partly = PartlyAccepted { accepted: accepted.collect(), rejected: rejected.collect() };
                Self::partly_accepted(partly).retry_after(RETRY_SECONDS)
            }
            WriteError::Table(error) => error.into(),
        }
    }
}

impl From<ConsumerNotFound> for Problem {
    fn from(ConsumerNotFound { consumer: ConsumerKey { topic, name } }: ConsumerNotFound) -> Self {
        Self::new(
            Code::NotFound,
            format!(
                "The consumer {name} does not exist. Create it with PUT /topics/{topic}/consumers/{name}."
            ),
        )
    }
}

impl From<ConsumerError> for Problem {
    fn from(error: ConsumerError) -> Self {
        match error {
            ConsumerError::Topic(error) => error.into(),
            ConsumerError::NotFound(error) => error.into(),
            ConsumerError::StaleBatch => Self::new(
                Code::StaleBatch,
                "This batch is no longer outstanding. Poll again, and commit the batch that you receive.",
            ),
            ConsumerError::TooManyConsumers => Self::new(
                Code::TooManyConsumers,
                format!("A topic has at most {CONSUMERS} consumers. Delete one that is no longer used."),
            ),
            ConsumerError::HasRuns => Self::new(
                Code::HasRuns,
                "This consumer produces reports and cannot be polled. Create another consumer for polling.",
            ),
            ConsumerError::Cursor(error) => error.into(),
            ConsumerError::Table(error) => error.into(),
        }
    }
}
