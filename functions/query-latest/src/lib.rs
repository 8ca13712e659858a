//! Reading events.
//!
//! | route | does |
//! | --- | --- |
//! | `GET /topics/{topic}/events` | a page of a topic's events, newest first or oldest first |
//! | `GET /topics/{topic}/events/{id}` | one event |

use axum::extract::{RawQuery, State};
use axum::http::Method;
use axum::response::Response;
use lately_keys::{EventId, Topic};
use lately_kit::code::Code;
use lately_kit::path::Part;
use lately_kit::problem::Problem;
use lately_kit::route::Routes;
use lately_kit::table;
use lately_model::EventQuery;
use lately_store::Store;

/// The routes of this function.
#[must_use]
pub fn routes(store: Store) -> Routes {
    Routes::new()
        .on(Method::GET, "/topics/{topic}/events", get_events)
        .on(Method::GET, "/topics/{topic}/events/{id}", get_event)
        .with_state(store)
}

async fn get_events(
    State(store): State<Store>,
    Part(topic): Part<Topic>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let query = EventQuery::parse(query.as_deref().unwrap_or_default());
    let query = query.map_err(|faults| Problem::of_faults(Code::InvalidQuery, faults))?;
    let latest = store.latest(&topic, &query).await;
    let (page, cost) = latest.map_err(|error| table::latest_problem(&topic, error))?;
    Ok(table::read(&page, &cost))
}

async fn get_event(
    State(store): State<Store>,
    Part(topic): Part<Topic>,
    Part(id): Part<EventId>,
) -> Result<Response, Problem> {
    let event = store.event(&topic, id).await;
    let (event, cost) = event.map_err(|error| table::get_problem(&topic, error))?;
    Ok(table::read(&event, &cost))
}
