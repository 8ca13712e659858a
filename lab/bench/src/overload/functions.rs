//! The function `fan-out`: its processes, and the stream mapping that invokes them.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use lately_engine::fault::{Faults, Network};
use lately_pump::{Destination, Handler, HandlerError, Pump, PumpOptions};
use lately_rig::World;
use lately_store::{FeedSettings, Store};
use lately_table::Connection;
use lately_template::Template;
use tokio::time::{Instant, sleep_until};

use crate::topic::{BUDGET, Bench, TABLE};

/// The time of an invocation, without the reserve in which the function ends in order.
const INVOCATION: Duration = Duration::from_secs(52);

/// The longest delay of a call to the table, on each way.
const WAY: Duration = Duration::from_millis(4);

/// A process of any function, with a network to the table and caches of its own. The seed draws the network's delays.
pub(super) fn process(bench: &Bench, seed: u64, feeds: FeedSettings) -> Store {
    let network = Network { seed, longest: WAY, stall: None };
    let client = bench.engine.client_with(Faults::default()).over(network);
    let connection = Connection::new(client, TABLE, World::beginning(bench.now(), seed), BUDGET);
    Store::new(connection).with_feeds(feeds)
}

/// The processes of the function: one for each concurrent invocation.
#[derive(Clone)]
pub(super) struct Functions {
    bench: Bench,
    feeds: FeedSettings,
    idle: Arc<Mutex<Vec<Store>>>,
    made: Arc<Mutex<Vec<Store>>>,
    deferred: Arc<Mutex<u64>>,
    /// The end of the pause for which fan-out stands still.
    resumes: Arc<OnceLock<Instant>>,
}

impl Functions {
    pub(super) fn new(bench: &Bench, feeds: FeedSettings) -> Self {
        Self {
            bench: bench.clone(),
            feeds,
            idle: Arc::default(),
            made: Arc::default(),
            deferred: Arc::default(),
            resumes: Arc::default(),
        }
    }

    /// The pump that invokes fan-out with the table's stream, with the mapping of the template.
    pub(super) fn pump(&self, destination: Destination) -> Pump {
        let stream = self.bench.engine.stream(TABLE).expect("the table has a stream");
        let template =
            Template::parse(include_str!("../../../../template.yaml")).expect("the project's template");
        let mut mappings = template.mappings().expect("the template's mappings").into_iter();
        let mapping = mappings.rfind(|mapping| mapping.function == "FanOutFunction");
        let mapping = mapping.expect("fan-out is invoked by the stream");
        let invoked = self.clone();
        let handler = Handler::new(move |event| {
            let functions = invoked.clone();
            async move { functions.invoke(event).await }
        });
        Pump::new(&stream, mapping, handler, Some(destination), PumpOptions::default())
    }

    /// Lets fan-out stand still from now on. Once in a run.
    ///
    /// # Panics
    /// If fan-out has stood still before.
    pub(super) fn pause(&self, pause: Duration) {
        self.resumes.set(Instant::now() + pause).expect("fan-out stands still once");
    }

    /// The number of times that an event was deferred to a backlog.
    pub(super) fn deferred(&self) -> u64 {
        *self.deferred.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The write units that all processes consumed, in halves.
    pub(super) fn write_halves(&self) -> u64 {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.iter().map(|store| store.take_tally().cost.write_units.halves).sum()
    }

    async fn invoke(&self, event: String) -> Result<String, HandlerError> {
        if let Some(resumes) = self.resumes.get() {
            sleep_until(*resumes).await;
        }
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let store = idle.unwrap_or_else(|| self.start());
        let answer = lately_fan_out::handle(&store, event.as_bytes(), INVOCATION).await;
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(store);
        let answer = answer.map_err(|error| HandlerError::new(error.to_string()))?;
        *self.deferred.lock().unwrap_or_else(PoisonError::into_inner) += answer.handled().deferred;
        Ok(serde_json::to_string(&answer).expect("an answer is text"))
    }

    fn start(&self) -> Store {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let store = process(&self.bench, made.len() as u64 + 1, self.feeds);
        made.push(store.clone());
        store
    }
}
