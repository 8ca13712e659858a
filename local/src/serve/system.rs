//! The system: the engine with the table, the store, the routes and the stream mappings.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use axum::Router;
use axum::middleware::from_fn_with_state;
use lately_authorize::{Authorizer, Issuers};
use lately_engine::fault::FaultyClient;
use lately_engine::{Clock, Engine, OpenProgress};
use lately_items::ConsumerKey;
use lately_kit::clock;
use lately_kit::document::Description;
use lately_kit::limits::{OPERATION_BUDGET, TIME_TO_ANSWER};
use lately_kit::metrics::Measured;
use lately_kit::route::Routes;
use lately_kit::settings::Settings;
use lately_kit::world::World;
use lately_live::Live;
use lately_pump::{Checkpoints, Destination, Handler, HandlerError, Mapping, Pump, PumpFaults, PumpOptions};
use lately_store::Store;
use lately_table::Connection;
use lately_template::Template;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::watch;

use crate::failure::{Failure, Result};
use crate::serve::measurements::Measurements;
use crate::serve::{demo, literal_tokens};

/// The template at the time when this program was built.
pub const TEMPLATE: &str = include_str!("../../../template.yaml");

/// The template, parsed, with the parameters for reports on the demo's topic.
pub(crate) static DEPLOYED: LazyLock<Template> = LazyLock::new(|| {
    let template = Template::parse(TEMPLATE).expect(BUILT_IN);
    let template = template.with("ReportTopic", demo::BILLING).expect(BUILT_IN);
    template.with("ReportSum", "amount").expect(BUILT_IN)
});

/// Why the template has everything that the program reads in it.
pub(crate) const BUILT_IN: &str = "the template is built in, and the tests start the program with it";

/// The table's name in the local program.
pub(crate) const TABLE: &str = "lately";

/// The file with the checkpoints of fan-out's mapping, in the folder of the data.
const CHECKPOINTS: &str = "checkpoints.json";

/// The file with the checkpoints of the report function's mapping.
pub(crate) const REPORT_CHECKPOINTS: &str = "report-checkpoints.json";

/// The retries of a batch if the template sets no number. With a small number, a developer who injects faults need not
/// wait until the batch's records are too old.
const RETRIES: u32 = 8;

/// The engine with the table, and a store on it.
#[derive(Clone, Debug)]
pub struct System {
    /// DynamoDB.
    pub engine: Engine,
    /// The store that all functions share. Faults apply to its calls.
    pub store: Store,
    /// The faults of the functions' calls, and of no other calls. At first there are none.
    pub faults: FaultyClient,
    /// The measurements of the functions' work.
    pub(crate) measurements: Measurements,
    /// The issuers whose JWTs are accepted; at first none.
    issuers: Issuers,
    /// Ends all live streams.
    end_streams: Arc<watch::Sender<()>>,
}

impl System {
    /// Opens a system in memory, or in a folder. Counts the work.
    ///
    /// # Errors
    /// If the folder cannot be used.
    pub async fn open(data: Option<&Path>, progress: OpenProgress) -> Result<Self> {
        const STOPPED: &str = "DynamoDB cannot start";
        let clock = Clock::from_fn(clock::unix_now);
        let options = lately_engine::Options { clock, progress, ..Default::default() };
        let engine = match data {
            None => Engine::memory(&options),
            Some(folder) => Engine::open(folder, &options),
        };
        let engine = engine.map_err(Failure::of(STOPPED))?;
        // The folder of an earlier run has the table already.
        if engine.client().describe_table().table_name(TABLE).send().await.is_err() {
            let table = DEPLOYED.table().expect(BUILT_IN);
            engine.create_table(&table, TABLE).map_err(Failure::of(STOPPED))?;
        }
        let faults = engine.live_client();
        let store = store(faults.client());
        literal_tokens::create(&store).await.map_err(Failure::of("the literal tokens cannot be created"))?;
        let (measurements, issuers) = (Measurements::default(), Issuers::default());
        Ok(Self { engine, store, faults, measurements, issuers, end_streams: Arc::default() })
    }

    /// The same system with another client for the functions.
    pub(crate) fn through(&self, client: Client) -> Self {
        Self { store: store(client), ..self.clone() }
    }

    /// The same system, which also accepts JWTs of these issuers.
    pub fn with_issuers(self, issuers: Issuers) -> Self {
        Self { issuers, ..self }
    }

    /// The routes of all functions.
    pub fn routes(&self) -> Routes {
        self.listed()
    }

    /// The routes of all functions, with or without their description.
    pub fn listed<D: Description>(&self) -> Routes<D> {
        let bodies = |function| settings(function).body_bytes;
        let live =
            Live::new(self.store.clone(), self.authorizer()).ending_with(Arc::clone(&self.end_streams));
        lately_write_event::routes()
            .with_bodies_of(bodies("WriteEventFunction"))
            .and(lately_query_latest::routes().with_bodies_of(bodies("QueryLatestFunction")))
            .and(lately_follow::routes().with_bodies_of(bodies("FollowFunction")))
            .and(lately_records::routes().with_bodies_of(bodies("RecordsFunction")))
            .and(lately_consume::routes().with_bodies_of(bodies("ConsumeFunction")))
            .with_store(&self.store)
            .and(lately_live::routes(&live))
    }

    fn authorizer(&self) -> Authorizer {
        Authorizer::new(self.store.clone(), self.issuers.clone())
    }

    /// Ends all live streams. Their clients may connect again.
    pub fn end_streams(&self) {
        self.end_streams.send_replace(());
    }

    /// Puts routes behind the authorizer.
    pub fn authorized(&self, routes: Router) -> Router {
        let authorizer = from_fn_with_state(self.authorizer(), lately_authorize::authorize);
        // Only known routes: the gateway answers unknown ones with 404 for every caller.
        routes.route_layer(authorizer)
    }

    /// The mapping of the stream to fan-out, as the template declares it. With a folder, it continues from its
    /// checkpoints.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn pump(&self, failures: Destination, faults: PumpFaults, data: Option<&Path>) -> Result<Pump> {
        let (system, time) = (self.clone(), time_of("FanOutFunction"));
        let fan_out = Handler::new(move |event| {
            let system = system.clone();
            async move {
                let answer = lately_fan_out::handle(&system.store, event.as_bytes(), time).await;
                answer.map_err(refused).and_then(|answer| system.answered(&answer))
            }
        });
        self.pump_of("FanOutFunction", fan_out, Some(failures), faults, data.map(|it| it.join(CHECKPOINTS)))
    }

    /// The mapping of the stream to a function. It continues from the checkpoints in the file, if there is one.
    pub(crate) fn pump_of(
        &self,
        function: &str,
        handler: Handler,
        failures: Option<Destination>,
        faults: PumpFaults,
        checkpoint_file: Option<PathBuf>,
    ) -> Result<Pump> {
        let mut mappings = DEPLOYED.mappings().expect(BUILT_IN).into_iter();
        let mapping = mappings.find(|mapping| mapping.function == function).expect(BUILT_IN);
        let maximum_retries = Some(mapping.maximum_retries.unwrap_or(RETRIES));
        let mapping = Mapping { maximum_retries, ..mapping };
        let stream = self.engine.stream(TABLE);
        let stream = stream.ok_or_else(|| Failure::new(1, format!("the table {TABLE} has no stream")))?;
        let checkpoints = checkpoint_file.as_deref().map(Checkpoints::read).transpose();
        let checkpoints =
            checkpoints.map_err(Failure::of("the checkpoints of the stream cannot be read"))?.flatten();
        let options = PumpOptions { faults, checkpoints, checkpoint_file, ..PumpOptions::default() };
        Ok(Pump::new(&stream, mapping, handler, failures, options))
    }

    /// The answer of an invoked function as JSON. The answer is measured.
    pub(crate) fn answered(&self, answer: &(impl Measured + Serialize)) -> Result<String, HandlerError> {
        self.measurements.invoked(answer, self.store.now());
        serde_json::to_string(answer).map_err(refused)
    }
}

/// The error of an invoked function.
pub(crate) fn refused(error: impl Display) -> HandlerError {
    HandlerError::new(error.to_string())
}

/// The event with which the schedule invokes the report function, for the demo's topic.
pub(crate) fn report_input() -> String {
    let mut schedules = DEPLOYED.schedules().expect(BUILT_IN).into_iter();
    schedules.find(|schedule| schedule.function == "ReportFunction").expect(BUILT_IN).input
}

/// The consumer of the scheduled reports.
pub(crate) fn reported() -> ConsumerKey {
    let event: Value = report_input().parse().expect(BUILT_IN);
    let named = |field: &str| event["detail"][field].as_str().expect(BUILT_IN).to_owned();
    ConsumerKey {
        topic: named("topic").parse().expect(BUILT_IN),
        name: named("consumer").parse().expect(BUILT_IN),
    }
}

/// The time that a function has for its work.
pub(crate) fn time_of(function: &str) -> Duration {
    DEPLOYED.timeout(function).expect(BUILT_IN).saturating_sub(TIME_TO_ANSWER)
}

/// The settings of a function in the template.
fn settings(function: &str) -> Settings {
    let mut variables = DEPLOYED.environment(function).expect(BUILT_IN);
    variables.insert("TABLE_NAME".to_owned(), TABLE.to_owned());
    Settings::from_vars(variables).expect(BUILT_IN)
}

fn store(client: Client) -> Store {
    let store = Store::new(Connection::new(client, TABLE, World::new(), OPERATION_BUDGET));
    store.with_feeds(settings("FanOutFunction").feeds)
}
