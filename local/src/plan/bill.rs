//! The bill of a workload: a line for each kind of cost, with the assumption behind it. Nothing here does I/O.
//!
//! Units are the bench's (`units.rs`), prices are data (`prices.rs`), and the sizes of functions, the number of alarms and
//! the authorizer's cache are the template's. All other numbers are constants here, and each line states those that it
//! uses.

use std::time::Duration;

use lately_items::limits::ENTRY_BYTES;
use lately_store::limits::{DIRECTORY_AGE, TOPIC_AGE};
use serde::Serialize;
use serde_json::Value;

use crate::plan::prices::{Part, Prices};
use crate::plan::units::{PAGE_EVENTS, of_event, of_fan_out, of_page, of_stream};
use crate::plan::workload::Workload;
use crate::serve::system::DEPLOYED;

/// A month of 730 hours.
pub(super) const MONTH_SECONDS: f64 = 730.0 * 3_600.0;
const DAY_SECONDS: f64 = 24.0 * 3_600.0;

/// DynamoDB bills so many bytes of each item for its index.
const ITEM_INDEX_BYTES: f64 = 100.0;

/// The longest keys and the marks that an entry may have beyond its event's: an event for which this leaves no space is
/// listed by a pointer.
const ENTRY_MORE_BYTES: f64 = 150.0;
const POINTER_BYTES: f64 = 130.0;

/// The time of a function for a request, for a batch of stream records, and for one copy of an event.
const REQUEST_SECONDS: f64 = 0.010;
const BATCH_SECONDS: f64 = 0.050;
const COPY_SECONDS: f64 = 0.000_5;

/// Lately's line and Lambda's, for an invocation.
const LOG_BYTES: f64 = 1_300.0;

/// Lambda polls each shard of a stream four times a second. A shard serves a partition, which takes 1,000 write units a
/// second; a new table has four.
const POLLS_A_SECOND: f64 = 4.0;
const SHARD_UNITS: f64 = 1_000.0;
const FEWEST_SHARDS: f64 = 4.0;

/// Up to so many followers an event's own record is enough. Beyond, each page of followers is one more record.
const AUDIENCE: f64 = 100.0;
const PAGE_FOLLOWERS: f64 = 2_000.0;

/// The HTTP API counts each started 512 KB as a request.
const METERED_BYTES: f64 = 512.0 * 1_024.0;

/// The bytes of a stream that Lambda does not bill.
const STREAMED_FREE_BYTES: f64 = 6e6;

/// The metrics of a stack whose every route is used in every hour, and those of fan-out's mapping.
const METRICS: f64 = 130.0;
const MAPPING_METRICS: f64 = 6.0;

/// A line of a bill.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// The kind of cost.
    pub line: &'static str,
    /// The dollars of a month.
    pub dollars: f64,
    /// The amounts, with their prices.
    pub parts: Vec<Part>,
    /// The assumption behind the amounts.
    pub assumption: String,
}

/// A number of the template, by its JSON Pointer in a resource. A test reads all of them.
fn declared(resource: &str, pointer: &str) -> f64 {
    let number = DEPLOYED.property(resource, pointer).and_then(|text| text.parse().ok());
    number.unwrap_or_else(|| panic!("{resource} has a number {pointer}"))
}

/// The GB of a function's memory.
fn memory(function: &str) -> f64 {
    declared(function, "/MemorySize") / 1_024.0
}

/// The metrics of all alarms.
fn alarm_metrics() -> f64 {
    let is_stat = |metric: &Value| !metric["MetricStat"].is_null();
    // A metric that only some stacks have counts.
    let metrics = |alarm: &Value| {
        let metrics = alarm["Metrics"].as_array().into_iter().flatten();
        metrics.filter(|metric| is_stat(metric) || is_stat(&metric["Fn::If"][1])).count().max(1)
    };
    let alarms = DEPLOYED.of_kind("AWS::CloudWatch::Alarm");
    alarms.map(|(_, alarm)| metrics(&alarm.properties)).sum::<usize>() as f64
}

/// The work of fan-out.
struct FanOut {
    /// The units of an event.
    write_units: f64,
    read_units: f64,
    records_a_batch: f64,
    /// The invocations a second.
    batches: f64,
    /// The time of all invocations, a second.
    seconds: f64,
}

impl FanOut {
    /// The work that follows from events that cost so many write units themselves.
    fn of(workload: &Workload, write_units: f64) -> Self {
        let Workload { events, bytes, followers, .. } = *workload;
        let records =
            events * if followers > AUDIENCE { 1.0 + (followers / PAGE_FOLLOWERS).ceil() } else { 1.0 };
        let writes = events * (write_units + of_fan_out(bytes, followers, 1.0).0);
        let lanes = declared("FanOutFunction", "/Events/Stream/Properties/ParallelizationFactor");
        let polls = (writes / SHARD_UNITS).ceil().max(FEWEST_SHARDS) * lanes * POLLS_A_SECOND;
        // Records come at random: a lane is invoked once for all that came since the last poll, and not if none came.
        let batches = polls * -(-records / polls).exp_m1();
        let records_a_batch = records / batches;
        let (write_units, read_units) = of_fan_out(bytes, followers, records_a_batch);
        let seconds = batches * BATCH_SECONDS + events * followers * COPY_SECONDS;
        Self { write_units, read_units, records_a_batch, batches, seconds }
    }
}

/// The requests a second that find a cached value too old.
fn expired(requests: f64, age_seconds: f64) -> f64 {
    requests / (1.0 + requests * age_seconds)
}

/// The bill of a workload for a month.
pub fn bill(workload: &Workload, prices: &Prices) -> Vec<Line> {
    let month = Month::of(workload, prices);
    let mut lines = month.of_table();
    lines.extend(month.of_functions());
    lines.extend(month.of_other_services());
    lines
}

/// A month of a workload.
struct Month<'a> {
    workload: &'a Workload,
    prices: &'a Prices,
    /// The requests a second that post, and all requests.
    posts: f64,
    requests: f64,
    /// The write units of an event.
    write_units: f64,
    fan_out: FanOut,
    /// The events a second in a user's feed.
    of_feed: f64,
    /// The seconds for which a live stream is open, and the streams that are opened a second.
    live_seconds: f64,
    opened: f64,
    /// The seconds for which the gateway caches the answer for a token, and the tokens that are checked a second.
    cache_seconds: f64,
    checks: f64,
}

impl<'a> Month<'a> {
    fn of(workload: &'a Workload, prices: &'a Prices) -> Self {
        let Workload { events, bytes, batch, followers, pages, live, users, type_view, .. } = *workload;
        let posts = events / batch;
        let requests = posts + pages;
        let write_units = of_event(bytes, batch, type_view);
        let live_seconds = declared("LiveFunction", "/Environment/Variables/LIVE_SECONDS");
        let cache_seconds = declared("Api", "/Auth/Authorizers/Sessions/Identity/ReauthorizeEvery/Fn::If/1");
        Self {
            workload,
            prices,
            posts,
            requests,
            write_units,
            fan_out: FanOut::of(workload, write_units),
            of_feed: events * followers / users,
            live_seconds,
            opened: live / live_seconds,
            cache_seconds,
            // A user's token is checked with the first request after the cached answer has expired.
            checks: users * expired(requests / users, cache_seconds),
        }
    }

    fn part(&self, unit: &'static str, amount: f64) -> Part {
        self.prices.part(unit, amount)
    }

    /// The part of a month with this amount a second.
    fn each_second(&self, unit: &'static str, amount: f64) -> Part {
        self.part(unit, amount * MONTH_SECONDS)
    }

    fn of_table(&self) -> Vec<Line> {
        let Workload { events, bytes, batch, followers, pages, retention, type_view, .. } = *self.workload;
        let Self { write_units, fan_out, .. } = self;
        // Each process reads a topic and its directory again when they are too old.
        let processes = (pages * REQUEST_SECONDS).ceil();
        let renewed = |units: f64, age: Duration| units * expired(pages / processes, age.as_secs_f64());
        let page_units = of_page(bytes, events)
            + processes / pages * (renewed(1.0, DIRECTORY_AGE) + renewed(0.5, TOPIC_AGE));

        let entry = if bytes + ENTRY_MORE_BYTES > ENTRY_BYTES as f64 { POINTER_BYTES } else { bytes };
        // The view is an index of the table, which recovery does not store.
        let of_view = if type_view { bytes + ITEM_INDEX_BYTES } else { 0.0 };
        let item = bytes + ITEM_INDEX_BYTES + (2.0 + followers) * (entry + ITEM_INDEX_BYTES);
        let stored = |item: f64| events * retention * DAY_SECONDS * item / 1e9;
        let mut storage = vec![self.part("GB stored", stored(item + of_view))];
        let recovery = "/PointInTimeRecoverySpecification/PointInTimeRecoveryEnabled";
        if DEPLOYED.property("Table", recovery).as_deref() == Some("true") {
            storage.push(self.part("GB with recovery", stored(item)));
        }
        vec![
            line(
                "writes",
                vec![self.each_second("write units", events * write_units)],
                format!(
                    "{write_units} an event{}; 2 more for a request with an Idempotency-Key",
                    if batch > 1.0 { "" } else { ", with the entry in its author's own feed" }
                ),
            ),
            line(
                "reads",
                vec![self.each_second("read units", pages * page_units)],
                format!("{page_units:.2} for the latest 50, in the fewest shards that take these events"),
            ),
            line(
                "storage",
                storage,
                format!(
                    "an event{}, and {} entries of {entry} bytes in its timeline and in feeds; each with 100 bytes of index",
                    if type_view { " twice" } else { "" },
                    followers + 2.0
                ),
            ),
            line(
                "fan-out",
                vec![
                    self.each_second("write units", events * fan_out.write_units),
                    self.each_second("read units", events * fan_out.read_units),
                ],
                format!(
                    "{:.1} and {:.1} an event; reading the stream is free",
                    fan_out.write_units, fan_out.read_units
                ),
            ),
        ]
    }

    fn of_functions(&self) -> [Line; 2] {
        let Workload { bytes, pages, live, .. } = *self.workload;
        let Self { fan_out, posts, requests, of_feed, live_seconds, opened, .. } = self;
        let stream_units = of_stream(bytes, of_feed * 60.0);
        let seconds =
            (posts * memory("WriteEventFunction") + pages * memory("QueryLatestFunction")) * REQUEST_SECONDS;
        let streamed = (live_seconds * of_feed * bytes - STREAMED_FREE_BYTES).max(0.0);
        [
            line(
                "functions",
                vec![
                    self.each_second("invocations", requests + fan_out.batches),
                    self.each_second("GB-seconds", seconds + fan_out.seconds * memory("FanOutFunction")),
                ],
                format!(
                    "10 ms a request; of fan-out 50 ms a batch of {:.1} records, and 0.5 ms a copy",
                    fan_out.records_a_batch
                ),
            ),
            line(
                "live streams",
                vec![
                    self.each_second("GB-seconds", live * memory("LiveFunction")),
                    self.each_second("read units", live * stream_units),
                    self.each_second("invocations", *opened),
                    self.each_second("GB streamed", opened * streamed / 1e9),
                ],
                format!(
                    "{stream_units:.1} read units a second each: a stream shows a feed, with {of_feed:.3} events a second"
                ),
            ),
        ]
    }

    fn of_other_services(&self) -> [Line; 5] {
        let Workload { bytes, batch, pages, live, .. } = *self.workload;
        let Self { fan_out, posts, requests, of_feed, opened, cache_seconds, checks, .. } = self;
        let page_bytes = PAGE_EVENTS * bytes;
        let metered = |bytes: f64| (bytes / METERED_BYTES).ceil();
        let invocations = requests + fan_out.batches + opened + checks;
        [
            line(
                "gateway",
                vec![
                    self.each_second(
                        "requests",
                        posts * metered(batch * bytes) + pages * metered(page_bytes),
                    ),
                ],
                "a post or a page is a request for each started 512 KB".to_owned(),
            ),
            line(
                "authorizer",
                vec![
                    self.each_second("invocations", *checks),
                    self.each_second("GB-seconds", checks * REQUEST_SECONDS * memory("AuthorizeFunction")),
                    self.each_second("read units", checks * 0.5),
                ],
                format!(
                    "{checks:.1} checks a second, because an answer is cached for {cache_seconds} s; 10 ms and half a unit each"
                ),
            ),
            line(
                "logs",
                vec![self.each_second("GB of log", invocations * LOG_BYTES / 1e9)],
                "1.3 KB an invocation".to_owned(),
            ),
            line(
                "alarms",
                vec![
                    self.part("metrics of alarms", alarm_metrics()),
                    self.part("metrics", METRICS + MAPPING_METRICS),
                    self.part("dashboard", 1.0),
                ],
                "every route is used every hour; the stream mapping's 6 metrics are billed".to_owned(),
            ),
            line(
                "traffic",
                vec![self.each_second("GB sent", (pages * page_bytes + live * of_feed * bytes) / 1e9)],
                "pages and streams, all to the internet and not compressed".to_owned(),
            ),
        ]
    }
}

fn line(line: &'static str, parts: Vec<Part>, assumption: String) -> Line {
    let dollars = parts.iter().map(|part| part.dollars).sum();
    Line { line, dollars, parts, assumption }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::prices::LISTED;

    fn dollars(workload: &Workload) -> Vec<(&'static str, f64)> {
        let prices = Prices::parse(LISTED, "us-east-1").expect("the listed prices");
        let lines = bill(workload, &prices).into_iter();
        lines.map(|line| (line.line, (line.dollars * 100.0).round() / 100.0)).collect()
    }

    /// A workload whose numbers are easy.
    const EASY: Workload = Workload {
        events: 10.0,
        bytes: 512.0,
        batch: 1.0,
        followers: 10.0,
        pages: 90.0,
        live: 10.0,
        users: 100.0,
        retention: 10.0,
        type_view: false,
    };

    #[test]
    fn the_template_has_the_numbers() {
        let functions = ["WriteEvent", "QueryLatest", "FanOut", "Live", "Authorize"];
        let memories = functions.map(|function| memory(&format!("{function}Function")));
        assert_eq!(memories, [0.5, 0.5, 0.5, 0.125, 0.25]);
        let prices = Prices::parse(LISTED, "us-east-1").expect("the listed prices");
        let Month { live_seconds, cache_seconds, .. } = Month::of(&EASY, &prices);
        assert_eq!((live_seconds, cache_seconds, alarm_metrics()), (90.0, 60.0, 27.0));
    }

    #[test]
    fn a_bill_is_what_a_hand_calculates() {
        // A month has 2.628 million seconds.
        let expected = [
            // 10 × 2 units × 2.628 × 0.625
            ("writes", 32.85),
            // (90 × 3.5 + 90 / 91 + 0.5 × 90 / 181) × 2.628 × 0.125
            ("reads", 103.88),
            // 8.64 million events of 612 × 13 bytes are 68.74 GB, at 0.45.
            ("storage", 30.93),
            // 10 × (12 × 0.625 + (1 + 6 / 1.0802) × 0.125) × 2.628: 1.0802 records a batch share 6 of 7 units
            ("fan-out", 218.63),
            // 64 polls of lanes find 64 × (1 − e^(−10/64)) = 9.258 batches: 0.463 + 0.05 GB-seconds, and 0.5 of requests
            // (109.258 × 0.2 + (0.256 + 0.5) × 13.3334) × 2.628
            ("functions", 83.93),
            // A feed has an event a second: 10 × (0.125 × 13.3334 + 5.4 × 0.125) × 2.628, and 10 / 90 invocations
            ("live streams", 61.60),
            // 100 × 2.628 × 1.00
            ("gateway", 262.80),
            // One request a second and user: 100 / 61 checks a second, each 0.2 + 0.0025 × 13.3334 + 0.0625 a million.
            ("authorizer", 1.27),
            // (100 + 9.258 + 0.111 + 1.639) × 2.628 × 1.3 × 0.50
            ("logs", 189.62),
            // 27 × 0.10 + 136 × 0.30 + 3.00
            ("alarms", 46.50),
            // (90 × 25,600 + 10 × 512) × 2.628 million bytes, below 10 TB
            ("traffic", 546.15),
        ];
        assert_eq!(dollars(&EASY), expected);
        // One write unit more; and 5.29 GB more at 0.25, without recovery.
        let [writes, _, storage, ..] = dollars(&Workload { type_view: true, ..EASY })[..] else {
            panic!("lines")
        };
        assert_eq!((writes.1, storage.1), (49.28, 32.25));
    }
}
