//! The system: the engine with the table, the store, the routes and the stream mappings.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use axum::Router;
use axum::middleware::from_fn_with_state;
use lately_authorize::{Authorizer, Issuers};
use lately_engine::fault::LiveClient;
use lately_engine::{Clock, Engine, EngineError, OpenProgress};
use lately_items::ConsumerKey;
use lately_keys::{Consumer, Topic};
use lately_kit::limits::{OPERATION_BUDGET, TIME_TO_ANSWER};
use lately_kit::route::Routes;
use lately_kit::settings::{Settings, SettingsError};
use lately_kit::world::World;
use lately_kit::{clock, edge};
use lately_live::Live;
use lately_pump::{Checkpoints, Destination, Handler, HandlerError, Mapping, Pump, PumpFaults, PumpOptions};
use lately_store::{Store, TableError};
use lately_table::Connection;
use lately_template::{Template, TemplateError};
use serde::Deserialize;
use tokio::sync::watch;

use crate::serve::measurements::Measurements;
use crate::serve::{demo, literal_tokens};

/// The template at the time when this program was built.
pub const TEMPLATE: &str = include_str!("../../../template.yaml");

/// The table's name in the local program.
pub(crate) const TABLE: &str = "lately";

/// The file with the checkpoints of fan-out's mapping, in the folder of the data.
const CHECKPOINTS: &str = "checkpoints.json";

/// The file with the checkpoints of the report function's mapping.
const REPORT_CHECKPOINTS: &str = "report-checkpoints.json";

/// The retries of a batch if the template sets no number. With a small number, a developer who injects faults need not
/// wait until the batch's records are too old.
const RETRIES: u32 = 8;

/// The template's parameters for reports on the demo's topic.
const REPORT: [(&str, &str); 2] = [("ReportTopic", demo::BILLING), ("ReportSum", "amount")];

/// The engine with the table, and a store on it.
#[derive(Clone, Debug)]
pub struct System {
    /// DynamoDB.
    pub engine: Engine,
    /// The store that all functions share. Faults apply to its calls.
    pub store: Store,
    /// The faults of the functions' calls, and of no other calls. At first there are none.
    pub faults: LiveClient,
    /// The time that fan-out has for a batch.
    pub(crate) fan_out_time: Duration,
    /// The time that the report function has.
    pub(crate) report_time: Duration,
    /// The measurements of the functions' work.
    pub(crate) measurements: Measurements,
    /// The issuers whose JWTs are accepted; at first none.
    issuers: Issuers,
    /// Shared, because it is large and systems are cloned.
    template: Arc<Template>,
    /// The most bytes of a request's body, for each function, in the order of their routes.
    bodies: [usize; 5],
    /// Ends all live streams.
    end_streams: Arc<watch::Sender<()>>,
}

/// Why the system could not be created.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The engine could not be opened.
    #[error("DynamoDB cannot start: {0}")]
    Engine(#[from] EngineError),
    /// The template is invalid.
    #[error("template.yaml: {0}")]
    Template(#[from] TemplateError),
    /// The environment of a function in the template is invalid.
    #[error("template.yaml: {0}")]
    Settings(#[from] SettingsError),
    /// The template has no event source for a function.
    #[error("template.yaml: {0} has no stream or no schedule")]
    NotInvoked(&'static str),
    /// The schedule's input does not name a consumer.
    #[error("template.yaml: the schedule's input: {0}")]
    Schedule(#[from] serde_json::Error),
    /// The stream's checkpoints cannot be read.
    #[error("the checkpoints of the stream cannot be read: {0}")]
    Checkpoints(#[from] std::io::Error),
    /// The sessions of the literal tokens could not be created.
    #[error("the literal tokens cannot be created: {0}")]
    Tokens(#[from] TableError),
}

impl System {
    /// Opens a system in memory, or in a folder.
    ///
    /// # Errors
    /// If the folder cannot be used.
    pub async fn open(data: Option<&Path>) -> Result<Self, OpenError> {
        Self::open_and_count(data, OpenProgress::default()).await
    }

    /// Like [`System::open`], and counts the work.
    pub(crate) async fn open_and_count(
        data: Option<&Path>,
        progress: OpenProgress,
    ) -> Result<Self, OpenError> {
        let clock = Clock::from_fn(clock::unix_now);
        let options = lately_engine::Options { clock, progress, ..Default::default() };
        let engine = match data {
            None => Engine::memory(&options),
            Some(folder) => Engine::open(folder, &options),
        }?;
        let template = Template::parse(TEMPLATE)?;
        let client = engine.client();
        // The folder of an earlier run has the table already.
        if client.describe_table().table_name(TABLE).send().await.is_err() {
            engine.create_table(&template.table()?, TABLE)?;
        }
        let faults = engine.live_client();
        let store = store(faults.client(), &template)?;
        literal_tokens::create(&store).await?;
        let bytes = |function| Ok::<_, OpenError>(settings(&template, function)?.body_bytes);
        let bodies = [
            bytes("WriteEventFunction")?,
            bytes("QueryLatestFunction")?,
            bytes("FollowFunction")?,
            bytes("RecordsFunction")?,
            bytes("ConsumeFunction")?,
        ];
        let time = |function| Ok::<_, OpenError>(template.timeout(function)?.saturating_sub(TIME_TO_ANSWER));
        let [fan_out_time, report_time] = [time("FanOutFunction")?, time("ReportFunction")?];
        let (measurements, template) = (Measurements::default(), Arc::new(template));
        let issuers = Issuers::default();
        let end_streams = Arc::new(watch::Sender::new(()));
        Ok(Self {
            engine,
            store,
            faults,
            fan_out_time,
            report_time,
            measurements,
            issuers,
            template,
            bodies,
            end_streams,
        })
    }

    /// The same system with another client for the functions.
    pub(crate) fn through(&self, client: Client) -> Result<Self, OpenError> {
        Ok(Self { store: store(client, &self.template)?, ..self.clone() })
    }

    /// The same system, which also accepts JWTs of these issuers.
    pub fn with_issuers(self, issuers: Issuers) -> Self {
        Self { issuers, ..self }
    }

    /// The routes of all functions.
    pub fn routes(&self) -> Routes {
        let [write_event, query_latest, follow, records, consume] = self.bodies;
        let store = || self.store.clone();
        lately_write_event::routes(store())
            .with_bodies_of(write_event)
            .and(lately_query_latest::routes(store()).with_bodies_of(query_latest))
            .and(lately_follow::routes(store()).with_bodies_of(follow))
            .and(lately_records::routes(store()).with_bodies_of(records))
            .and(lately_consume::routes(store()).with_bodies_of(consume))
            .and(lately_live::routes(&self.live()))
    }

    fn live(&self) -> Live {
        Live::new(self.store.clone(), self.authorizer()).ending_with(Arc::clone(&self.end_streams))
    }

    fn authorizer(&self) -> Authorizer {
        Authorizer::new(self.store.clone(), self.issuers.clone())
    }

    /// Ends all live streams. Their clients may connect again.
    pub fn end_streams(&self) {
        self.end_streams.send_replace(());
    }

    /// The API: the functions' routes behind the authorizer and the gateway's layers.
    pub fn api(&self) -> Router {
        edge::around(self.authorized(self.routes().into_router()))
    }

    /// Puts routes behind the authorizer.
    pub(crate) fn authorized(&self, routes: Router) -> Router {
        let authorizer = from_fn_with_state(self.authorizer(), lately_authorize::authorize);
        // Only known routes: the gateway answers unknown ones with 404 for every caller.
        routes.route_layer(authorizer)
    }

    /// The mapping of the stream to fan-out, as the template declares it. With a folder, it continues from its
    /// checkpoints.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn pump(
        &self,
        failures: Destination,
        faults: PumpFaults,
        data: Option<&Path>,
    ) -> Result<Pump, OpenError> {
        let file = data.map(|folder| folder.join(CHECKPOINTS));
        let fan_out = fan_out(self.store.clone(), self.fan_out_time, self.measurements.clone());
        self.pump_of("FanOutFunction", fan_out, Some(failures), faults, file)
    }

    /// The mapping of the stream to the report function, `handler`, which continues unfinished runs.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub(crate) fn report_pump(
        &self,
        handler: Handler,
        faults: PumpFaults,
        data: Option<&Path>,
    ) -> Result<Pump, OpenError> {
        let file = data.map(|folder| folder.join(REPORT_CHECKPOINTS));
        self.pump_of("ReportFunction", handler, None, faults, file)
    }

    fn pump_of(
        &self,
        function: &'static str,
        handler: Handler,
        failures: Option<Destination>,
        faults: PumpFaults,
        checkpoint_file: Option<PathBuf>,
    ) -> Result<Pump, OpenError> {
        let mapping = self.template.mappings()?.into_iter().find(|mapping| mapping.function == function);
        let mapping = mapping.ok_or(OpenError::NotInvoked(function))?;
        let maximum_retries = Some(mapping.maximum_retries.unwrap_or(RETRIES));
        let mapping = Mapping { maximum_retries, ..mapping };
        let stream = self.engine.stream(TABLE).ok_or(OpenError::NotInvoked(function))?;
        let checkpoints = checkpoint_file.as_deref().map(Checkpoints::read).transpose()?.flatten();
        let options = PumpOptions { faults, checkpoints, checkpoint_file, ..PumpOptions::default() };
        Ok(Pump::new(&stream, mapping, handler, failures, options))
    }

    /// The event with which the schedule invokes the report function, for the demo's topic.
    pub(crate) fn report_input(&self) -> Result<String, OpenError> {
        let give = |template: Template, (name, value)| template.with(name, value);
        let template = REPORT.into_iter().try_fold(Template::clone(&self.template), give)?;
        let schedule = template.schedules()?.into_iter().find(|it| it.function == "ReportFunction");
        schedule.map(|schedule| schedule.input).ok_or(OpenError::NotInvoked("ReportFunction"))
    }

    /// The consumer of the scheduled reports.
    ///
    /// # Errors
    /// If the template's schedule does not name it.
    pub fn reported(&self) -> Result<ConsumerKey, OpenError> {
        let Scheduled { detail: Due { topic, consumer: name } } =
            serde_json::from_str(&self.report_input()?)?;
        Ok(ConsumerKey { topic, name })
    }
}

/// The part of the schedule's event that names the consumer.
#[derive(Deserialize)]
struct Scheduled {
    detail: Due,
}

#[derive(Deserialize)]
struct Due {
    topic: Topic,
    consumer: Consumer,
}

/// The settings of a function in the template.
fn settings(template: &Template, function: &str) -> Result<Settings, OpenError> {
    let mut variables = template.environment(function)?;
    variables.insert("TABLE_NAME".to_owned(), TABLE.to_owned());
    Ok(Settings::from_vars(variables)?)
}

fn store(client: Client, template: &Template) -> Result<Store, OpenError> {
    let store = Store::new(Connection::new(client, TABLE, World::new(), OPERATION_BUDGET));
    Ok(store.with_feeds(settings(template, "FanOutFunction")?.feeds))
}

fn fan_out(store: Store, time: Duration, measurements: Measurements) -> Handler {
    Handler::new(move |event| {
        let (store, measurements) = (store.clone(), measurements.clone());
        async move {
            let answer = lately_fan_out::handle(&store, event.as_bytes(), time).await;
            let answer = answer.map_err(|error| HandlerError::new(error.to_string()))?;
            measurements.invoked(&answer, store.now());
            serde_json::to_string(&answer).map_err(|error| HandlerError::new(error.to_string()))
        }
    })
}
