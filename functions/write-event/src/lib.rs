//! Writing and deleting events.

use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use lately_keys::{Actor, EventId, Topic};
use lately_kit::answer::{Json, Location, Replayed};
use lately_kit::body::Whole;
use lately_kit::caller::Caller;
use lately_kit::document::Description;
use lately_kit::idempotency::Idempotency;
use lately_kit::op::Op;
use lately_kit::path::Part;
use lately_kit::problem::Problem;
use lately_kit::quota::Permission;
use lately_kit::route::Routes;
use lately_kit::routes;
use lately_model::{AcceptedTimes, Batch, BodyForm, ISSUES_TOPIC, NewEvent, Scope, Stored};
use lately_store::{Submission, Written};
use sha2::{Digest, Sha256};

/// The routes of this function.
pub fn routes<D: Description>() -> Routes<D> {
    routes! { "Events"
        /// Write one event, or a batch
        ///
        /// The body is one event, an array of 1 to 500 events, or one event a line. An event has at most 256 KiB as
        /// sent, a body 3 MiB. If the body has faults, the response names all of them, and nothing is written. An `at`
        /// more than 60 s in the past is an import, which needs the scope `import`. An `at` more than 5 s in the
        /// future, or older than the topic's retention, is a fault. An actor other than the caller needs the scope
        /// `act-as`. A batch of a caller with a limit counts each of its events, and is `too-many-events` if it has
        /// more events than the caller may write in a minute.
        ///
        /// After `partially-accepted`, send the same request again if it has an `Idempotency-Key`, and otherwise only
        /// the rejected events.
        POST "/topics/{topic}/events" OnTopic(Write) Write post_events {
            200 ((Replayed, Option<Location>, Json<Stored>)) "The request was a repetition: the first response again.";
            201 ((Option<Location>, Json<Stored>)) "The event, or the whole batch, is written and durable.";
            else TopicNotFound, TopicIsBeingDeleted, ActorIsBeingErased, InvalidEvent, TooManyEvents,
                IdempotencyKeyReused, PartiallyAccepted
        }

        /// Delete an event
        ///
        /// Only the event's actor may delete it, or a caller with the scope `act-as`.
        DELETE "/topics/{topic}/events/{id}" OnTopic(Write) Write delete_event {
            204 "The event is deleted, or did not exist.";
            else TopicNotFound, TopicIsBeingDeleted
        }
    }
}

async fn post_events(
    op: Op,
    caller: Caller,
    permission: Permission,
    Part(topic): Part<Topic>,
    Idempotency(key): Idempotency,
    headers: HeaderMap,
    Whole(body): Whole,
) -> Result<(StatusCode, Option<Replayed>, Option<Location>, Json<Stored>), Problem> {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let form = BodyForm::of_content_type(content_type);
    // The store checks the topic's retention, because it also knows whether this request is a repetition.
    let times = AcceptedTimes::new(op.now(), None);
    let Batch { events, single } = Batch::parse(&body, form, times)?;
    events.iter().try_for_each(|event| caller.require_actor(&event.actor))?;
    require_open(&topic, &caller, &events, times)?;
    permission.acquire_all(events.len()).await?;

    let idempotency =
        key.map(|key| lately_store::Idempotency { caller: caller.key(), key, body_hash: hash(form, &body) });
    let may_import = caller.scopes.allow(Scope::Import);
    let submission = Submission { events, may_import, idempotency };
    let refused = if single { Problem::of_one_event } else { Problem::from };
    let Written { events, replayed } = op.topic(&topic).write(submission).await.map_err(refused)?;

    let status = if replayed { StatusCode::OK } else { StatusCode::CREATED };
    let stored = Stored::new(events, single);
    let location = match &stored {
        Stored::Event(event) => Some(Location(format!("/topics/{topic}/events/{}", event.id))),
        Stored::Batch(_) => None,
    };
    Ok((status, replayed.then_some(Replayed), location, Json(stored)))
}

/// Protects the topic of issue events: only changes of issues write its events. An admin may import past events, for
/// example to move the topic.
fn require_open(
    topic: &Topic,
    caller: &Caller,
    events: &[NewEvent],
    times: AcceptedTimes,
) -> Result<(), Problem> {
    let is_import = |event: &NewEvent| event.at.is_some_and(|at| times.is_import(at));
    let is_move = || caller.scopes.allow(Scope::Admin) && events.iter().all(is_import);
    if topic.as_str() != ISSUES_TOPIC || is_move() {
        return Ok(());
    }
    Err(Problem::forbidden(
        "Only changes of issues write events to this topic. An admin can import past events.",
    ))
}

/// Hashes the body together with its format: the same bytes as JSON and as NDJSON are different requests.
fn hash(form: BodyForm, body: &[u8]) -> [u8; 32] {
    let form: &[u8] = match form {
        BodyForm::Json => b"json",
        BodyForm::Ndjson => b"ndjson",
    };
    Sha256::new().chain_update(form).chain_update([0]).chain_update(body).finalize().into()
}

async fn delete_event(
    op: Op,
    caller: Caller,
    Part(topic): Part<Topic>,
    Part(id): Part<EventId>,
) -> Result<StatusCode, Problem> {
    let by = match &caller.user {
        _ if caller.scopes.allow(Scope::ActAs) => None,
        Some(user) => Some(Actor::from(user)),
        None => {
            return Err(Problem::forbidden(
                "The token belongs to no user. Deleting an event with it needs the scope act-as.",
            ));
        }
    };
    op.event(&topic, id).delete(by.as_ref()).await?;
    Ok(StatusCode::NO_CONTENT)
}
