//! The console: a page for who runs this program, and what the page asks for beside the API.
//!
//! The API tells a client what it may know; whoever runs the whole system wants to see inside it: the stream, the items,
//! what a read touches, what goes wrong. All of that is here, under `/local/`, for admins, and behind the same guard as
//! the rest. Nothing of it is in `template.yaml`, in a function, or in the OpenAPI document.
//!
//! What must hold: the console looks at the table through a client of its own, which no fault befalls; what it lets
//! happen (a redrive, a trace) is done by the code of the functions, which they do befall.
//!
//! | for | see |
//! | --- | --- |
//! | the page itself | `files.rs` |
//! | how the stream and fan-out are doing | `state.rs` |
//! | what lands, as it lands | `live.rs` |
//! | where things are stored | `storage.rs`, `item.rs` |
//! | what a read touches | `trace.rs` |
//! | what goes wrong | `faults.rs`, `injection.rs` |
//! | what fan-out gave up | `dead_letters.rs` |
//! | consumers and reports | `consumers.rs`, `report_files.rs` |
//! | what is refused | `refusal.rs` |
//! | the published designs beside ours | `designs/` |

mod consumers;
mod dead_letters;
mod designs;
mod faults;
mod files;
mod injection;
mod item;
mod limits;
mod live;
mod parts;
mod refusal;
mod report_files;
mod state;
mod storage;
mod trace;

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::{get, post};
use lately_kit::caller::Caller;
use lately_kit::code::Code;
use lately_kit::edge;
use lately_kit::limits::OPERATION_BUDGET;
use lately_kit::problem::Problem;
use lately_kit::world::World;
use lately_model::Scope;
use lately_store::Store;

use crate::serve::console::injection::Injection;
use crate::serve::console::parts::ConsoleState;
use crate::serve::system::TABLE;

pub use parts::ConsoleParts;

/// What the console looks at. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Console(Arc<ConsoleParts>);

impl Console {
    /// A console of a program.
    #[must_use]
    pub fn new(parts: ConsoleParts) -> Self {
        Self(Arc::new(parts))
    }

    /// The API, and the console beside it.
    pub fn router(&self) -> Router {
        let system = &self.0.system;
        let served = system.routes().into_router().merge(self.local());
        edge::around(system.authorized(served).merge(files::routes()))
    }

    /// What the page asks for.
    fn local(&self) -> Router {
        let ConsoleParts { system, pump, .. } = &*self.0;
        let shared = ConsoleState {
            parts: Arc::clone(&self.0),
            injection: Injection::new(system.clone(), pump.clone()),
            looking: Store::new(system.engine.client(), TABLE, World::new(), OPERATION_BUDGET),
        };
        let faults = get(faults::get_faults).put(faults::put_faults).delete(faults::end_faults);
        Router::new()
            .route("/local/state", get(state::get_state))
            .route("/local/live", get(live::get_live))
            .route("/local/storage/topics/{topic}", get(storage::get_topic))
            .route("/local/storage/events/{topic}/{id}", get(storage::get_event))
            .route("/local/trace", post(trace::trace))
            .route("/local/faults", faults)
            .route("/local/failures", get(dead_letters::get_failures))
            .route("/local/failures/{name}/redrive", post(dead_letters::redrive))
            .route("/local/designs", get(designs::get_designs))
            .route("/local/consumers", get(consumers::get_consumers))
            .route("/local/reports/{*file}", get(report_files::get_report))
            .route_layer(from_fn(admit))
            .with_state(shared)
    }
}

/// Lets admins through: here is everybody's everything.
async fn admit(caller: Caller, request: Request, next: Next) -> Result<Response, Problem> {
    if !caller.scopes.allow(Scope::Admin) || caller.topics.is_some() {
        return Err(Problem::new(Code::Forbidden, "This needs the scope admin, for all topics."));
    }
    Ok(next.run(request).await)
}
