//! Metrics: for each request, and for each invocation of another kind, one line in CloudWatch's embedded metric format.
//!
//! CloudWatch extracts the metrics from the log, so no call is needed. The other members of a line can be searched for.
//! A request's metrics line replaces its line in the log ([`log`](crate::log)).
//!
//! ```text
//! {"_aws":{"Timestamp":…,"CloudWatchMetrics":[
//!    {"Namespace":…,"Dimensions":[["Function"]],"Metrics":[all]},
//!    {"Namespace":…,"Dimensions":[["Function","Outcome"],["Route"]],"Metrics":[Latency]},
//!    {"Namespace":…,"Dimensions":[["Table"]],"Metrics":[Throttles, ThrottlesGivenUp]}]},
//!  "Function":…,"Outcome":…,"Route":…?,"Table":…?,"Latency":…, …, "level","message","request_id", …}
//! ```
//!
//! Invariant: a dimension has few values, all of them the program's own, so that no sender of requests can create
//! metrics that cost money. A count of zero is omitted for the same reason.

use std::sync::Arc;
use std::time::Duration;

use lately_keys::UnixMillis;
use lately_store::{Cost, Store, Tally, Units};
use serde_json::{Map, Number, Value, json};

use crate::clock;
use crate::log::{Answered, GatewayRequestId, RequestId};

macro_rules! metrics {
    ($($(#[$doc:meta])* $metric:ident = $name:literal,)*) => {
        /// A metric.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Metric {
            $($(#[$doc])* $metric,)*
        }

        impl Metric {
            /// All metrics.
            pub const ALL: &[Self] = &[$(Self::$metric,)*];

            /// The metric's name on dashboards and in alarms. A published name stays.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$metric => $name,)* }
            }
        }
    };
}

metrics! {
    /// Duration of the request or invocation.
    Latency = "Latency",
    /// Calls to DynamoDB, each attempt counted.
    DynamoDbCalls = "DynamoDbCalls",
    /// Read units.
    ReadUnits = "ReadUnits",
    /// Write units.
    WriteUnits = "WriteUnits",
    /// Items that reads returned, or examined if they filter.
    Items = "Items",
    /// Throttled calls to DynamoDB that were retried.
    Throttles = "Throttles",
    /// Throttled calls after which no retry remained: a request was refused, or a record failed.
    ThrottlesGivenUp = "ThrottlesGivenUp",
    /// Buckets whose shards were doubled.
    ShardsDoubled = "ShardsDoubled",
    /// Stream records that fan-out received.
    Records = "Records",
    /// Stream records that fan-out did not handle: they come again.
    RecordsFailed = "RecordsFailed",
    /// Copies of events put into feeds.
    Deliveries = "Deliveries",
    /// Age of the oldest record of a batch when the batch was handled.
    FanOutLag = "FanOutLag",
    /// Jobs that were started, for audiences too large for one record.
    Jobs = "Jobs",
    /// Sources whose events feeds began to pull.
    Promotions = "Promotions",
    /// The number of times that an event, a change or a step was put away because a partition was throttled.
    DeferredToBacklog = "DeferredToBacklog",
    /// Events that were added to a late log.
    LateEvents = "LateEvents",
    /// Reports that are up to date: a run finished, or there was nothing to report.
    ReportsUpToDate = "ReportsUpToDate",
    /// Events that finished runs reported.
    ReportedEvents = "ReportedEvents",
    /// Reported events that were late.
    ReportedLateEvents = "ReportedLateEvents",
    /// The time between the end of a finished run and the present.
    ReportLag = "ReportLag",
}

impl Metric {
    /// The metric's unit, in CloudWatch's words.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Latency => "Milliseconds",
            Self::FanOutLag | Self::ReportLag => "Seconds",
            _ => "Count",
        }
    }
}

/// The measurements of one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measures(Vec<(Metric, Number)>);

impl Measures {
    /// Adds a count, unless it is zero.
    pub fn count(mut self, metric: Metric, times: u64) -> Self {
        if times > 0 {
            self.0.push((metric, times.into()));
        }
        self
    }

    /// Adds a duration, in the metric's unit.
    pub fn time(mut self, metric: Metric, time: Duration) -> Self {
        let per_unit = if metric.unit() == "Milliseconds" { 1e3 } else { 1e6 };
        let time = time.as_micros() as f64 / per_unit;
        self.0.extend(Number::from_f64(time).map(|time| (metric, time)));
        self
    }

    fn units(mut self, metric: Metric, units: Units) -> Self {
        if units > Units::default() {
            // A float holds halves exactly.
            self.0.extend(Number::from_f64(units.halves as f64 / 2.0).map(|units| (metric, units)));
        }
        self
    }

    /// Adds the work of operations at DynamoDB.
    pub fn work(self, tally: Tally) -> Self {
        let Tally { cost, throttles, throttles_given_up, shards_doubled } = tally;
        let Cost { calls, read_units, write_units, items, rounds: _ } = cost;
        self.count(Metric::DynamoDbCalls, calls)
            .units(Metric::ReadUnits, read_units)
            .units(Metric::WriteUnits, write_units)
            .count(Metric::Items, items)
            .count(Metric::Throttles, throttles)
            .count(Metric::ThrottlesGivenUp, throttles_given_up)
            .count(Metric::ShardsDoubled, shards_doubled)
    }

    /// Each measured metric, with its value in the metric's unit.
    pub fn iter(&self) -> impl Iterator<Item = (Metric, f64)> {
        self.0.iter().map(|(metric, value)| (*metric, value.as_f64().unwrap_or_default()))
    }

    fn of(latency: Duration, tally: Tally) -> Self {
        Self::default().time(Metric::Latency, latency).work(tally)
    }
}

/// The measurements in the answer to an invocation.
pub trait Measured {
    /// The outcome, as one of a few words.
    fn outcome(&self) -> &'static str;

    /// The answer's measurements.
    fn measures(&self, now: UnixMillis) -> Measures;
}

/// The outcome of an invocation that has no answer.
const FAILED: &str = "failed";

/// Writes a function's metrics to the log.
#[derive(Clone, Debug)]
pub struct Meters {
    namespace: Arc<str>,
    function: &'static str,
    store: Store,
    out: fn(&str),
}

impl Meters {
    /// The metrics of a function that uses a store.
    pub fn new(namespace: &str, function: &'static str, store: Store, out: fn(&str)) -> Self {
        Self { namespace: namespace.into(), function, store, out }
    }

    /// Writes a request's line.
    pub fn answered(&self, answered: &Answered) {
        let Answered { request_id, gateway_request_id, status, latency, .. } = answered;
        let route = answered.route();
        let properties = [
            ("message", Some("request".into())),
            ("status", Some(status.as_u16().into())),
            ("request_id", Some(Value::from(&*request_id.0))),
            (
                "gateway_request_id",
                gateway_request_id.as_ref().map(|GatewayRequestId(id)| Value::from(&**id)),
            ),
        ];
        let measures = Measures::of(*latency, self.store.take_tally());
        self.write(answered.outcome(), route.as_deref(), measures, properties);
    }

    /// Writes an invocation's line from its answer. Without an answer, the invocation failed.
    pub fn invoked(&self, answer: Option<&impl Measured>, latency: Duration) {
        let mut measures = Measures::of(latency, self.store.take_tally());
        measures.0.extend(answer.into_iter().flat_map(|answer| answer.measures(self.store.now()).0));
        let properties = [
            ("message", Some("invocation".into())),
            ("request_id", RequestId::current().map(|RequestId(id)| id.into())),
        ];
        self.write(answer.map_or(FAILED, Measured::outcome), None, measures, properties);
    }

    fn write(
        &self,
        outcome: &'static str,
        route: Option<&str>,
        measures: Measures,
        properties: impl IntoIterator<Item = (&'static str, Option<Value>)>,
    ) {
        let Self { namespace, function, store, out } = self;
        let names = Names { namespace, function, outcome, route, table: store.table_name() };
        let properties = properties.into_iter().filter_map(|(name, value)| Some((name, value?)));
        out(&names.line(clock::unix_now(), &measures, properties));
    }
}

/// The names under which CloudWatch stores measurements.
struct Names<'a> {
    namespace: &'a str,
    function: &'a str,
    outcome: &'a str,
    route: Option<&'a str>,
    table: &'a str,
}

impl Names<'_> {
    /// Makes the line; pure.
    fn line(
        &self,
        at: Duration,
        Measures(measures): &Measures,
        properties: impl IntoIterator<Item = (&'static str, Value)>,
    ) -> String {
        let Self { namespace, function, outcome, route, table } = self;
        let directive = |dimensions: Vec<Vec<&str>>, of: &dyn Fn(Metric) -> bool| {
            let metrics = measures.iter().map(|(metric, _)| *metric).filter(|metric| of(*metric));
            let metrics: Vec<_> =
                metrics.map(|metric| json!({"Name": metric.name(), "Unit": metric.unit()})).collect();
            (!metrics.is_empty())
                .then(|| json!({"Namespace": namespace, "Dimensions": dimensions, "Metrics": metrics}))
        };
        let by_outcome = [Some(vec!["Function", "Outcome"]), route.map(|_| vec!["Route"])];
        let throttles = |metric| matches!(metric, Metric::Throttles | Metric::ThrottlesGivenUp);
        let directives = [
            directive(vec![vec!["Function"]], &|_| true),
            directive(by_outcome.into_iter().flatten().collect(), &|metric| metric == Metric::Latency),
            directive(vec![vec!["Table"]], &throttles),
        ];
        let directives: Vec<_> = directives.into_iter().flatten().collect();
        let timestamp = u64::try_from(at.as_millis()).unwrap_or(u64::MAX);
        let mut line = Map::new();
        line.extend([
            ("_aws".to_owned(), json!({"Timestamp": timestamp, "CloudWatchMetrics": directives})),
            ("Function".to_owned(), (*function).into()),
            ("Outcome".to_owned(), (*outcome).into()),
            ("level".to_owned(), "INFO".into()),
        ]);
        line.extend(route.map(|route| ("Route".to_owned(), route.into())));
        if measures.iter().any(|(metric, _)| throttles(*metric)) {
            line.insert("Table".to_owned(), (*table).into());
        }
        line.extend(measures.iter().map(|(metric, value)| (metric.name().to_owned(), value.clone().into())));
        line.extend(properties.into_iter().map(|(name, value)| (name.to_owned(), value)));
        Value::Object(line).to_string()
    }
}

#[cfg(test)]
mod tests;
