//! The console: a page for the person who runs this program, and the routes that the page uses beside the API.
//!
//! The API shows a client what the client may know. The console shows the inside of the system: the stream, the items,
//! the calls of a read, the faults. Its routes are under `/local/`, for admins, and behind the same guard as the API.
//! The console is local only: no function, no part of `template.yaml` and no part of the OpenAPI document contains it.
//!
//! The console reads the table through a client of its own, without injected faults. Actions that it starts (a redrive,
//! a trace) run the functions' own code, so injected faults do apply to them.
//!
//! | for | see |
//! | --- | --- |
//! | the page's files | `files.rs` |
//! | the state of the stream and of fan-out | `state.rs` |
//! | the stored items | `storage.rs` |
//! | the calls of a read | `trace.rs` |
//! | injected faults | `faults.rs`, `injection.rs` |
//! | the batches that fan-out gave up on | `dead_letters.rs` |
//! | consumers and reports | `consumers.rs`, `report_files.rs` |
//! | the metrics, and the health of the program | `measurements.rs`, `health.rs` in the folder above |
//! | the faults of a request | `refusal.rs` |

mod consumers;
mod dead_letters;
mod faults;
mod files;
mod injection;
mod limits;
pub(super) mod refusal;
mod report_files;
mod state;
mod storage;
mod trace;

use std::collections::BTreeMap as Map;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodFilter;
use lately_kit::answer::Json;
use lately_kit::caller::Caller;
use lately_kit::code::Code;
use lately_kit::edge;
use lately_kit::limits::OPERATION_BUDGET;
use lately_kit::problem::Problem;
use lately_kit::reads::checked;
use lately_kit::world::World;
use lately_model::Scope;
use lately_pump::{Destination, PumpHandle};
use lately_store::Store;
use lately_table::Connection;

use crate::serve::console::injection::ChosenFaults;
use crate::serve::issuer::LocalIssuer;
use crate::serve::system::{System, TABLE};
use crate::serve::{health, issuer};

/// The parts of a running program.
#[derive(Debug)]
pub struct ConsoleParts {
    /// The engine, the store and the functions.
    pub system: System,
    /// The program's own issuer of JWTs.
    pub issuer: LocalIssuer,
    /// The running fan-out.
    pub pump: PumpHandle,
    /// The batches that fan-out gave up on.
    pub failures: Destination,
    /// The folder that reports go to.
    pub reports: PathBuf,
    /// The time between two scheduled reports, if there are any.
    pub report_every: Option<Duration>,
    /// The stream's mappings, each with the name of its function.
    pub pumps: Vec<(&'static str, PumpHandle)>,
    /// The folder of the data. `None`: the data are in memory.
    pub data: Option<PathBuf>,
}

/// The state that the handlers share.
#[derive(Clone, Debug)]
pub(crate) struct ConsoleState {
    pub(crate) parts: Arc<ConsoleParts>,
    chosen_faults: Arc<Mutex<ChosenFaults>>,
    /// The table without injected faults, and a store of it.
    table: Connection,
    looking: Store,
}

impl ConsoleParts {
    /// The API, and the console beside it.
    pub fn router(self) -> Router {
        let parts = Arc::new(self);
        let system = &parts.system;
        let served = system.routes().into_router().merge(parts.local());
        let check = from_fn_with_state(Arc::clone(&parts), health::check);
        let open = files::routes().merge(parts.issuer.documents());
        let routes = system.authorized(served).merge(open).layer(check);
        let live = checked(MethodFilter::GET, async || Json(Map::from_iter([("status", "ok")])));
        let routes = routes.route("/health/live", live);
        let measurements = system.measurements.clone();
        edge::around_with(routes, move |answered| measurements.answered(answered))
    }

    /// The routes that the page uses beside the API.
    fn local(self: &Arc<Self>) -> Router {
        let table = Connection::new(self.system.engine.client(), TABLE, World::new(), OPERATION_BUDGET);
        let looking = Store::new(table.clone());
        let shared = ConsoleState { parts: Arc::clone(self), chosen_faults: Arc::default(), table, looking };
        let faults = checked(MethodFilter::GET, faults::get_faults)
            .merge(checked(MethodFilter::PUT, faults::put_faults))
            .merge(checked(MethodFilter::DELETE, faults::end_faults));
        Router::new()
            .route("/metrics", checked(MethodFilter::GET, get_metrics))
            .route("/local/state", checked(MethodFilter::GET, state::get_state))
            .route("/local/storage/topics/{topic}", checked(MethodFilter::GET, storage::get_topic))
            .route("/local/storage/events/{topic}/{id}", checked(MethodFilter::GET, storage::get_event))
            .route("/local/trace", checked(MethodFilter::POST, trace::trace))
            .route("/local/faults", faults)
            .route("/local/failures", checked(MethodFilter::GET, dead_letters::get_failures))
            .route("/local/failures/{name}/redrive", checked(MethodFilter::POST, dead_letters::redrive))
            .route("/local/consumers", checked(MethodFilter::GET, consumers::get_consumers))
            .route("/local/reports/{*file}", checked(MethodFilter::GET, report_files::get_report))
            .route(issuer::TOKENS, checked(MethodFilter::POST, issuer::post))
            .route_layer(from_fn(admit))
            .with_state(shared)
    }
}

/// The metrics, in Prometheus' text format.
async fn get_metrics(State(shared): State<ConsoleState>) -> impl IntoResponse {
    let ConsoleParts { system, pumps, .. } = &*shared.parts;
    let is_healthy = shared.parts.trouble().is_empty();
    let text = system.measurements.text(system.store.take_tally(), pumps, is_healthy);
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], text)
}

/// Passes on the requests of admins only, because these routes show all users' data.
async fn admit(caller: Caller, request: Request, next: Next) -> Result<Response, Problem> {
    if !caller.scopes.allow(Scope::Admin) || caller.topics.is_some() {
        return Err(Problem::new(Code::Forbidden, "This request needs the scope admin for all topics."));
    }
    Ok(next.run(request).await)
}
