//! `GET /metrics`: the metrics that a deployed stack writes for CloudWatch, as Prometheus' text.
//!
//! A metric's name is CloudWatch's, in Prometheus' style: `DynamoDbCalls` is `lately_dynamo_db_calls_total`. Counts are
//! counters since the start of the program, and times are histograms in seconds. All functions share one store here, so
//! the work at DynamoDB has no label for the function. The text is so simple that it needs no library.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use lately_keys::UnixMillis;
use lately_kit::log::Answered;
use lately_kit::metrics::{Measured, Measures, Metric};
use lately_store::Tally;

use crate::serve::RunningMapping;

/// The upper bounds of a histogram's buckets, in seconds.
const BUCKETS: [f64; 14] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0];

/// The measurements since the start of the program. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measurements(Arc<Mutex<BTreeMap<Series, Figure>>>);

/// A metric with its labels, as they are in the text.
type Series = (&'static str, String);

/// The values of a series: their sum, which is all that a counter shows, and the buckets of their histogram.
#[derive(Clone, Debug, Default)]
struct Figure {
    at_most: [u64; BUCKETS.len()],
    count: u64,
    sum: f64,
}

impl Measurements {
    /// Adds an answered request.
    pub(crate) fn answered(&self, answered: &Answered) {
        let measures = Measures::default().time(Metric::Latency, answered.latency);
        let route = answered.route().unwrap_or_else(|| "other".to_owned());
        self.add(&measures, &format!("outcome=\"{}\",route=\"{route}\"", answered.outcome()));
    }

    /// Adds an invocation of a function.
    pub(crate) fn invoked(&self, answer: &impl Measured, now: UnixMillis) {
        self.add(&answer.measures(now), "");
    }

    fn add(&self, measures: &Measures, labels: &str) {
        let mut figures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (metric, value) in measures.iter() {
            let figure = figures.entry((metric.name(), labels.to_owned()));
            let is_millis = metric.unit() == "Milliseconds";
            figure.or_default().add(if is_millis { value / 1e3 } else { value });
        }
    }

    /// The text of all metrics. `tally` is the work at DynamoDB since the last text.
    pub(crate) fn text(&self, tally: Tally, pumps: &[RunningMapping], is_healthy: bool) -> String {
        self.add(&Measures::default().work(tally), "");
        let figures = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut text = String::new();
        for metric in Metric::ALL {
            let name = name(*metric);
            let kind = if is_time(*metric) { "histogram" } else { "counter" };
            line(&mut text, format_args!("# TYPE {name} {kind}"));
            let mut series = figures.iter().filter(|((of, _), _)| *of == metric.name()).peekable();
            if series.peek().is_none() && !is_time(*metric) {
                line(&mut text, format_args!("{name} 0"));
            }
            for ((_, labels), figure) in series {
                figure.write(&mut text, kind, &name, labels);
            }
        }
        gauges(&mut text, pumps, is_healthy);
        text
    }
}

/// The figures that are true now.
fn gauges(text: &mut String, pumps: &[RunningMapping], is_healthy: bool) {
    line(text, format_args!("# TYPE lately_healthy gauge\nlately_healthy {}", u8::from(is_healthy)));
    line(text, format_args!("# TYPE lately_iterator_age_seconds gauge"));
    for (function, pump) in pumps {
        let age = pump.statistics().iter().map(|shard| shard.iterator_age).max().unwrap_or_default();
        let age = age.as_secs_f64();
        line(text, format_args!("lately_iterator_age_seconds{{function=\"{function}\"}} {age}"));
    }
}

impl Figure {
    fn add(&mut self, value: f64) {
        let buckets = self.at_most.iter_mut().zip(BUCKETS).filter(|(_, bound)| value <= *bound);
        buckets.for_each(|(bucket, _)| *bucket += 1);
        self.count += 1;
        self.sum += value;
    }

    fn write(&self, text: &mut String, kind: &str, name: &str, labels: &str) {
        let Self { at_most, count, sum } = self;
        let braced = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
        if kind == "counter" {
            return line(text, format_args!("{name}{braced} {sum}"));
        }
        let comma = if labels.is_empty() { "" } else { "," };
        for (bucket, bound) in at_most.iter().zip(BUCKETS) {
            line(text, format_args!("{name}_bucket{{{labels}{comma}le=\"{bound}\"}} {bucket}"));
        }
        line(text, format_args!("{name}_bucket{{{labels}{comma}le=\"+Inf\"}} {count}"));
        line(text, format_args!("{name}_sum{braced} {sum}\n{name}_count{braced} {count}"));
    }
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(text, "{line}").expect("a string takes any text");
}

fn is_time(metric: Metric) -> bool {
    metric.unit() != "Count"
}

/// The metric's name in Prometheus' style.
fn name(metric: Metric) -> String {
    let mut name = String::from("lately");
    for letter in metric.name().chars() {
        if letter.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name + if is_time(metric) { "_seconds" } else { "_total" }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn counts_are_counters_and_times_are_histograms_in_seconds() {
        let measurements = Measurements::default();
        for milliseconds in [2, 30, 90_000] {
            let time = Duration::from_millis(milliseconds);
            let measures = Measures::default().time(Metric::Latency, time).count(Metric::Records, 2);
            measurements.add(&measures, "");
        }
        let text = measurements.text(Tally::default(), &[], true);
        for expected in [
            "# TYPE lately_records_total counter\nlately_records_total 6\n",
            "lately_dynamo_db_calls_total 0\n",
            "# TYPE lately_latency_seconds histogram\nlately_latency_seconds_bucket{le=\"0.001\"} 0\n\
             lately_latency_seconds_bucket{le=\"0.0025\"} 1\n",
            "lately_latency_seconds_bucket{le=\"60\"} 2\nlately_latency_seconds_bucket{le=\"+Inf\"} 3\n\
             lately_latency_seconds_sum 90.032\nlately_latency_seconds_count 3\n",
            "lately_healthy 1\n",
        ] {
            assert!(text.contains(expected), "{expected}\n{text}");
        }
        for metric in Metric::ALL {
            assert_eq!(text.matches(&format!("# TYPE {} ", name(*metric))).count(), 1);
        }
    }
}
