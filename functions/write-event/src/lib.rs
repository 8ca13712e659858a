//! Writing and deleting events.
//!
//! | route | does |
//! | --- | --- |
//! | `POST /topics/{topic}/events` | writes one event, or a batch as JSON or NDJSON |
//! | `DELETE /topics/{topic}/events/{id}` | deletes the caller's own event, or with `act-as` any event |

use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::response::Response;
use lately_keys::{Actor, EventId, Topic};
use lately_kit::answer;
use lately_kit::body::Whole;
use lately_kit::caller::Caller;
use lately_kit::code::Code;
use lately_kit::idempotency::Idempotency;
use lately_kit::op::Op;
use lately_kit::path::Part;
use lately_kit::problem::Problem;
use lately_kit::quota::Permission;
use lately_kit::route::Routes;
use lately_model::{Accepted, AcceptedTimes, Batch, BodyForm, ISSUES_TOPIC, NewEvent, Scope};
use lately_store::{Store, Submission, Written};
use sha2::{Digest, Sha256};

/// The header of a response that repeats an earlier one.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// The routes of this function.
pub fn routes(store: Store) -> Routes {
    Routes::new()
        .on(Method::POST, "/topics/{topic}/events", post_events)
        .on(Method::DELETE, "/topics/{topic}/events/{id}", delete_event)
        .with_store(&store)
}

async fn post_events(
    op: Op,
    caller: Caller,
    permission: Permission,
    Part(topic): Part<Topic>,
    Idempotency(key): Idempotency,
    headers: HeaderMap,
    Whole(body): Whole,
) -> Result<Response, Problem> {
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
    let mut response = match <[_; 1]>::try_from(events) {
        Ok([event]) if single => {
            let mut response = answer::json(status, &event);
            let location = HeaderValue::try_from(format!("/topics/{topic}/events/{}", event.id));
            response.headers_mut().insert(LOCATION, location.expect("names and ids are visible ASCII"));
            response
        }
        Ok(only) => answer::json(status, &Accepted::from(Vec::from(only))),
        Err(events) => answer::json(status, &Accepted::from(events)),
    };
    if replayed {
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    Ok(response)
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
    Err(Problem::new(
        Code::Forbidden,
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
            return Err(Problem::new(
                Code::Forbidden,
                "The token belongs to no user. Deleting an event with it needs the scope act-as.",
            ));
        }
    };
    op.topic(&topic).delete_event(id, by.as_ref()).await?;
    Ok(StatusCode::NO_CONTENT)
}
